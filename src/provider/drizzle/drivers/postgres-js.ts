import {
  type ConnectionSettings,
  type Driver,
  type Executor,
  type ListenHandlers,
  ScopeEndedError,
  type ScopeExecutor,
  type SqlValue,
  type SqlValues,
  type Subscription,
  type Transaction,
} from '../executor.js';
import type { Cell, Statement } from '../statement.js';
import { exponentialDelayMs } from '../../../base/backoff.js';
import type { Ms } from '../../provider.js';
import { connectionSettingsOf } from './connection-settings.js';
import { markConnectionError, serverErrorOf } from './connection-errors.js';
import { performInTransaction, type TransactionRunner } from './first-error.js';
import { parameterText } from './parameter-text.js';
import { type RowTransform, sparingOwnRows } from './postgres-js-rows.js';

/** A query of postgres-js; it is sent when somebody waits for it, or by `execute`. */
interface Query extends PromiseLike<unknown> {
  /** Cells as they came, before any parser or transform. */
  raw(): Query;
  execute(): Query;
}

interface QueryOptions {
  readonly prepare?: boolean;
  readonly simple?: boolean;
}

interface PostgresJsQueries {
  unsafe(text: string, parameters?: readonly unknown[], options?: QueryOptions): Query;
}

interface PostgresJsTransaction extends PostgresJsQueries {
  savepoint: unknown;
}

/** What we use of a `postgres()` client, told by its shape: the package is an optional peer. */
export interface PostgresJsClient extends PostgresJsQueries {
  readonly options: {
    readonly max?: number;
    readonly parsers: object;
    readonly transform?: { readonly row?: RowTransform };
  };
  begin(options: string, use: (sql: PostgresJsTransaction) => Promise<void>): Promise<unknown>;
  listen(
    channel: string,
    onNotification: (payload: string) => void,
    onListening: () => void,
  ): Promise<{ unlisten(): Promise<void> }>;
  end(options: { readonly timeout: number }): Promise<void>;
}

export function isPostgresJs(client: unknown): client is PostgresJsClient {
  if (typeof client !== 'function') return false;
  const candidate = client as unknown as Partial<PostgresJsClient>;
  return (
    typeof candidate.begin === 'function' &&
    typeof candidate.unsafe === 'function' &&
    typeof candidate.listen === 'function' &&
    typeof candidate.options?.parsers === 'object'
  );
}

function isTransaction(client: unknown): client is PostgresJsTransaction {
  if (typeof client !== 'function') return false;
  const candidate = client as unknown as Partial<PostgresJsTransaction>;
  return typeof candidate.unsafe === 'function' && typeof candidate.savepoint === 'function';
}

export interface PostgresJsOptions {
  readonly namedStatements: boolean;
  /** Whether `close` ends the client. */
  readonly ownsClient: boolean;
}

/** How long `end` waits for queries that are under way, in seconds; for lost connections it would wait for ever. */
const END_TIMEOUT_S = 2;
/** A statement of a scope that has no answer after so long will never have one; it waits for no lock that is held for long. */
const FORGOTTEN_AFTER_MS: Ms = 30_000;
const LISTEN_RETRY_FROM_MS: Ms = 100;
const LISTEN_RETRY_UP_TO_MS: Ms = 10_000;

/** Over a client of postgres-js, which is a pool and pipelines by itself. */
export class PostgresJsDriver implements Driver {
  readonly kind = 'postgres-js';
  private readonly statements: PostgresJsStatements;

  constructor(
    private readonly client: PostgresJsClient,
    private readonly options: PostgresJsOptions,
  ) {
    this.statements = new PostgresJsStatements(options.namedStatements, sparingOwnRows(client.options.transform?.row));
  }

  get canOpenSecondConnection(): boolean {
    return this.maxConnections > 1;
  }

  get maxConnections(): number {
    return this.client.options.max ?? 10;
  }

  withConnection<T>(use: (executor: Executor) => Promise<T>): Promise<T> {
    return use(this.statements.on(this.client));
  }

  withTransaction<T>(use: (tx: Transaction) => Promise<T>): Promise<T> {
    return performInTransaction((work) => this.begin(work), use);
  }

  /**
   * When the connection is lost, `begin` rejects at once, while its callback still runs.
   * Whatever is sent after that, be it a statement of the callback or the COMMIT or
   * ROLLBACK that follows it, would be written to a socket that is gone, which throws
   * where nobody can catch it. So nothing is: the callback is left without an end.
   */
  private begin(work: (runner: TransactionRunner) => Promise<void>): Promise<unknown> {
    let isLost = false;
    const ended = this.client.begin(
      'isolation level read committed',
      (sql) =>
        new Promise<void>((resolve, reject) => {
          const goOn = (then: () => void) => {
            if (!isLost) then();
          };
          work(untilLost(this.statements.on(sql), () => isLost)).then(
            () => goOn(resolve),
            // A statement fails a moment before `begin` does.
            (error: Error) => setImmediate(() => goOn(() => reject(error))),
          );
        }),
    );
    ended.catch(() => {
      isLost = true;
    });
    return ended;
  }

  scopeOf(tx: unknown): ScopeExecutor | undefined {
    const client = (tx as { session?: { client?: unknown } } | null)?.session?.client;
    if (!isTransaction(client)) return undefined;
    // postgres-js goes on with the connection after the end, and tells nobody.
    const runner = this.statements.on(client);
    const run: ScopeExecutor['run'] = (statement, values) => unlessForgotten(runner.run(statement, values));
    return { ...runner, run, mayBeOpen: () => true, guardsItself: false };
  }

  /** On a connection of its own, which postgres-js opens and reopens; only the first attempt is ours. */
  listen(channel: string, handlers: ListenHandlers): Subscription {
    let closed = false;
    let timer: NodeJS.Timeout | undefined;
    let listening: Promise<{ unlisten(): Promise<void> } | undefined>;
    const begin = async (attempt: number) => {
      try {
        return await this.client.listen(
          channel,
          (payload) => !closed && handlers.onNotification(payload),
          () => !closed && handlers.onConnected(),
        );
      } catch (error) {
        if (closed) return undefined;
        if (attempt === 1) handlers.onLost(error);
        const pauseMs = exponentialDelayMs(LISTEN_RETRY_FROM_MS, attempt, LISTEN_RETRY_UP_TO_MS);
        timer = setTimeout(() => {
          listening = begin(attempt + 1);
        }, pauseMs);
        timer.unref();
        return undefined;
      }
    };
    listening = begin(1);
    return {
      close: async () => {
        closed = true;
        clearTimeout(timer);
        const begun = await listening;
        // A connection that is gone listens to nothing.
        await begun?.unlisten().catch(() => {});
      },
    };
  }

  connectionSettings(): ConnectionSettings {
    const { namedStatements } = this.options;
    return { driver: 'postgres-js', ...connectionSettingsOf(this.client.options, 'pass'), namedStatements };
  }

  async close(): Promise<void> {
    if (this.options.ownsClient) await this.client.end({ timeout: END_TIMEOUT_S });
  }
}

/**
 * After the end of a transaction postgres-js sends a statement on, or, when the connection
 * happens to be busy with somebody else's, puts it where nobody looks any more.
 */
function unlessForgotten<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const forgotten = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ScopeEndedError()), FORGOTTEN_AFTER_MS);
  });
  return Promise.race([answer, forgotten]).finally(() => clearTimeout(timer));
}

function untilLost(runner: TransactionRunner, isLost: () => boolean): TransactionRunner {
  const refuse = () => Promise.reject(markConnectionError(new Error('the connection was lost')));
  return {
    run: (statement, values) => (isLost() ? refuse() : runner.run(statement, values)),
    script: (sql) => (isLost() ? refuse() : runner.script(sql)),
  };
}

/** `cached plan must not change result type`, among others. */
const FEATURE_NOT_SUPPORTED = '0A000';

/** Runs our statements on clients and transactions of postgres-js, which names them by itself. */
class PostgresJsStatements {
  /** Part of every text: postgres-js prepares another text under another name (P:T-15). */
  private generation = 0;

  constructor(
    private readonly prepare: boolean,
    private readonly asOurs: <Q extends object>(query: Q) => Q,
  ) {}

  on(client: PostgresJsQueries): TransactionRunner {
    return {
      run: async <Row>(statement: Statement<Row>, values: SqlValues = {}) => {
        const parameters = statement.bind(values).map(parameterOf);
        const { generation } = this;
        const text = generation === 0 ? statement.text : `${statement.text} /* ${generation} */`;
        try {
          const query = client.unsafe(text, parameters, { prepare: this.prepare, simple: false }).raw();
          const rows = await this.asOurs(query).execute();
          return (rows as (Buffer | null)[][]).map((cells) => statement.decode(cells.map(cellOf)));
        } catch (error) {
          if (serverErrorOf(error)?.code === FEATURE_NOT_SUPPORTED && generation === this.generation) this.generation++;
          throw markConnectionError(error);
        }
      },
      script: async (sql) => {
        try {
          await client.unsafe(sql, [], { simple: true }).execute();
        } catch (error) {
          throw markConnectionError(error);
        }
      },
    };
  }
}

/** Its serializer for booleans takes nothing else; all others let text through. */
function parameterOf(value: SqlValue): string | boolean | null {
  return typeof value === 'boolean' ? value : parameterText(value);
}

function cellOf(cell: Buffer | null): Cell {
  return cell === null ? null : cell.toString('utf8');
}
