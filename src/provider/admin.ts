import type { HistoryEvent } from '../wire/event.js';
import type { Ms } from './provider.js';

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
  /** Oldest first. */
  listChildren(instance: string): Promise<string[]>;
  getParentId(instance: string): Promise<string | null>;
  getInstanceTree(instance: string): Promise<InstanceTree>;
  deleteInstancesAtomic(ids: readonly string[], force: boolean): Promise<DeleteResult>;
  deleteInstance(instance: string, force: boolean): Promise<DeleteResult>;
  deleteInstanceBulk(filter: InstanceFilter): Promise<DeleteResult>;
  pruneExecutions(instance: string, options: PruneOptions): Promise<PruneResult>;
  pruneExecutionsBulk(filter: InstanceFilter, options: PruneOptions): Promise<PruneResult>;
  /** Drops everything of ours and native's in the schema, and the schema unless it is `public`. */
  cleanupSchema(): Promise<void>;
}
