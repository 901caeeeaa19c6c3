import type { Ms } from '../../provider.js';
import type {
  Driver,
  Executor,
  ListenHandlers,
  ScopeExecutor,
  SqlValues,
  Subscription,
  Transaction,
} from '../executor.js';
import type { Cell, Statement } from '../statement.js';
import { inAcquireTime } from './acquire.js';
import { CommitUnknownError, markConnectionError } from './connection-errors.js';
import { performInTransaction } from './first-error.js';
import { parameterText } from './parameter-text.js';

type TextParser = (text: string) => unknown;

interface QueryOptions {
  readonly rowMode: 'array';
  readonly parsers: Record<string, TextParser>;
  readonly serializers: Record<string, (value: unknown) => string>;
}

interface PgliteQueries {
  query(text: string, values: readonly (string | null)[], options: QueryOptions): Promise<{ rows: unknown[] }>;
  exec(sql: string): Promise<unknown>;
}

interface PgliteTransaction extends PgliteQueries {
  readonly closed: boolean;
  rollback(): Promise<void>;
}

/** What we use of a `PGlite`, told by its shape: the package is an optional peer. */
export interface PgliteClient extends PgliteQueries {
  readonly waitReady: Promise<void>;
  readonly closed: boolean;
  readonly parsers?: Record<string, TextParser>;
  transaction<T>(use: (tx: PgliteTransaction) => Promise<T>): Promise<T | undefined>;
  listen(channel: string, callback: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export function isPglite(client: unknown): client is PgliteClient {
  const candidate = client as (Partial<PgliteClient> & { execProtocol?: unknown }) | null;
  return (
    typeof candidate === 'object' &&
    candidate !== null &&
    typeof candidate.transaction === 'function' &&
    typeof candidate.exec === 'function' &&
    typeof candidate.execProtocol === 'function'
  );
}

/** Types that our statements answer with, and arrays of them; the application may have set parsers for any. */
const RESULT_TYPES = [
  ...[16, 17, 18, 19, 20, 21, 23, 25, 26, 28, 114, 700, 701, 1043, 1082, 1114, 1184, 1700, 2950, 3802, 5069],
  ...[199, 1000, 1005, 1007, 1009, 1015, 1016, 1021, 1022, 1028, 1115, 1182, 1185, 1231, 2951, 3807],
];

const asText: TextParser = (text) => text;

/** Our parameters are text already, whatever type the server inferred. */
const serializeNothing = new Proxy({}, { get: () => (value: unknown) => value as string });

/**
 * Over a PGlite in this process. It has one connection, guarded by its own mutex, and
 * `transaction()` is the only safe way to hold it. Nobody runs beside it, so that its
 * BEGIN needs no isolation level: there is nothing to be isolated from.
 */
export class PgliteDriver implements Driver {
  readonly kind = 'pglite';
  readonly canOpenSecondConnection = false;
  private readonly queryOptions: QueryOptions;

  constructor(
    private readonly client: PgliteClient,
    private readonly options: { readonly ownsClient: boolean; readonly acquireTimeoutMs: Ms },
  ) {
    const types = [...RESULT_TYPES, ...Object.keys(client.parsers ?? {})];
    this.queryOptions = {
      rowMode: 'array',
      parsers: Object.fromEntries(types.map((type) => [type, asText])),
      serializers: serializeNothing,
    };
  }

  withConnection<T>(use: (executor: Executor) => Promise<T>): Promise<T> {
    const executor = new PgliteExecutor(this.client, this.queryOptions);
    const { acquireTimeoutMs } = this.options;
    // A statement that nobody waits for any more has no effect that matters: it reads, or it notifies.
    const inTime = <R>(answer: Promise<R>) => inAcquireTime(acquireTimeoutMs, answer, () => {});
    return use({
      run: (statement, values) => inTime(executor.run(statement, values)),
      script: (sql) => executor.script(sql),
    });
  }

  withTransaction<T>(use: (tx: Transaction) => Promise<T>): Promise<T> {
    return performInTransaction((work) => this.begin((tx) => work(new PgliteExecutor(tx, this.queryOptions))), use);
  }

  /** PGlite's mutex cannot be left: a transaction that comes too late is rolled back instead. */
  private async begin(work: (tx: PgliteTransaction) => Promise<void>): Promise<void> {
    let begun: (isInTime: boolean) => void = () => {};
    const beginning = new Promise<boolean>((resolve) => (begun = resolve));
    let isWaitedFor = true;
    const ended = this.client.transaction(async (tx) => {
      begun(true);
      if (!isWaitedFor) return tx.rollback();
      await work(tx);
    });
    // A failure of the BEGIN is reported by `ended`.
    ended.catch(() => begun(false));
    try {
      await inAcquireTime(this.options.acquireTimeoutMs, beginning, () => {});
    } catch (error) {
      isWaitedFor = false;
      throw error;
    }
    await ended;
  }

  /** Without BEGIN and COMMIT, which are a third of the cost. It cannot be taken back once it waits. */
  async runAlone<Row>(statement: Statement<Row>, values?: SqlValues): Promise<Row[]> {
    const answer = new PgliteExecutor(this.client, this.queryOptions).run(statement, values);
    let isLate = true;
    answer.then(
      () => (isLate = false),
      () => (isLate = false),
    );
    try {
      return await inAcquireTime(this.options.acquireTimeoutMs, answer, () => {});
    } catch (error) {
      throw isLate ? new CommitUnknownError(error, (error as Error).message) : error;
    }
  }

  scopeOf(tx: unknown): ScopeExecutor | undefined {
    const client = (tx as { session?: { client?: unknown } } | null)?.session?.client;
    if (!isPgliteTransaction(client)) return undefined;
    const executor = new PgliteExecutor(client, this.queryOptions);
    return {
      run: (statement, values) => executor.run(statement, values),
      script: (sql) => executor.script(sql),
      mayBeOpen: () => !client.closed,
      // PGlite refuses what comes after the end, and it knows it in the tick of the call.
      guardsItself: true,
    };
  }

  listen(channel: string, handlers: ListenHandlers): Subscription {
    // One connection, and it cannot be lost: it lives in this process.
    const stopping = this.client.listen(channel, (payload) => handlers.onNotification(payload));
    stopping.then(
      () => handlers.onConnected(),
      (error: unknown) => handlers.onLost(error),
    );
    return {
      close: async () => {
        try {
          const stop = await stopping;
          if (!this.client.closed) await stop();
        } catch {
          // It never began, which `onLost` has said, or the database was closed meanwhile.
        }
      },
    };
  }

  async close(): Promise<void> {
    if (this.options.ownsClient && !this.client.closed) await this.client.close();
  }
}

function isPgliteTransaction(client: unknown): client is PgliteTransaction {
  const candidate = client as (Partial<PgliteTransaction> & { rollback?: unknown }) | null;
  return (
    typeof candidate === 'object' &&
    candidate !== null &&
    typeof candidate.query === 'function' &&
    typeof candidate.rollback === 'function' &&
    typeof candidate.closed === 'boolean'
  );
}

class PgliteExecutor implements Executor {
  constructor(
    private readonly queries: PgliteQueries,
    private readonly queryOptions: QueryOptions,
  ) {}

  async run<Row>(statement: Statement<Row>, values: SqlValues = {}): Promise<Row[]> {
    const parameters = statement.bind(values).map(parameterText);
    let rows: unknown[];
    try {
      ({ rows } = await this.queries.query(statement.text, parameters, this.queryOptions));
    } catch (error) {
      throw markConnectionError(error);
    }
    return (rows as Cell[][]).map((cells) => statement.decode(cells));
  }

  async script(sql: string): Promise<void> {
    try {
      await this.queries.exec(sql);
    } catch (error) {
      throw markConnectionError(error);
    }
  }
}
