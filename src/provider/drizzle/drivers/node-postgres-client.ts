import { type BatchClass, batchClassOf, type QueryClass } from './node-postgres-batch.js';

type Listener = (error: Error) => void;

/** What we use of a `pg.Client`, told by its shape: the package is an optional peer. */
export interface PgClient {
  /** A query object of our own, or SQL text without parameters. */
  query(query: object): unknown;
  query(text: string): Promise<unknown>;
  on(event: 'error' | 'end', listener: Listener): unknown;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  off(event: 'error' | 'end', listener: Listener): unknown;
  connect(): Promise<unknown>;
  end(): Promise<void>;
  /** Since pg 8.17; a status of the last answer: `I` outside a transaction. */
  getTransactionStatus?(): string | null;
  unref?(): void;
  /** Whether statements are sent before the earlier ones are answered; since pg 8.23. */
  readonly pipeline?: boolean;
  /** The process of the server, once connected; a pooler makes one up. */
  readonly processID?: number | null;
  readonly connection?: {
    readonly stream?: { destroy(error?: Error): unknown };
    on?(event: 'readyForQuery', listener: (message?: { readonly status?: string }) => void): unknown;
  };
  /** On clients of a pool: another function for each time that the client is lent. */
  readonly release?: unknown;
}

export interface PgPoolClient extends Omit<PgClient, 'release'> {
  release(error?: Error | boolean): void;
}

/** What we use of a `pg.Pool`. */
export interface PgPool {
  readonly options: PgPoolOptions;
  readonly Client: PgClientClass;
  readonly totalCount: number;
  readonly ending?: boolean;
  connect(): Promise<PgPoolClient>;
  on(event: 'error', listener: Listener): unknown;
  on(event: 'acquire', listener: (client: PgClient) => void): unknown;
  off(event: 'error', listener: Listener): unknown;
  off(event: 'acquire', listener: (client: PgClient) => void): unknown;
  listenerCount(event: 'error'): number;
  end(): Promise<void>;
}

/**
 * The options of a pool, for one more client like its own. What has the password in it is
 * not enumerable, so that it shows up in no log, and so it is copied by name.
 */
export function loginOptions(pool: PgPool): object {
  const { options } = pool as { options: { password?: unknown; connectionString?: unknown } };
  const hidden = { password: options.password, connectionString: options.connectionString };
  return { ...options, ...Object.fromEntries(Object.entries(hidden).filter(([, value]) => value !== undefined)) };
}

export interface PgPoolOptions {
  readonly max?: number;
}

export interface PgClientClass {
  new (options: object): PgClient;
  readonly Query?: unknown;
}

export function isPgPool(client: unknown): client is PgPool {
  const pool = client as Partial<PgPool> | null;
  return (
    typeof pool === 'object' &&
    pool !== null &&
    typeof pool.connect === 'function' &&
    typeof pool.totalCount === 'number' &&
    typeof pool.options === 'object'
  );
}

/** A single `pg.Client`, leased from a pool or not. */
export function isPgClient(client: unknown): client is PgClient {
  const candidate = client as (Partial<PgClient> & { connection?: unknown; connectionParameters?: unknown }) | null;
  return (
    typeof candidate === 'object' &&
    candidate !== null &&
    typeof candidate.query === 'function' &&
    typeof candidate.connect === 'function' &&
    typeof candidate.connectionParameters === 'object'
  );
}

/** The batch class for the clients of this class; `undefined` for clients that take no query objects (pg-native). */
export function batchClassFor(clientClass: unknown): BatchClass | undefined {
  const { Query } = clientClass as { Query?: unknown };
  return isQueryClass(Query) ? batchClassOf(Query) : undefined;
}

/** Whether clients of this class take query objects; those of pg-native do not. */
export function takesBatches(clientClass: unknown): boolean {
  return batchClassFor(clientClass) !== undefined;
}

function isQueryClass(value: unknown): value is QueryClass {
  if (typeof value !== 'function') return false;
  const { submit, handleDataRow } = (value.prototype ?? {}) as { submit?: unknown; handleDataRow?: unknown };
  return typeof submit === 'function' && typeof handleDataRow === 'function';
}
