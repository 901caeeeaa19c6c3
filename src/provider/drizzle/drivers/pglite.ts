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
import { markConnectionError } from './connection-errors.js';
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
    private readonly options: { readonly ownsClient: boolean },
  ) {
    const types = [...RESULT_TYPES, ...Object.keys(client.parsers ?? {})];
    this.queryOptions = {
      rowMode: 'array',
      parsers: Object.fromEntries(types.map((type) => [type, asText])),
      serializers: serializeNothing,
    };
  }

  async withConnection<T>(use: (executor: Executor) => Promise<T>): Promise<T> {
    return use(new PgliteExecutor(this.client, this.queryOptions));
  }

  withTransaction<T>(use: (tx: Transaction) => Promise<T>): Promise<T> {
    return performInTransaction(
      (work) => this.client.transaction((tx) => work(new PgliteExecutor(tx, this.queryOptions))),
      use,
    );
  }

  runAlone<Row>(statement: Statement<Row>, values?: SqlValues): Promise<Row[]> {
    return new PgliteExecutor(this.client, this.queryOptions).run(statement, values);
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
