import type { SemVer } from '../wire/compat-version.js';
import type { HistoryEvent } from '../wire/event.js';
import type { WorkItem, WorkItemOf } from '../wire/work-item.js';
import type { ActivityTransactions } from './activity-transactions.js';
import type { ProviderAdmin } from './admin.js';
import type { LockThread, LockThreadOptions } from './lock-thread.js';
import type { ProviderError } from './provider-error.js';
import type { ScheduleStore } from './schedules.js';
import type { StartQueueStore } from './start-queues.js';
import type { EnqueueForOrchestrator, TransactionScope } from './transaction-scope.js';

export type { EnqueueForOrchestrator, TransactionScope } from './transaction-scope.js';

/** A duration or a moment in milliseconds, as the field's name says. */
export type Ms = number;

/** The answer for one element of a batch; arrays of it stand in the order of the input. */
export type Result<T = void> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ProviderError };

/** Inclusive version ranges; only the first one is used, an empty list matches nothing (P:CF-11, P:CF-19). */
export interface VersionFilter {
  readonly ranges: readonly { readonly min: SemVer; readonly max: SemVer }[];
}

/** Who owns the sessions that a fetch of work items may claim, and for how long. */
export interface SessionConfig {
  readonly ownerId: string;
  readonly lockTimeoutMs: Ms;
}

/** Which worker items a fetch may return. `tags` and `defaultAnd` hold 1 to 5 tags. */
export type TagFilter =
  | { readonly kind: 'defaultOnly' }
  | { readonly kind: 'any' }
  | { readonly kind: 'none' }
  | { readonly kind: 'tags'; readonly tags: readonly string[] }
  | { readonly kind: 'defaultAnd'; readonly tags: readonly string[] };

/** A stored value of the key-value store. */
export interface KvEntry {
  readonly value: string;
  readonly lastUpdatedAtMs: Ms;
}

/** Values of finished executions; the current execution's are rebuilt by replay (P:KV-27). */
export type KvSnapshot = ReadonlyMap<string, KvEntry>;

export interface FetchOrchestrationItems {
  readonly limit: number;
  readonly lockTimeoutMs: Ms;
  readonly filter?: VersionFilter | undefined;
  /** Asked for each claimed instance; a held one is answered with its tail (3.4.4). */
  readonly held?: ((instance: string) => HeldInstance | undefined) | undefined;
}

/** What a caller still has in memory of an instance. */
export interface HeldInstance {
  readonly executionId: number;
  readonly lastEventId: number;
}

export interface FetchedOrchestrationItems {
  readonly items: readonly LockedOrchestrationItem[];
  /** Instances that were ready but went to somebody else. The queue is empty only when this is 0, too. */
  readonly lost: number;
}

/** An instance locked for one turn, with the messages that the turn consumes. */
export interface LockedOrchestrationItem {
  readonly instance: string;
  readonly orchestrationName: string;
  readonly executionId: number;
  /** `unknown` where neither row nor message names one. */
  readonly version: string;
  readonly lockToken: string;
  /** The highest attempt count of the claimed messages, from 1. */
  readonly attemptCount: number;
  readonly history: ItemHistory;
  /** In enqueue order, all of this instance. */
  readonly messages: readonly WorkItem[];
  /** Set when the history cannot be read; its events are empty then. */
  readonly historyError?: string | undefined;
  /** Absent with a tail. */
  readonly kvSnapshot?: KvSnapshot | undefined;
}

export type ItemHistory =
  | { readonly kind: 'full'; readonly events: readonly HistoryEvent[] }
  | {
      readonly kind: 'tail';
      /** Stored text of the held event; `null` if there is none. Go on only if it is byte-equal to your own. */
      readonly heldText: string | null;
      /** What follows the held event. */
      readonly events: readonly HistoryEvent[];
    };

/** Names a lock on an instance; `instance_locks` has no index on the token alone. */
export interface OrchestrationLock {
  readonly instance: string;
  readonly lockToken: string;
}

/** Names a lock on a worker item; the instance is null for items that have none. */
export interface WorkItemLock {
  readonly instance: string | null;
  readonly lockToken: string;
}

/** What a turn says about its execution; computed by the runtime (provider.md 3.0). */
export interface ExecutionMetadata {
  readonly status?: 'Completed' | 'Failed' | 'ContinuedAsNew' | 'Running' | undefined;
  readonly output?: string | undefined;
  readonly orchestrationName?: string | undefined;
  readonly orchestrationVersion?: string | undefined;
  readonly parentInstanceId?: string | undefined;
  readonly pinnedDuroxideVersion?: SemVer | undefined;
}

export interface ActivityRef {
  readonly instance: string;
  readonly executionId: number;
  readonly activityId: number;
}

/**
 * Worker items of a turn that its acknowledgement stores locked: as if the caller had fetched
 * them, and nobody else, right after the commit.
 */
export interface WorkerLocks {
  readonly lockTimeoutMs: Ms;
  /** One for each worker item of the turn: its lock token, or `null` to leave it to whoever fetches it. */
  readonly tokens: readonly (string | null)[];
}

/**
 * What a turn consumed that was run without a fetch: outcomes of activities that its process had
 * locked, as if they had been acknowledged and their instance fetched, with them alone, right
 * before the acknowledgement of the turn.
 */
export interface DirectTurn {
  /** Lock tokens of the activities; at least one. */
  readonly workTokens: readonly string[];
  /** Where the turn went on: the last event of the execution, which is the current one. */
  readonly lastEventId: number;
}

/** Everything that one turn decided. */
export interface AckOrchestrationItem extends OrchestrationLock {
  readonly executionId: number;
  readonly historyDelta: readonly HistoryEvent[];
  readonly workerItems: readonly WorkItem[];
  /** Absent: all of them are left to whoever fetches them. Only for a provider that {@link Provider.locksOwnWork}. */
  readonly workerLocks?: WorkerLocks | undefined;
  readonly orchestratorItems: readonly WorkItem[];
  readonly metadata: ExecutionMetadata;
  readonly cancelledActivities: readonly ActivityRef[];
  /**
   * Present: the turn holds no lock, and its token names nothing that is stored. Only for a provider
   * that {@link Provider.takesDirectTurns}. Refused as a lost lock is, with nothing done, when
   * the instance is not where the turn began, somebody else has it, it has other messages
   * that are due, or one of the activities is not the caller's any more.
   */
  readonly direct?: DirectTurn | undefined;
}

/** How to give something back. */
export interface Abandon {
  /** Not fetchable for so long; absent or 0: at once. */
  readonly delayMs?: Ms | undefined;
  /** Take the attempt back, because nothing was tried. */
  readonly ignoreAttempt?: boolean | undefined;
}

export interface Renewal {
  /** The lock ends so long after now. */
  readonly extendMs: Ms;
}

export interface FetchWorkItems {
  readonly limit: number;
  readonly lockTimeoutMs: Ms;
  /** Absent: only items without a session. */
  readonly session?: SessionConfig | undefined;
  /** How many sessions not owned yet the batch may claim; absent: no bound. */
  readonly maxNewSessions?: number | undefined;
  readonly tagFilter: TagFilter;
}

export interface LockedWorkItem {
  readonly item: WorkItem;
  readonly instance: string | null;
  readonly lockToken: string;
  /** From 1. */
  readonly attemptCount: number;
}

export interface LoadedHistory {
  readonly events: readonly HistoryEvent[];
  readonly kvSnapshot: KvSnapshot;
  readonly historyError?: string | undefined;
}

export interface Due {
  /** Something is visible and unlocked now. */
  readonly orchestrator: boolean;
  readonly worker: boolean;
  /** The queues in which more than one row is, where the store tells. */
  readonly several?: readonly QueueName[] | undefined;
  /** The earliest future moment at which something becomes visible, in either queue. */
  readonly nextVisibleAtMs: Ms | null;
}

export type QueueName = 'orchestrator' | 'worker';

/**
 * The storage of the runtime: what every implementation promises (provider.md 3.4).
 *
 * Every hot operation takes a batch. A batch is transport, not a unit: each element
 * has its own result, in input order, and one bad element never fails the others. A
 * call rejects (with a `ProviderError`) only when nothing is known about any element.
 */
export interface Provider {
  /** For logs. */
  name(): string;
  version(): string;
  /** The provider's time: what every stored moment is measured with (provider.md 3.0). */
  nowMs(): Ms;
  /** Whether acknowledgements honour {@link AckOrchestrationItem.workerLocks}. Absent: no. */
  readonly locksOwnWork?: boolean | undefined;
  /** Whether acknowledgements take {@link AckOrchestrationItem.direct} turns. Absent: no. */
  readonly takesDirectTurns?: boolean | undefined;

  /** Locks up to `limit` ready instances, oldest first, and returns them with their messages and history. */
  fetchOrchestrationItems(params: FetchOrchestrationItems): Promise<FetchedOrchestrationItems>;
  /** Commits what turns decided: history, metadata, outgoing messages, release of the locks. */
  ackOrchestrationItems(turns: readonly AckOrchestrationItem[]): Promise<Result[]>;
  /** Gives instances back undone. Works on an expired lock that nobody took (P:T-27). */
  abandonOrchestrationItems(elements: readonly (OrchestrationLock & Abandon)[]): Promise<Result[]>;
  renewOrchestrationItemLocks(elements: readonly (OrchestrationLock & Renewal)[]): Promise<Result[]>;

  /** Locks up to `limit` worker items in queue order. */
  fetchWorkItems(params: FetchWorkItems): Promise<LockedWorkItem[]>;
  /** Removes items and, with a completion, enqueues it; without one, the result is discarded. */
  ackWorkItems(elements: readonly (WorkItemLock & { readonly completion?: WorkItem | undefined })[]): Promise<Result[]>;
  abandonWorkItems(elements: readonly (WorkItemLock & Abandon)[]): Promise<Result[]>;
  /** A failed renewal is how a running activity learns that it was cancelled. */
  renewWorkItemLocks(elements: readonly (WorkItemLock & Renewal)[]): Promise<Result[]>;

  enqueueForOrchestrator(elements: readonly EnqueueForOrchestrator[]): Promise<Result[]>;
  enqueueForWorker(items: readonly WorkItem[]): Promise<Result[]>;
  /**
   * Enqueues a start unless its instance exists or a start of it waits in the queue, and says
   * whether it did. Of any number of such calls for one id at the same time, in any number of
   * processes, one does; those inside a transaction of an application keep the others waiting
   * until it ends. Starts by `enqueueForOrchestrator` do not take part: they are seen once they
   * are committed. Not a batch, because each may have to wait for somebody else.
   * @throws ProviderError
   */
  enqueueStartIfAbsent(item: WorkItemOf<'StartOrchestration'>): Promise<boolean>;

  /** Full history and snapshot under a lock that is held, for a caller whose tail did not fit. */
  loadHistory(lock: OrchestrationLock): Promise<LoadedHistory>;

  /**
   * The enqueues and `ackWorkItems` as part of the caller's Drizzle transaction: visible
   * after its commit, gone after its rollback. No retry and no bisecting inside.
   * @throws UnsupportedError when `tx` belongs to another driver.
   */
  within(tx: unknown): TransactionScope;

  /**
   * The application's own transactions for transactional activities; absent, or
   * `undefined`, where the storage has no transactions that an application could join.
   */
  activityTransactions?(): ActivityTransactions | undefined;

  /** Where schedules are kept; absent, or `undefined`, where the storage keeps none. */
  schedules?(): ScheduleStore | undefined;

  /** Where start queues are kept; absent, or `undefined`, where the storage keeps none. */
  startQueues?(): StartQueueStore | undefined;

  /** The idle probe: one statement for both queues. */
  due(): Promise<Due>;
  /**
   * Calls back when a queue may have work; returns the unsubscription. "Look", never "one
   * item". A listener that answers `true` takes the work at once, so that other processes
   * need not be told of what this one has enqueued. `isFromElsewhere` says that another
   * process enqueued it, and that all that listen were told.
   */
  onWakeUp(listener: (queue: QueueName, isFromElsewhere?: boolean) => unknown): () => void;
  /**
   * Calls back with the instances that an acknowledgement through this object ended, after
   * its commit; returns the unsubscription. Spares waiters of this process a poll, and with
   * `states` the look, too: where the store can tell how they ended, as {@link instanceStates}
   * would, it does.
   */
  onEnded(listener: EndListener, options?: EndListenerOptions): () => void;
  /**
   * Calls back after instances were deleted through this object; returns the unsubscription.
   * What is held of instances in memory is void then: one of the same id may be another.
   */
  onDeleted(listener: () => void): () => void;
  /** Whether wake-ups of other processes arrive, and whether native workers may enqueue silently (design 5.4). */
  wakeUps(): { readonly listening: boolean; readonly sharedWithNative: boolean; readonly notifyTriggers: boolean };

  renewSessionLock(params: {
    readonly ownerIds: readonly string[];
    readonly extendMs: Ms;
    readonly idleTimeoutMs: Ms;
  }): Promise<number>;
  cleanupOrphanedSessions(idleTimeoutMs: Ms): Promise<number>;

  /**
   * Starts a thread that renews locks on a connection of its own. Absent where a provider has
   * no such thread.
   * @throws UnsupportedError when this provider's connection cannot be opened from a thread
   */
  startLockThread?(options: LockThreadOptions): Promise<LockThread>;

  /** Events of the highest execution in `executions`; empty for an unknown instance. */
  read(instance: string): Promise<HistoryEvent[]>;
  readWithExecution(instance: string, executionId: number): Promise<HistoryEvent[]>;
  /** Test support: inserts events; existing ids stay untouched. */
  appendWithExecution(instance: string, executionId: number, events: readonly HistoryEvent[]): Promise<void>;

  /** `null` when the version is not above `lastSeenVersion`; a cleared status is `{ status: null, version }`. */
  getCustomStatus(
    instance: string,
    lastSeenVersion: number,
  ): Promise<{ readonly status: string | null; readonly version: number } | null>;
  /**
   * Where instances stand, for any number of waiters in one statement. Unknown instances
   * are left out; with `endedOnly` so are those that still run.
   */
  instanceStates(params: {
    readonly instances: readonly string[];
    readonly endedOnly: boolean;
  }): Promise<InstanceState[]>;
  /**
   * As {@link getKvValue} for many, in the order of the input, in one statement. A value that cannot
   * be decoded is answered with its error: it never fails the others.
   */
  getKvValues(
    keys: readonly { readonly instance: string; readonly key: string }[],
  ): Promise<(string | null | ProviderError)[]>;
  getKvValue(instance: string, key: string): Promise<string | null>;
  getKvAllValues(instance: string): Promise<Map<string, string>>;
  getInstanceStats(instance: string): Promise<InstanceStats | null>;

  /** Administration, for clients and tools. */
  asManagement(): ProviderAdmin;

  /** Stops listeners and timers and, if the provider opened its connection, closes it. */
  close(): Promise<void>;
}

/** Is told which instances ended, and of any of them how. */
export type EndListener = (instances: readonly string[], states: readonly InstanceState[]) => void;

/** What else whoever waits for ends would like to know. */
export interface EndListenerOptions {
  /** How they ended, where the store can tell. @defaultValue false */
  readonly states?: boolean | undefined;
  /** Ends in other processes, where the store hears of them. */
  readonly elsewhere?: EndElsewhereListener | undefined;
}

/** Is told that instances ended in another process; `concerns` may name some that have not. */
export type EndElsewhereListener = (concerns: (instance: string) => boolean) => void;

/** Where the current execution of an instance stands. */
export interface InstanceState {
  readonly instance: string;
  readonly orchestrationName: string;
  /** `unknown` where none is stored. */
  readonly orchestrationVersion: string;
  readonly executionId: number;
  /** `Completed` and `Failed` are the ends; an execution that continued as new is about to be followed. */
  readonly status: string;
  /** Output, or the display text of the failure. */
  readonly output: string | null;
  readonly customStatus: string | null;
  readonly customStatusVersion: number;
  /** Why output and custom status stand here as they are stored: one of them cannot be decoded. Whoever hands them on throws it instead. */
  readonly unreadable?: ProviderError | undefined;
}

/** Sizes of an instance's current execution (provider.md 3.1.20; P:T-13 for the KV figures). */
export interface InstanceStats {
  readonly historyEventCount: number;
  readonly historySizeBytes: number;
  /** Mailbox messages carried into the execution, not a queue depth. */
  readonly queuePendingCount: number;
  readonly kvUserKeyCount: number;
  readonly kvTotalValueBytes: number;
}
