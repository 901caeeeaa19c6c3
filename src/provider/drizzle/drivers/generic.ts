import { UNGUARDED } from '../activity-transaction/guarded-transaction.js';
import type { Driver, Executor, ScopeExecutor, SqlValue, SqlValues, Transaction } from '../executor.js';
import type { Cell, Statement } from '../statement.js';
import { markConnectionError } from './connection-errors.js';
import { performInTransaction, type TransactionRunner } from './first-error.js';
import { clientOfOneQuery, runInTurn, takingTurns } from './one-at-a-time.js';
import { parameterText } from './parameter-text.js';

/** The part of Drizzle's session that all of its PostgreSQL drivers share. */
interface Session {
  prepareQuery(
    query: { readonly sql: string; readonly params: readonly unknown[] },
    fields: undefined,
    name: undefined,
    isResponseInArrayMode: true,
    mapRows: (rows: unknown[][]) => unknown[][],
  ): { execute(): Promise<unknown[][]> };
  readonly client?: unknown;
  /** Set while code of the application's is kept from some statements; ours are not among them. */
  readonly [UNGUARDED]?: Session['prepareQuery'];
}

interface SessionHolder {
  readonly session: Session;
}

/** A Drizzle database of whatever driver. */
export interface AnyDrizzle extends SessionHolder {
  transaction(
    use: (tx: SessionHolder) => Promise<void>,
    config: { readonly isolationLevel: 'read committed' },
  ): Promise<unknown>;
}

export function isDrizzle(db: unknown): db is AnyDrizzle {
  return typeof (db as Partial<AnyDrizzle> | null)?.transaction === 'function' && hasSession(db);
}

function hasSession(holder: unknown): holder is SessionHolder {
  const session = (holder as Partial<SessionHolder> | null)?.session;
  return typeof session?.prepareQuery === 'function';
}

/**
 * Over any Drizzle database for PostgreSQL, through Drizzle itself. What its driver
 * does wrong stays wrong: BEGIN and COMMIT cost round trips, a client may leak when a
 * BEGIN fails, and a failed ROLLBACK hides the error before it. There is no LISTEN.
 */
export class GenericDriver implements Driver {
  readonly kind = 'drizzle';
  readonly canOpenSecondConnection = true;

  constructor(
    private readonly db: AnyDrizzle,
    private readonly options: { readonly ownsClient: boolean },
  ) {}

  withConnection<T>(use: (executor: Executor) => Promise<T>): Promise<T> {
    return use(runnerOn(this.db));
  }

  withTransaction<T>(use: (tx: Transaction) => Promise<T>): Promise<T> {
    return performInTransaction((work) => {
      const workIn = (tx: SessionHolder) =>
        clientOfOneQuery(tx.session) ? runInTurn(runnerOn(tx), work) : work(runnerOn(tx));
      return this.db.transaction(workIn, { isolationLevel: 'read committed' });
    }, use);
  }

  scopeOf(tx: unknown): ScopeExecutor | undefined {
    const isTransaction = typeof (tx as { rollback?: unknown } | null)?.rollback === 'function' && hasSession(tx);
    if (!isTransaction) return undefined;
    const onCommit = (listener: () => void) => watchCommit(tx.session, listener);
    const client = clientOfOneQuery(tx.session);
    const runner = client ? takingTurns(client, runnerOn(tx)) : runnerOn(tx);
    return { ...runner, mayBeOpen: () => true, guardsItself: false, onCommit };
  }

  async close(): Promise<void> {
    const { $client } = this.db as { $client?: { end?: unknown; close?: unknown } };
    if (!this.options.ownsClient) return;
    const end = $client?.end ?? $client?.close;
    if (typeof end === 'function') await end.call($client);
  }
}

const commitListeners = new WeakMap<Session, (() => void)[]>();

/** Drizzle ends most transactions by a COMMIT of its own on their session. */
function watchCommit(session: Session, listener: () => void): void {
  const known = commitListeners.get(session);
  if (known) return void known.push(listener);
  const listeners = [listener];
  commitListeners.set(session, listeners);
  const prepare = session.prepareQuery.bind(session);
  (session as { prepareQuery: Session['prepareQuery'] }).prepareQuery = (query, ...rest) => {
    const prepared = prepare(query, ...rest);
    if (!/^commit$/i.test(query.sql)) return prepared;
    const execute = prepared.execute.bind(prepared);
    prepared.execute = async () => {
      const result = await execute();
      for (const told of listeners) told();
      return result;
    };
    return prepared;
  };
}

function runnerOn({ session }: SessionHolder): TransactionRunner {
  const execute = async (text: string, parameters: readonly (string | null)[]) => {
    try {
      const query = { sql: text, params: parameters };
      const prepare = session[UNGUARDED] ?? session.prepareQuery.bind(session);
      return await prepare(query, undefined, undefined, true, (rows) => rows).execute();
    } catch (error) {
      throw markConnectionError(withoutQuery(error));
    }
  };
  return {
    run: async <Row>(statement: Statement<Row>, values: SqlValues = {}) => {
      const rows = await execute(statement.text, statement.bind(values).map(parameterText));
      return rows.map((cells) => statement.decode(cells.map(cellOf)));
    },
    script: async (sql) => {
      await execute(sql, []);
    },
  };
}

/** Drizzle wraps what the driver threw in an error that prints the parameters, which are payloads. */
function withoutQuery(error: unknown): unknown {
  const isWrapper = error instanceof Error && 'params' in error && error.cause instanceof Error;
  return isWrapper ? error.cause : error;
}

/** The driver has parsed the cell already, as it likes; this is how the server would have written it. */
function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
      return value ? 't' : 'f';
    case 'number':
    case 'bigint':
      return value.toString();
    default:
      if (Array.isArray(value)) return parameterText(value as SqlValue);
      return value instanceof Date ? value.toISOString().replace('T', ' ').replace('Z', '+00') : JSON.stringify(value);
  }
}
