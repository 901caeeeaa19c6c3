import type { Logger } from '../../../base/logger.js';
import type { Ms } from '../../provider.js';
import { UnsupportedError } from '../../provider-error.js';
import type { ConnectionSettings, Driver, Executor, ScopeExecutor, Transaction, TransactionOptions } from '../executor.js';
import { inAcquireTime } from './acquire.js';
import { AnswerWatch } from './answer-watch.js';
import { isConnectionError, markConnectionError, markTokenRotation, serverErrorOf } from './connection-errors.js';
import type { BatchClass } from './node-postgres-batch.js';
import { batchClassFor, isPgClient, type PgClient, type PgPool, type PgPoolClient } from './node-postgres-client.js';
import { connectionSettingsOf } from './connection-settings.js';
import { PgListener } from './node-postgres-listener.js';
import { pgScope } from './node-postgres-scope.js';
import { PgSession, PgTransaction } from './node-postgres-session.js';
import { StatementNames } from './statement-names.js';

export interface NodePostgresOptions {
  readonly namedStatements: boolean;
  readonly acquireTimeoutMs: Ms;
  /** How long a statement may go unanswered before the server is asked about it; 0: for ever. */
  readonly answerTimeoutMs: Ms;
  readonly logger: Logger;
  /** Whether `close` ends the pool. */
  readonly ownsPool: boolean;
  /** Whether the password is a token that is replaced from time to time. */
  readonly rotatesTokens?: boolean | undefined;
  /** Whether the pool is a single client, from whose options no other can be made. */
  readonly isExclusive?: boolean;
}

/** How many clients in a row may turn out to be in somebody's transaction before we give up. */
const MAX_UNCLEAN_CLIENTS = 20;

/** Over a `pg.Pool`, the application's or our own. */
export class NodePostgresDriver implements Driver {
  readonly kind = 'node-postgres';
  readonly sendsBatches = true;
  private readonly Batch: BatchClass;
  private readonly names: StatementNames;
  private readonly watch: AnswerWatch | undefined;
  private closed = false;

  /** @throws UnsupportedError for a pool of pg-native, which takes no query objects */
  constructor(
    private readonly pool: PgPool,
    private readonly options: NodePostgresOptions,
  ) {
    const Batch = batchClassFor(pool.Client);
    if (!Batch) throw new UnsupportedError('the clients of this pool take no query objects, as those of pg-native');
    this.Batch = Batch;
    this.names = new StatementNames(options.namedStatements, options.logger);
    pool.on('error', this.onPoolError);
    pool.on('acquire', guardUntilLeased);
    if (options.isExclusive) return;
    this.watch = new AnswerWatch(pool, options);
    this.listen = (channel, handlers) => new PgListener(pool, channel, handlers);
    const { namedStatements } = options;
    this.connectionSettings = () => ({
      driver: 'node-postgres',
      ...connectionSettingsOf(pool.options, 'password'),
      namedStatements,
    });
  }

  get canOpenSecondConnection(): boolean {
    return this.maxConnections > 1;
  }

  get maxConnections(): number {
    return this.pool.options.max ?? 10;
  }

  async withConnection<T>(use: (executor: Executor) => Promise<T>): Promise<T> {
    return this.lease((client) => use(new PgSession({ client, Batch: this.Batch, names: this.names, watch: this.watch })));
  }

  async withTransaction<T>(use: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return this.lease(async (client, discard) => {
      const tx = new PgTransaction({ client, Batch: this.Batch, names: this.names, watch: this.watch }, options);
      try {
        return await tx.perform(use);
      } finally {
        if (tx.rollbackError) discard(tx.rollbackError);
      }
    });
  }

  scopeOf(tx: unknown): ScopeExecutor | undefined {
    const client = (tx as { session?: { client?: unknown } } | null)?.session?.client;
    if (!isPgClient(client)) return undefined;
    const Batch = batchClassFor((client as object).constructor) ?? this.Batch;
    return pgScope({ client, Batch, names: this.names });
  }

  /** Drizzle loses a client for ever when its BEGIN fails, and gives broken ones back as usable. */
  async lendTo<Db extends object, T>(db: Db, use: (db: Db) => Promise<T>): Promise<T> {
    const { session } = db as { session?: object };
    if (!session || !('client' in session)) return use(db);
    return this.lease((leased) => {
      const client = this.watch?.watched(leased) ?? leased;
      return use(cloneOf(db, { session: cloneOf(session, { client }) }));
    });
  }

  /** On a connection beside the pool's, so that a pool of one is not used up by it. */
  readonly listen?: NonNullable<Driver['listen']>;
  readonly connectionSettings?: () => ConnectionSettings;

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    // The pool counts as ended before its connections are: what breaks while it takes its leave
    // is still told, and would end the process if nobody listened.
    if (this.options.ownsPool) return this.pool.end();
    this.pool.off('error', this.onPoolError);
    this.pool.off('acquire', guardUntilLeased);
  }

  /**
   * Takes a client for as long as `use` runs. It goes back only if it is known to be
   * usable: a connection that failed, or is still in a transaction, is discarded.
   */
  private async lease<T>(use: (client: PgClient, discard: (error: Error) => void) => Promise<T>): Promise<T> {
    const client = await this.takeClient();
    let broken: Error | undefined;
    const discard = (error: Error) => {
      broken ??= error;
    };
    // The pool listens only while the client is idle; without a listener the process would end.
    client.on('error', discard);
    try {
      return await use(client, discard);
    } catch (error) {
      if (endsConnection(error)) discard(error as Error);
      throw error;
    } finally {
      if (isInTransaction(client)) discard(new Error('a transaction was left open'));
      client.release(broken);
      client.off('error', discard);
    }
  }

  private async takeClient(): Promise<PgPoolClient> {
    if (this.closed) throw markConnectionError(new Error('the provider is closed'));
    for (let tries = 0; tries < MAX_UNCLEAN_CLIENTS; tries++) {
      let client: PgPoolClient;
      try {
        const { acquireTimeoutMs } = this.options;
        client = await inAcquireTime(acquireTimeoutMs, this.pool.connect(), (late) => late.release());
      } catch (error) {
        throw this.loginError(error);
      }
      if (!isInTransaction(client)) return client;
      // Somebody else released it in the middle of a transaction; our BEGIN would join theirs.
      client.release(new Error('released in the middle of a transaction'));
    }
    throw markConnectionError(new Error('all clients of the pool are in the middle of a transaction'));
  }

  private loginError(error: unknown): Error {
    const fromServer = serverErrorOf(error);
    const isRefused = fromServer !== undefined && /^(28000|28P01)$/.test(fromServer.code);
    return isRefused && this.options.rotatesTokens ? markTokenRotation(fromServer) : markConnectionError(error);
  }

  /** An idle client failed; the pool has replaced it already. */
  private readonly onPoolError = (error: Error): void => {
    if (this.closed) return; // on its way out
    this.options.logger.warn({ error: error.message }, 'an idle database connection failed');
  };
}

/**
 * The pool stops listening when it hands out a client, some microtasks before whoever asked
 * for it can begin. A server that ends a connection right after it was made sends both in
 * one packet: the error comes in that gap, and without a listener it ends the process.
 */
function guardUntilLeased(client: PgClient): void {
  // Once, however many providers share the pool.
  if (guarded.has(client)) return;
  guarded.add(client);
  // Nothing is swallowed: the connection is gone, and its first statement says so.
  const ignore = () => {};
  client.on('error', ignore);
  setImmediate(() => {
    client.off('error', ignore);
    guarded.delete(client);
  });
}

const guarded = new WeakSet<PgClient>();

/** The same object with some fields of its own. */
function cloneOf<T extends object>(object: T, fields: object): T {
  return Object.assign(Object.create(Object.getPrototypeOf(object) as object) as T, object, fields);
}

function isInTransaction(client: PgClient): boolean {
  const status = client.getTransactionStatus?.();
  return status === 'T' || status === 'E';
}

/** Whether the client is of no use after `error`: the connection failed, or the server hangs up. */
function endsConnection(error: unknown): boolean {
  return isConnectionError(error) || /^(08|57P|25P03|25006)/.test(serverErrorOf(error)?.code ?? '');
}
