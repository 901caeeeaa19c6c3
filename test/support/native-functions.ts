import type pg from 'pg';
import type { Clock } from '../../src/base/clock.js';
import type { InstanceFilter, PruneOptions, ProviderAdmin } from '../../src/provider/admin.js';
import { errorTexts, ProviderError } from '../../src/provider/provider-error.js';
import type {
  Abandon,
  AckOrchestrationItem,
  FetchWorkItems,
  KvEntry,
  LockedOrchestrationItem,
  LockedWorkItem,
  TagFilter,
  VersionFilter,
} from '../../src/provider/provider.js';
import type { SemVer } from '../../src/wire/compat-version.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import { decodeEvent, encodeEvent, EVENT_TYPE_COLUMN, eventFromJson } from '../../src/wire/event.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { encodeWorkItem, targetInstance, workItemFromJson, decodeWorkItem } from '../../src/wire/work-item.js';

/**
 * Native's stored functions, called one by one as native's client calls them
 * (provider.md 3.1, 3.2 and appendix A): the other side of the differential test.
 * Deliberately apart from `StoredFunctionProvider`, which has habits of its own.
 */
export class NativeFunctions {
  /** How often a fetch answered with nothing although there may be more: native had found what ours never delivers. */
  passedOver = 0;
  /** Locks of instances that were found without a message. */
  private readonly emptyItems: string[] = [];

  constructor(
    private readonly client: pg.Client,
    private readonly schema: string,
    private readonly clock: Clock,
  ) {}

  // Orchestrations

  async fetchOrchestrationItem(lockTimeoutMs: number, filter?: VersionFilter): Promise<LockedOrchestrationItem | null> {
    if (filter?.ranges.length === 0) return null;
    const range = filter?.ranges[0];
    const [row] = await this.call('fetch_orchestration_item', [
      this.clock.nowMs(),
      lockTimeoutMs,
      range ? packed(range.min) : null,
      range ? packed(range.max) : null,
    ]);
    if (!row) return null;
    const messages = (row['out_messages'] as unknown[]).map(workItemFromJson);
    const item: LockedOrchestrationItem = {
      instance: String(row['out_instance_id']),
      orchestrationName: String(row['out_orchestration_name']),
      version: String(row['out_orchestration_version']),
      executionId: Number(row['out_execution_id']),
      lockToken: String(row['out_lock_token']),
      attemptCount: Number(row['out_attempt_count']),
      messages,
      ...readHistory(row['out_history'] as unknown[]),
      kvSnapshot: readSnapshot(row['out_kv_snapshot'] as Record<string, { value: string; last_updated_at_ms: number }>),
    };
    if (messages.length === 0) {
      // Its lock is kept for now, or native would find it again and again.
      this.emptyItems.push(item.lockToken);
      this.passedOver += 1;
      return null;
    }
    const isOrphan = item.orchestrationName === 'Unknown' && messages.every(({ kind }) => kind === 'QueueMessage');
    if (!isOrphan || item.historyError || item.history.events.length > 0) return item;
    await this.ackOrchestrationItem({ ...item, ...emptyTurn });
    this.passedOver += 1;
    return null;
  }

  /**
   * Unlocks instances that were found without a message: the lock was removed with the start of a
   * deleted parent's child, and other messages are still locked by whoever had it.
   */
  async releaseEmptyItems(): Promise<void> {
    const tokens = this.emptyItems.splice(0);
    if (tokens.length === 0) return;
    await this.client.query(`delete from ${this.schema}.instance_locks where lock_token = any ($1::text[])`, [tokens]);
  }

  async ackOrchestrationItem(turn: AckOrchestrationItem): Promise<void> {
    const operation = 'ack_orchestration_item';
    if (turn.historyDelta.some(({ eventId }) => eventId === 0)) {
      throw ProviderError.permanent(operation, errorTexts.eventIdMissing);
    }
    await this.call(operation, [
      turn.lockToken,
      this.clock.nowMs(),
      turn.executionId,
      JSON.stringify(turn.historyDelta.map(eventRow)),
      jsonArray(turn.workerItems.map(encodeWorkItem)),
      jsonArray(turn.orchestratorItems.map(encodeWorkItem)),
      JSON.stringify(metadataOf(turn)),
      JSON.stringify(
        turn.cancelledActivities.map(({ instance, executionId, activityId }) => ({
          instance,
          execution_id: executionId,
          activity_id: activityId,
        })),
      ),
    ]);
  }

  async abandonOrchestrationItem(lockToken: string, { delayMs, ignoreAttempt }: Abandon): Promise<void> {
    await this.call('abandon_orchestration_item', [
      lockToken,
      this.clock.nowMs(),
      delayMs ?? null,
      ignoreAttempt ?? false,
    ]);
  }

  async renewOrchestrationItemLock(lockToken: string, extendMs: number): Promise<void> {
    await this.call('renew_orchestration_item_lock', [lockToken, this.clock.nowMs(), Math.floor(extendMs / 1000)]);
  }

  async enqueueForOrchestrator(item: WorkItem, delayMs?: number): Promise<void> {
    const operation = 'enqueue_orchestrator_work';
    if (item.kind === 'ActivityExecute') throw ProviderError.permanent(operation, 'an activity is no message');
    const dueAtMs = this.clock.nowMs() + (delayMs ?? 0);
    const visibleAtMs =
      item.kind === 'TimerFired' && item.fireAtMs > 0
        ? delayMs === undefined
          ? item.fireAtMs
          : Math.max(item.fireAtMs, dueAtMs)
        : dueAtMs;
    await this.call(operation, [
      targetInstance(item),
      encodeWorkItem(item),
      new Date(visibleAtMs).toISOString(),
      null,
      null,
      null,
    ]);
  }

  // Activities

  async enqueueForWorker(item: WorkItem): Promise<void> {
    const activity = item.kind === 'ActivityExecute' ? item : undefined;
    await this.call('enqueue_worker_work', [
      encodeWorkItem(item),
      this.clock.nowMs(),
      activity?.instance ?? null,
      activity?.executionId ?? null,
      activity?.id ?? null,
      activity?.sessionId ?? null,
      activity?.tag ?? null,
    ]);
  }

  async fetchWorkItem({ lockTimeoutMs, session, tagFilter }: Omit<FetchWorkItems, 'limit'>) {
    if (tagFilter.kind === 'none') return null;
    const [row] = await this.call('fetch_work_item', [
      this.clock.nowMs(),
      lockTimeoutMs,
      session?.ownerId ?? null,
      session?.lockTimeoutMs ?? null,
      'tags' in tagFilter ? tagFilter.tags : null,
      tagMode(tagFilter),
    ]);
    if (!row) return null;
    const item = decodeWorkItem(String(row['out_work_item']));
    const locked: LockedWorkItem = {
      item,
      instance: item.kind === 'ActivityExecute' ? item.instance : null,
      lockToken: String(row['out_lock_token']),
      attemptCount: Number(row['out_attempt_count']),
    };
    return locked;
  }

  async ackWorkItem(lockToken: string, completion?: WorkItem): Promise<void> {
    if (completion && completion.kind !== 'ActivityCompleted' && completion.kind !== 'ActivityFailed') {
      throw ProviderError.permanent('ack_worker', errorTexts.invalidCompletion);
    }
    await this.call('ack_worker', [
      lockToken,
      completion?.instance ?? null,
      completion ? encodeWorkItem(completion) : null,
      this.clock.nowMs(),
    ]);
  }

  async abandonWorkItem(lockToken: string, { delayMs, ignoreAttempt }: Abandon): Promise<void> {
    await this.call('abandon_work_item', [lockToken, this.clock.nowMs(), delayMs ?? null, ignoreAttempt ?? false]);
  }

  async renewWorkItemLock(lockToken: string, extendMs: number): Promise<void> {
    await this.call('renew_work_item_lock', [lockToken, this.clock.nowMs(), Math.floor(extendMs / 1000)]);
  }

  async renewSessionLock(ownerIds: readonly string[], extendMs: number, idleTimeoutMs: number): Promise<number> {
    if (ownerIds.length === 0) return 0;
    return this.number('renew_session_lock', [ownerIds, this.clock.nowMs(), extendMs, idleTimeoutMs]);
  }

  async cleanupOrphanedSessions(): Promise<number> {
    return this.number('cleanup_orphaned_sessions', [this.clock.nowMs()]);
  }

  // Reading

  async read(instance: string): Promise<HistoryEvent[]> {
    return decodeRows(await this.call('fetch_history', [instance]));
  }

  async readWithExecution(instance: string, executionId: number): Promise<HistoryEvent[]> {
    return decodeRows(await this.call('fetch_history_with_execution', [instance, executionId]));
  }

  async getCustomStatus(instance: string, lastSeenVersion: number) {
    const [row] = await this.call('get_custom_status', [instance, lastSeenVersion]);
    if (!row) return null;
    return {
      status: row['out_custom_status'] as string | null,
      version: Number(row['out_custom_status_version']),
    };
  }

  async getKvValue(instance: string, key: string): Promise<string | null> {
    const [row] = await this.call('get_kv_value', [instance, key]);
    return row?.['out_found'] === true ? (row['out_value'] as string | null) : null;
  }

  async getKvAllValues(instance: string): Promise<Map<string, string>> {
    const rows = await this.call('get_kv_all_values', [instance]);
    return new Map(rows.map((row) => [String(row['out_key']), String(row['out_value'])]));
  }

  async getInstanceStats(instance: string) {
    const [row] = await this.call('get_instance_stats', [instance]);
    if (row?.['out_found'] !== true) return null;
    return {
      historyEventCount: Number(row['out_history_event_count']),
      historySizeBytes: Number(row['out_history_size_bytes']),
      queuePendingCount: Number(row['out_queue_pending_count']),
      kvUserKeyCount: Number(row['out_kv_user_key_count']),
      kvTotalValueBytes: Number(row['out_kv_total_value_bytes']),
    };
  }

  // Administration

  readonly admin: Omit<
    ProviderAdmin,
    | 'readHistory'
    | 'cleanupSchema'
    | 'readHistoryWithExecutionId'
    | 'listInstancesPage'
    | 'countByStatus'
    | 'getQueueBacklogs'
    | 'workers'
    | 'recordWorker'
    | 'resetInstance'
  > = {
    listInstances: async () => column(await this.call('list_instances', []), 'instance_id', String),
    listInstancesByStatus: async (status) =>
      column(await this.call('list_instances_by_status', [status]), 'instance_id', String),
    listExecutions: async (instance) => column(await this.call('list_executions', [instance]), 'execution_id', Number),
    latestExecutionId: async (instance) => {
      const [row] = await this.call('latest_execution_id', [instance]);
      const id = row?.['latest_execution_id'];
      if (id === null || id === undefined) throw ProviderError.permanent('latest_execution_id', 'Instance not found');
      return Number(id);
    },
    getInstanceInfo: async (instance) => {
      const [row] = await this.call('get_instance_info', [instance]);
      if (!row) throw ProviderError.permanent('get_instance_info', 'Instance not found');
      return {
        instanceId: String(row['instance_id']),
        orchestrationName: String(row['orchestration_name']),
        orchestrationVersion: (row['orchestration_version'] as string | null) ?? 'unknown',
        currentExecutionId: Number(row['current_execution_id']),
        status: (row['status'] as string | null) ?? 'Running',
        output: row['output'] as string | null,
        createdAtMs: (row['created_at'] as Date).getTime(),
        updatedAtMs: (row['updated_at'] as Date).getTime(),
        parentInstanceId: row['parent_instance_id'] as string | null,
      };
    },
    getExecutionInfo: async (instance, executionId) => {
      const [row] = await this.call('get_execution_info', [instance, executionId]);
      if (!row) throw ProviderError.permanent('get_execution_info', 'Execution not found');
      return {
        executionId: Number(row['execution_id']),
        status: String(row['status']),
        output: row['output'] as string | null,
        startedAtMs: (row['started_at'] as Date).getTime(),
        completedAtMs: (row['completed_at'] as Date | null)?.getTime() ?? null,
        eventCount: Number(row['event_count']),
      };
    },
    getSystemMetrics: async () => {
      const [row = {}] = await this.call('get_system_metrics', []);
      return {
        totalInstances: Number(row['total_instances']),
        totalExecutions: Number(row['total_executions']),
        runningInstances: Number(row['running_instances']),
        completedInstances: Number(row['completed_instances']),
        failedInstances: Number(row['failed_instances']),
        totalEvents: Number(row['total_events']),
      };
    },
    getQueueDepths: async () => {
      const [row = {}] = await this.call('get_queue_depths', [this.clock.nowMs()]);
      return {
        orchestratorQueue: Number(row['orchestrator_queue']),
        workerQueue: Number(row['worker_queue']),
        timerQueue: 0,
      };
    },
    listChildren: async (instance) => column(await this.call('list_children', [instance]), 'child_instance_id', String),
    getParentId: async (instance) => {
      const [row] = await this.call('get_parent_id', [instance]);
      return (row?.['get_parent_id'] ?? null) as string | null;
    },
    getInstanceTree: async (instance) => {
      const allIds = [instance];
      for (const id of allIds) allIds.push(...(await this.admin.listChildren(id)));
      return { rootId: instance, allIds };
    },
    deleteInstancesAtomic: async (ids, force) => {
      if (ids.length === 0) return noneDeleted;
      const [row = {}] = await this.call('delete_instances_atomic', [ids, force]);
      return {
        instancesDeleted: Number(row['instances_deleted']),
        executionsDeleted: Number(row['executions_deleted']),
        eventsDeleted: Number(row['events_deleted']),
        queueMessagesDeleted: Number(row['queue_messages_deleted']),
      };
    },
    deleteInstance: async (instance, force) => {
      if ((await this.admin.getParentId(instance)) !== null) {
        throw ProviderError.permanent('delete_instance', 'Cannot delete a sub-orchestration directly');
      }
      const { allIds } = await this.admin.getInstanceTree(instance);
      return this.admin.deleteInstancesAtomic(allIds, force);
    },
    deleteInstanceBulk: async (filter) => {
      const roots = await this.select(
        "i.parent_instance_id is null and e.status in ('Completed', 'Failed', 'ContinuedAsNew')",
        filter,
      );
      let total = noneDeleted;
      for (const root of roots) {
        const { allIds } = await this.admin.getInstanceTree(root);
        total = added(total, await this.admin.deleteInstancesAtomic(allIds, true));
      }
      return total;
    },
    pruneExecutions: async (instance, options) => {
      const [row = {}] = await this.call('prune_executions', [
        instance,
        options.keepLast ?? null,
        options.completedBeforeMs ?? null,
      ]);
      return {
        instancesProcessed: Number(row['instances_processed']),
        executionsDeleted: Number(row['executions_deleted']),
        eventsDeleted: Number(row['events_deleted']),
      };
    },
    pruneExecutionsBulk: async (filter, options: PruneOptions) => {
      let total = { instancesProcessed: 0, executionsDeleted: 0, eventsDeleted: 0 };
      for (const instance of await this.select('true', filter)) {
        total = added(total, await this.admin.pruneExecutions(instance, options));
      }
      return total;
    },
  };

  /** The instances of a bulk operation, which native selects by dynamic SQL of its client. */
  private async select(condition: string, { instanceIds, completedBeforeMs, limit }: InstanceFilter) {
    const { rows } = await this.client.query<{ instance_id: string }>(
      `select i.instance_id from ${this.schema}.instances i
       join ${this.schema}.executions e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
       where ${condition}
         and ($1::text[] is null or i.instance_id = any($1::text[]))
         and ($2::float8 is null or e.completed_at < to_timestamp($2::float8 / 1000))
       limit $3`,
      [instanceIds ?? null, completedBeforeMs ?? null, limit ?? 1000],
    );
    return rows.map(({ instance_id }) => instance_id);
  }

  /** Calls a function and classifies its error as native's client does. */
  private async call(name: string, args: readonly unknown[]): Promise<Record<string, unknown>[]> {
    const places = args.map((_, index) => `$${index + 1}`).join(', ');
    try {
      const { rows } = await this.client.query<Record<string, unknown>>(
        `select * from ${this.schema}.${name}(${places})`,
        [...args],
      );
      return rows;
    } catch (cause) {
      const { code: sqlState, message } = cause as { code?: string; message: string };
      const retryable = sqlState === '40P01' || sqlState === '0A000';
      throw ProviderError[retryable ? 'retryable' : 'permanent'](name, message, { sqlState, cause });
    }
  }

  private async number(name: string, args: readonly unknown[]): Promise<number> {
    const [row] = await this.call(name, args);
    return Number(row?.[name]);
  }
}

const noneDeleted = { instancesDeleted: 0, executionsDeleted: 0, eventsDeleted: 0, queueMessagesDeleted: 0 };

const emptyTurn = {
  executionId: 1,
  historyDelta: [],
  workerItems: [],
  orchestratorItems: [],
  metadata: {},
  cancelledActivities: [],
};

function added<T extends object>(one: T, two: T): T {
  const counts = Object.entries(one) as [keyof T, number][];
  return Object.fromEntries(counts.map(([key, count]) => [key, count + Number(two[key])])) as T;
}

function column<T>(rows: readonly Record<string, unknown>[], name: string, read: (value: unknown) => T): T[] {
  return rows.map((row) => read(row[name]));
}

function decodeRows(rows: readonly Record<string, unknown>[]): HistoryEvent[] {
  return rows.map((row) => decodeEvent(String(row['out_event_data'])));
}

function readHistory(events: readonly unknown[]): Pick<LockedOrchestrationItem, 'history' | 'historyError'> {
  try {
    return { history: { kind: 'full', events: events.map(eventFromJson) } };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { history: { kind: 'full', events: [] }, historyError: `Failed to deserialize history: ${reason}` };
  }
}

function readSnapshot(snapshot: Record<string, { value: string; last_updated_at_ms: number }>): Map<string, KvEntry> {
  return new Map(
    Object.entries(snapshot).map(([key, { value, last_updated_at_ms: lastUpdatedAtMs }]) => [
      key,
      { value, lastUpdatedAtMs },
    ]),
  );
}

function packed({ major, minor, patch }: SemVer): number {
  return major * 1_000_000 + minor * 1_000 + patch;
}

function tagMode({ kind }: TagFilter): string {
  return { defaultOnly: 'default_only', tags: 'tags', defaultAnd: 'default_and', any: 'any', none: 'none' }[kind];
}

function jsonArray(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

function eventRow(event: HistoryEvent) {
  return { event_id: event.eventId, event_type: EVENT_TYPE_COLUMN, event_data: encodeEvent(event) };
}

/** The metadata object of the acknowledgement: what the turn says, and what its events imply. */
function metadataOf({ metadata, historyDelta }: AckOrchestrationItem) {
  const lastStatus = historyDelta.filter((event) => event.kind === 'CustomStatusUpdated').at(-1);
  return {
    orchestration_name: metadata.orchestrationName,
    orchestration_version: metadata.orchestrationVersion,
    parent_instance_id: metadata.parentInstanceId,
    status: metadata.status,
    output: metadata.output,
    pinned_duroxide_version: metadata.pinnedDuroxideVersion,
    custom_status_action: lastStatus && (lastStatus.status === null ? 'clear' : 'set'),
    custom_status_value: lastStatus?.status ?? undefined,
    kv_mutations: historyDelta.flatMap(kvMutation),
  };
}

function kvMutation(event: HistoryEvent) {
  switch (event.kind) {
    case 'KeyValueSet':
      return [{ action: 'set', key: event.key, value: event.value, last_updated_at_ms: event.lastUpdatedAtMs }];
    case 'KeyValueCleared':
      return [{ action: 'clear_key', key: event.key }];
    case 'KeyValuesCleared':
      return [{ action: 'clear_all' }];
    default:
      return [];
  }
}
