import type {
  ExecutionInfo,
  InstanceFilter,
  InstanceInfo,
  PruneOptions,
  QueueDepths,
  SystemMetrics,
} from '../admin.js';
import { instanceNotFound } from '../drizzle/admin/describe-instances.js';
import { DrizzleProviderAdmin } from '../drizzle/admin/drizzle-provider-admin.js';
import { integerCell, momentCell, optionalIntegerCell, optionalMomentCell, textCell } from '../drizzle/statement.js';
import { ProviderError } from '../provider-error.js';
import { readFunction } from './call.js';
import { deleteInstance, deleteInstanceBulk, deleteInstancesAtomic, getParentId } from './delete-instances.js';
import { pruneExecutions, pruneExecutionsBulk } from './prune-executions.js';
import { readWithExecution } from './reads.js';

/** Administration over the functions; what has none is the same query as in `DrizzleProvider`. */
export class StoredFunctionAdmin extends DrizzleProviderAdmin {
  override listInstances() {
    return readFunction(this.ctx, { name: 'list_instances', decode: ([id]) => textCell(id) });
  }

  override listInstancesByStatus(status: string) {
    const values = { p_status: status };
    return readFunction(this.ctx, { name: 'list_instances_by_status', values, decode: ([id]) => textCell(id) });
  }

  override listExecutions(instance: string) {
    const values = { p_instance_id: instance };
    return readFunction(this.ctx, { name: 'list_executions', values, decode: ([id]) => integerCell(id) });
  }

  override readHistoryWithExecutionId(instance: string, executionId: number) {
    return readWithExecution(this.ctx, instance, executionId, 'read_history_with_execution_id');
  }

  override async readHistory(instance: string) {
    const executionId = await this.latestExecutionId(instance);
    return readWithExecution(this.ctx, instance, executionId, 'read_history');
  }

  override async latestExecutionId(instance: string): Promise<number> {
    const name = 'latest_execution_id';
    const values = { p_instance_id: instance };
    const [id] = await readFunction(this.ctx, { name, values, decode: ([cell]) => optionalIntegerCell(cell) });
    if (id === undefined || id === null) throw instanceNotFound(name, instance);
    return id;
  }

  override async getInstanceInfo(instance: string): Promise<InstanceInfo> {
    const name = 'get_instance_info';
    const [info] = await readFunction(this.ctx, {
      name,
      values: { p_instance_id: instance },
      decode: ([id, orchestration, version, current, createdAt, updatedAt, status, output, parent]): InstanceInfo => ({
        instanceId: textCell(id),
        orchestrationName: textCell(orchestration),
        orchestrationVersion: version ?? 'unknown',
        currentExecutionId: integerCell(current),
        status: status ?? 'Running',
        output: output ?? null,
        createdAtMs: momentCell(createdAt),
        updatedAtMs: momentCell(updatedAt),
        parentInstanceId: parent ?? null,
      }),
    });
    if (!info) throw instanceNotFound(name, instance);
    return info;
  }

  override async getExecutionInfo(instance: string, executionId: number): Promise<ExecutionInfo> {
    const name = 'get_execution_info';
    const [info] = await readFunction(this.ctx, {
      name,
      values: { p_instance_id: instance, p_execution_id: executionId },
      decode: ([id, status, output, startedAt, completedAt, events]): ExecutionInfo => ({
        executionId: integerCell(id),
        status: textCell(status),
        output: output ?? null,
        startedAtMs: momentCell(startedAt),
        completedAtMs: optionalMomentCell(completedAt),
        eventCount: integerCell(events),
      }),
    });
    if (!info) throw ProviderError.permanent(name, 'Execution not found');
    return info;
  }

  override async getSystemMetrics(): Promise<SystemMetrics> {
    const [metrics] = await readFunction(this.ctx, {
      name: 'get_system_metrics',
      decode: ([instances, executions, running, completed, failed, events]): SystemMetrics => ({
        totalInstances: integerCell(instances),
        totalExecutions: integerCell(executions),
        runningInstances: integerCell(running),
        completedInstances: integerCell(completed),
        failedInstances: integerCell(failed),
        totalEvents: integerCell(events),
      }),
    });
    if (!metrics) throw ProviderError.permanent('get_system_metrics', 'no answer');
    return metrics;
  }

  override async getQueueDepths(): Promise<QueueDepths> {
    const [depths] = await readFunction(this.ctx, {
      name: 'get_queue_depths',
      values: (nowMs) => ({ p_now_ms: nowMs }),
      decode: ([orchestrator, worker]): QueueDepths => ({
        orchestratorQueue: integerCell(orchestrator),
        workerQueue: integerCell(worker),
        timerQueue: 0,
      }),
    });
    if (!depths) throw ProviderError.permanent('get_queue_depths', 'no answer');
    return depths;
  }

  override listChildren(instance: string) {
    const values = { p_instance_id: instance };
    return readFunction(this.ctx, { name: 'list_children', values, decode: ([id]) => textCell(id) });
  }

  override getParentId(instance: string) {
    return getParentId(this.ctx, instance);
  }

  override deleteInstancesAtomic(ids: readonly string[], force: boolean) {
    return deleteInstancesAtomic(this.ctx, ids, force);
  }

  override deleteInstance(instance: string, force: boolean) {
    return deleteInstance(this.ctx, instance, force);
  }

  override deleteInstanceBulk(filter: InstanceFilter) {
    return deleteInstanceBulk(this.ctx, filter);
  }

  override pruneExecutions(instance: string, options: PruneOptions) {
    return pruneExecutions(this.ctx, instance, options);
  }

  override pruneExecutionsBulk(filter: InstanceFilter, options: PruneOptions) {
    return pruneExecutionsBulk(this.ctx, filter, options);
  }
}
