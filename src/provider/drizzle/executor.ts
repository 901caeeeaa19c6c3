import type { Statement } from './statement.js';

/** What may stand for a placeholder. Moments travel as ISO text with zone, arrays as arrays. */
export type SqlValue =
  | string
  | number
  | boolean
  | null
  | readonly (string | number | boolean | null)[];

/** The values of a statement's placeholders, by name. */
export type SqlValues = Readonly<Record<string, SqlValue>>;

/**
 * Runs statements on one connection, in the order in which they were issued. A
 * statement is issued in the tick of the call: callers may issue the next one before
 * the previous answered, and connections that pipeline then save a round trip.
 */
export interface Executor {
  run<Row>(statement: Statement<Row>, values?: SqlValues): Promise<Row[]>;
  /** Plain SQL without parameters, several commands allowed: migrations only. Constants, never input. */
  script(sql: string): Promise<void>;
}

/** An open transaction at READ COMMITTED. */
export interface Transaction extends Executor {
  /**
   * The last statement: COMMIT is issued in the same tick, without waiting for the
   * rows. Nothing may be run afterwards. If the statement fails the server rolls back.
   */
  runLast<Row>(statement: Statement<Row>, values?: SqlValues): Promise<Row[]>;
}

/** What a transaction of ours may do without. */
export interface TransactionOptions {
  /**
   * The commit need not wait for the disk. Only for what may be undone by a crash of the
   * server: a lost claim is a message that nobody has claimed, and the acknowledgement of
   * its turn, which does wait, is refused. Drivers without such a setting ignore it.
   */
  readonly mayBeLost?: boolean | undefined;
}

/** How a kind of Drizzle database gives connections and transactions; one implementation per driver. */
export interface Driver {
  readonly kind: 'node-postgres' | 'pglite' | 'postgres-js' | 'pg-mem' | 'drizzle';
  /** Whether a second connection can be had while one is in use: false on PGlite, pg-mem and pools of one. */
  readonly canOpenSecondConnection: boolean;
  /** How many connections there can be at once; absent: unknown. */
  readonly maxConnections?: number | undefined;
  /** Whether statements that are issued together cost one round trip; then it pays not to wait for an answer. */
  readonly sendsBatches?: boolean;
  withConnection<T>(use: (executor: Executor) => Promise<T>): Promise<T>;
  /**
   * `BEGIN ISOLATION LEVEL READ COMMITTED`, the callback, COMMIT; or ROLLBACK when the
   * callback rejects. Rejects with the first error of the transaction, as the driver
   * threw it, or with `CommitUnknownError` when COMMIT was sent and never answered.
   */
  withTransaction<T>(use: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** One writing statement, for drivers that need no BEGIN and COMMIT around it. */
  runAlone?<Row>(statement: Statement<Row>, values?: SqlValues): Promise<Row[]>;
  /** An executor over the caller's own Drizzle transaction, or `undefined` if `tx` is none of this driver's. */
  scopeOf(tx: unknown): ScopeExecutor | undefined;
  /**
   * Lends a client to a Drizzle database over the pool, for one transaction of its own, and
   * takes it back; absent where Drizzle itself cannot lose one.
   */
  lendTo?<Db extends object, T>(db: Db, use: (db: Db) => Promise<T>): Promise<T>;
  /** A subscription to a channel on a connection of its own; `undefined` where the driver has none. */
  listen?(channel: string, handlers: ListenHandlers): Subscription;
  /**
   * What a connection of the same kind is opened with beside the pool, also in another thread;
   * absent where there is nothing to open it with. @throws UnsupportedError for settings that are no data
   */
  connectionSettings?(): ConnectionSettings;
  close(): Promise<void>;
}

/** How to open a connection, as plain data. */
export interface ConnectionSettings {
  readonly driver: 'node-postgres' | 'postgres-js';
  /** The driver's own options, without those that only matter to a pool. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Asked for each new connection, where the password is not part of the options. */
  readonly password?: (() => Promise<string>) | undefined;
  readonly namedStatements: boolean;
}

/**
 * Where a client behind a Drizzle database carries a driver of its own, for clients
 * that this package does not know: a function of the driver options that makes it.
 */
export const DRIVER_OF_CLIENT = Symbol.for('duroxide-drizzle.driver');

/** An executor on a transaction that somebody else ends. */
export interface ScopeExecutor extends Executor {
  /**
   * Calls back when the transaction was committed, where there is no LISTEN that would tell;
   * not every driver lets that be seen.
   */
  onCommit?(listener: () => void): void;
  /** False when the driver knows that the transaction is over; true when it is open or unknown. */
  mayBeOpen(): boolean;
  /**
   * Whether the driver itself never sends a statement after the end of the transaction,
   * but rejects with `ScopeEndedError`. Otherwise the statements must guard themselves.
   */
  readonly guardsItself: boolean;
}

/** A driver found, just before it sent a statement, that the scope's transaction was over. */
export class ScopeEndedError extends Error {
  override readonly name = 'ScopeEndedError';

  constructor() {
    super('the transaction has ended');
  }
}

export interface ListenHandlers {
  onNotification(payload: string): void;
  /** After each (re)connection: look at the queues without waiting for a notification. */
  onConnected(): void;
  /** The subscription is lost and is being tried again. */
  onLost(error: unknown): void;
}

export interface Subscription {
  close(): Promise<void>;
}
