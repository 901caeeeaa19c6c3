import type { WorkItemOf } from '../wire/work-item.js';
import type { Ms, Result } from './provider.js';

/** At most `limit` starts in any `periodMs`. */
export interface StartRate {
  readonly limit: number;
  readonly periodMs: Ms;
}

/** What a start queue limits; `null` is no limit. */
export interface StartLimits {
  /** Instances of the queue that run at the same time. */
  readonly concurrency: number | null;
  /** Instances of one key that run at the same time. */
  readonly concurrencyPerKey: number | null;
  readonly rate: StartRate | null;
  /** For each key by itself. */
  readonly ratePerKey: StartRate | null;
}

/** A start queue as it stands. Moments are Unix ms of the provider's clock. */
export interface StoredStartQueue extends StartLimits {
  readonly id: string;
  /** Nothing is admitted. */
  readonly isPaused: boolean;
  /** Starts that wait for their admission. */
  readonly waiting: number;
  /** Admitted instances that have not ended. */
  readonly running: number;
  /** When the start that has waited longest was enqueued; `null` when none waits. */
  readonly oldestWaitingMs: Ms | null;
  readonly createdMs: Ms;
  readonly updatedMs: Ms;
}

/** How many there are, as far as was counted. */
export interface BoundedCount {
  readonly count: number;
  /** There are more: counting stopped. */
  readonly isAtLeast: boolean;
}

/** A key of a start queue, among the starts that were looked at. */
export interface StartKeyFigures {
  readonly key: string;
  readonly waiting: number;
  readonly running: number;
  /** When the start of it that has waited longest was enqueued; `null` when none waits. */
  readonly oldestWaitingMs: Ms | null;
}

/** A start queue for those who look often: a crowd that waits in it costs no more than some thousands do. */
export interface StartQueueFigures extends Omit<StoredStartQueue, 'waiting' | 'running'> {
  readonly waiting: BoundedCount;
  readonly running: BoundedCount;
  /** Keys of which most wait, then of which most run: some of those whose turn comes next, or that run. */
  readonly keys: readonly StartKeyFigures[];
  /** There are other keys, or starts that were not looked at. */
  readonly isPartOfKeys: boolean;
}

/** What is changed of a start queue; what is absent stays. */
export type StartQueueChange = Partial<StartLimits & Pick<StoredStartQueue, 'isPaused'>>;

/** A start that waits for its admission. */
export interface QueuedStart {
  readonly item: WorkItemOf<'StartOrchestration'>;
  readonly queue: string;
  /** `null`: none, and no limit per key applies. */
  readonly key: string | null;
  /** Higher is earlier; of equal ones the first that was enqueued. */
  readonly priority: number;
}

/** What became of a start: `exists` when its instance exists, or is started, or waits already. */
export type QueueStartOutcome = 'queued' | 'exists' | 'unknownQueue';

/** What happens with the starts that wait in a queue which is removed. */
export type WaitingStarts = 'refuse' | 'discard' | 'start';

/** How a removal went; `waiting` counts the starts that it was refused for, or that it took away or started. */
export interface StartQueueRemoval {
  readonly outcome: 'removed' | 'refused' | 'unknown';
  readonly waiting: number;
}

/** What a look at all queues brought. */
export interface Admission {
  readonly admitted: number;
  /** Starts wait, or were admitted and are not forgotten yet: ends are worth knowing. */
  readonly inUse: boolean;
  /** There is more than one look takes: look again at once. */
  readonly again: boolean;
  /** Somebody else was at it, and may not have seen everything: look again soon. */
  readonly busy: boolean;
  /** Starts wait for instances to end, or for a key: look again when one ended, or after a while. */
  readonly blocked: boolean;
  /** When a rate lets the next one in, by what is known; `null` when none is waited for. */
  readonly nextMs: Ms | null;
}

/**
 * Where start queues are kept. Every method but `onChanged` throws an `UnsupportedError` with
 * advice where a table is missing, as in a schema that native made.
 */
export interface StartQueueStore {
  /** @returns whether it was stored; `false` when there is one of this id, which stays as it is */
  add(id: string, limits: StartLimits, isPaused: boolean): Promise<boolean>;
  find(id: string): Promise<StoredStartQueue | undefined>;
  /** By id. */
  list(): Promise<StoredStartQueue[]>;
  /** By id, the first `limit` of them: two statements, however many there are and wait. */
  figures(limit: number): Promise<StartQueueFigures[]>;
  /** @returns whether there is one */
  change(id: string, change: StartQueueChange): Promise<boolean>;
  /** Waits for transactions that have enqueued into it. */
  remove(id: string, waiting: WaitingStarts): Promise<StartQueueRemoval>;
  /**
   * Stores starts until their admission: each of them once, also beside others of its id
   * that use this or `Provider.enqueueStartIfAbsent`. A batch as those of `Provider`.
   */
  enqueue(starts: readonly QueuedStart[]): Promise<Result<QueueStartOutcome>[]>;
  /**
   * Admits what the limits allow, each queue in a transaction of its own under its lock, so
   * that no number of processes exceeds them. @param ended instances that have probably ended
   */
  admit(ended?: readonly string[]): Promise<Admission>;
  /** Calls back when starts or queues were added or changed, here or in another process; returns the unsubscription. */
  onChanged(listener: () => void): () => void;
}
