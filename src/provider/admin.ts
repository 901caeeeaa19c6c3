import type { HistoryEvent } from '../wire/event.js';
import type { InstancePage, InstancePageQuery, StatusCount } from './instance-pages.js';
import type { Ms } from './provider.js';
import type { WorkerHeartbeat, WorkerInfo } from './workers.js';

export interface InstanceInfo {
  readonly instanceId: string;
  readonly orchestrationName: string;
  /** `unknown` where none is stored. */
  readonly orchestrationVersion: string;
  readonly currentExecutionId: number;
  readonly status: string;
  readonly output: string | null;
  readonly createdAtMs: Ms;
  readonly updatedAtMs: Ms;
  readonly parentInstanceId: string | null;
}

export interface ExecutionInfo {
  readonly executionId: number;
  readonly status: string;
  readonly output: string | null;
  readonly startedAtMs: Ms;
  readonly completedAtMs: Ms | null;
  readonly eventCount: number;
}

export interface SystemMetrics {
  readonly totalInstances: number;
  readonly totalExecutions: number;
  readonly runningInstances: number;
  readonly completedInstances: number;
  readonly failedInstances: number;
  readonly totalEvents: number;
}

export interface QueueDepths {
  readonly orchestratorQueue: number;
  readonly workerQueue: number;
  /** Always 0: timers are rows of the orchestrator queue. */
  readonly timerQueue: number;
}

/** What waits in a queue: neither delayed nor locked by somebody. */
export interface QueueBacklog {
  readonly queue: 'orchestrator' | 'worker';
  /** Exact up to 10,000. */
  readonly ready: number;
  /** There are more than `ready`; counting stopped. */
  readonly isAtLeast: boolean;
  /** Since when the oldest of them could have been taken, Unix ms; `null` when nothing waits. */
  readonly oldestAtMs: Ms | null;
}

export interface InstanceTree {
  readonly rootId: string;
  readonly allIds: readonly string[];
}

export interface DeleteResult {
  readonly instancesDeleted: number;
  readonly executionsDeleted: number;
  readonly eventsDeleted: number;
  readonly queueMessagesDeleted: number;
}

/** Conditions combine; an empty list of ids matches nothing. */
export interface InstanceFilter {
  readonly instanceIds?: readonly string[] | undefined;
  /** Strictly before, Unix ms. */
  readonly completedBeforeMs?: Ms | undefined;
  /** @defaultValue 1000 */
  readonly limit?: number | undefined;
}

export interface PruneOptions {
  /** Highest executions to keep; the current one stays in any case. */
  readonly keepLast?: number | undefined;
  /** Only executions that ended strictly before, Unix ms. */
  readonly completedBeforeMs?: Ms | undefined;
}

export interface PruneResult {
  readonly instancesProcessed: number;
  readonly executionsDeleted: number;
  readonly eventsDeleted: number;
}

/** What a reset did to one instance. */
export interface ResetResult {
  readonly instanceId: string;
  readonly executionId: number;
  /** Events that moved from the history to `ddz_history_archive`. */
  readonly eventsArchived: number;
  /** Activities, timers and children without outcome that were enqueued again. */
  readonly activities: number;
  readonly timers: number;
  readonly children: number;
  /** External events and queue messages of the archived part that were delivered once more. */
  readonly messages: number;
  /** Failed children whose failure the instance has not seen any more: they were reset with it. */
  readonly resetChildren: readonly ResetResult[];
}

/** Administrative operations (provider.md 3.2). "Unknown instance" is a permanent `ProviderError`. */
export interface ProviderAdmin {
  /** Newest first. */
  listInstances(): Promise<string[]>;
  /** Exact status of the current execution, newest first. */
  listInstancesByStatus(status: string): Promise<string[]>;
  listExecutions(instance: string): Promise<number[]>;
  readHistoryWithExecutionId(instance: string, executionId: number): Promise<HistoryEvent[]>;
  readHistory(instance: string): Promise<HistoryEvent[]>;
  latestExecutionId(instance: string): Promise<number>;
  getInstanceInfo(instance: string): Promise<InstanceInfo>;
  getExecutionInfo(instance: string, executionId: number): Promise<ExecutionInfo>;
  getSystemMetrics(): Promise<SystemMetrics>;
  getQueueDepths(): Promise<QueueDepths>;
  /** Depth and age of both queues, at a bounded cost: one statement, whatever waits. */
  getQueueBacklogs(): Promise<QueueBacklog[]>;
  /** Oldest first. */
  listChildren(instance: string): Promise<string[]>;
  getParentId(instance: string): Promise<string | null>;
  getInstanceTree(instance: string): Promise<InstanceTree>;
  deleteInstancesAtomic(ids: readonly string[], force: boolean): Promise<DeleteResult>;
  deleteInstance(instance: string, force: boolean): Promise<DeleteResult>;
  deleteInstanceBulk(filter: InstanceFilter): Promise<DeleteResult>;
  pruneExecutions(instance: string, options: PruneOptions): Promise<PruneResult>;
  pruneExecutionsBulk(filter: InstanceFilter, options: PruneOptions): Promise<PruneResult>;
  /**
   * A page of instances, newest first by creation time and id. Any page of any filter costs a
   * bounded amount of work: where matches are far apart it may hold fewer than `limit`, even
   * none, although more follow. Go on while `next` is not null.
   * @throws ProviderError (permanent) for a limit, a moment or a cursor that does not fit
   */
  listInstancesPage(query: InstancePageQuery): Promise<InstancePage>;
  /** Instances by the status of their current execution: exact up to 10,000, above that estimates, marked as such. */
  countByStatus(): Promise<StatusCount[]>;
  /** Runtimes that have told of themselves, the latest first. @throws UnsupportedError without the table `ddz_workers` */
  workers(): Promise<WorkerInfo[]>;
  /** Notes that a runtime lives; what has not done so for a day is forgotten. @returns false without `ddz_workers` */
  recordWorker(heartbeat: WorkerHeartbeat): Promise<boolean>;
  /**
   * Takes a failed instance back to the event `toEventId` of its current execution: later
   * events move to `ddz_history_archive`, what has no outcome before is enqueued again, and
   * it runs. One transaction, under the instance's lock. A failed child whose outcome is
   * taken back is reset, too, to the step that failed.
   * @throws ProviderError with the reason when history does not allow it, or (retryable) while
   *   a worker has the instance; UnsupportedError without the table `ddz_history_archive`
   */
  resetInstance(instance: string, toEventId: number): Promise<ResetResult>;
  /** Drops everything of ours and native's in the schema, and the schema unless it is `public`. */
  cleanupSchema(): Promise<void>;
}
