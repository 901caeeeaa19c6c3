import type { ProviderError } from './provider-error.js';
import type { TransactionScope, WorkItemLock } from './provider.js';
import type { WorkItem } from '../wire/work-item.js';

/** Isolation of a transaction of the application's. */
export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable';

/** An activity whose rows are committed together with its completion (design 6). */
export interface ActivityTransaction {
  /** The lock that the activity runs under. */
  readonly lock: WorkItemLock;
  /** Names the activity and its instance in errors. */
  readonly what: string;
  /** @defaultValue `read committed` */
  readonly isolationLevel?: IsolationLevel | undefined;
  /**
   * The application's own statements, on a Drizzle transaction; answers with the
   * completion. Called at most once, and not at all when no transaction could be begun.
   */
  readonly use: (tx: unknown, scope: TransactionScope) => Promise<WorkItem>;
  /**
   * Aborted when nobody waits for the transaction any more: it is rolled back, however long
   * `use` goes on, and is `lost`.
   */
  readonly abandoned?: AbortSignal | undefined;
}

/** What became of an {@link ActivityTransaction}. */
export type ActivityTransactionOutcome =
  | { readonly kind: 'committed' }
  /** The lock was gone at the end: everything is rolled back, and the item is somebody else's or cancelled. */
  | { readonly kind: 'lost' }
  /** `use`, or what it wrote, failed: everything is rolled back, and the lock is held as before. */
  | { readonly kind: 'thrown'; readonly error: unknown }
  /** A serialization failure or a deadlock (40001, 40P01): everything is rolled back; the same may succeed now. */
  | { readonly kind: 'conflict'; readonly error: unknown }
  /** There was no connection, or it broke: nothing has happened. */
  | { readonly kind: 'unavailable'; readonly error: ProviderError }
  /** COMMIT was sent and its answer never came: all of it has happened, or nothing. Do not repeat it (P:T-35). */
  | { readonly kind: 'unknown'; readonly error: ProviderError };

/** Transactions on the application's own database, each ended by the acknowledgement of a work item. */
export interface ActivityTransactions {
  /**
   * Whether nothing else of this process can reach the database while such a transaction
   * is open: on PGlite, pg-mem and pools of one. They come one after another then, and the
   * lock needs no renewal meanwhile: whether somebody else took it is decided at the end.
   */
  readonly runsAlone: boolean;
  /** Never rejects. */
  run(activity: ActivityTransaction): Promise<ActivityTransactionOutcome>;
  /**
   * For calls that are sent together with those of others, and so can wait for a
   * connection in another's name.
   * @throws UnsupportedError inside of `use`, where {@link runsAlone}: the call would wait for itself
   */
  refuseInside(operation: string): void;
}
