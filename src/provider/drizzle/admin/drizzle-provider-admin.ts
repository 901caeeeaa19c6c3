import type { InstanceFilter, ProviderAdmin, PruneOptions } from '../../admin.js';
import type { InstancePageQuery } from '../../instance-pages.js';
import type { WorkerHeartbeat } from '../../workers.js';
import type { ProviderContext } from '../context.js';
import { cleanupSchema } from '../migrate/index.js';
import { readWithExecution } from '../operations/read-history.js';
import { inTransaction } from '../transaction.js';
import { countByStatus } from './count-by-status.js';
import { deleteInstance, deleteInstanceBulk, deleteInstancesAtomic } from './delete-instances.js';
import { getExecutionInfo, getInstanceInfo, getParentId, latestExecutionId } from './describe-instances.js';
import {
  getInstanceTree,
  listChildren,
  listExecutions,
  listInstances,
  listInstancesByStatus,
} from './list-instances.js';
import { listInstancesPage } from './list-instances-page.js';
import { getQueueDepths, getSystemMetrics } from './metrics.js';
import { pruneExecutions, pruneExecutionsBulk } from './prune-executions.js';
import { getQueueBacklogs } from './queue-backlogs.js';
import { resetInstance } from './reset-instance.js';
import { listWorkers, recordWorker } from './workers.js';

/** Administration over the tables; each method is one file's function. */
export class DrizzleProviderAdmin implements ProviderAdmin {
  constructor(protected readonly ctx: ProviderContext) {}

  listInstances() {
    return listInstances(this.ctx);
  }

  listInstancesByStatus(status: string) {
    return listInstancesByStatus(this.ctx, status);
  }

  listExecutions(instance: string) {
    return listExecutions(this.ctx, instance);
  }

  readHistoryWithExecutionId(instance: string, executionId: number) {
    return readWithExecution(this.ctx, instance, executionId, 'read_history_with_execution_id');
  }

  async readHistory(instance: string) {
    const executionId = await latestExecutionId(this.ctx, instance);
    return readWithExecution(this.ctx, instance, executionId, 'read_history');
  }

  latestExecutionId(instance: string) {
    return latestExecutionId(this.ctx, instance);
  }

  getInstanceInfo(instance: string) {
    return getInstanceInfo(this.ctx, instance);
  }

  getExecutionInfo(instance: string, executionId: number) {
    return getExecutionInfo(this.ctx, instance, executionId);
  }

  getSystemMetrics() {
    return getSystemMetrics(this.ctx);
  }

  getQueueDepths() {
    return getQueueDepths(this.ctx);
  }

  getQueueBacklogs() {
    return getQueueBacklogs(this.ctx);
  }

  listChildren(instance: string) {
    return listChildren(this.ctx, instance);
  }

  getParentId(instance: string) {
    return getParentId(this.ctx, instance);
  }

  getInstanceTree(instance: string) {
    return getInstanceTree(this.ctx, instance);
  }

  deleteInstancesAtomic(ids: readonly string[], force: boolean) {
    return deleteInstancesAtomic(this.ctx, ids, force);
  }

  deleteInstance(instance: string, force: boolean) {
    return deleteInstance(this.ctx, instance, force);
  }

  deleteInstanceBulk(filter: InstanceFilter) {
    return deleteInstanceBulk(this.ctx, filter);
  }

  pruneExecutions(instance: string, options: PruneOptions) {
    return pruneExecutions(this.ctx, instance, options);
  }

  pruneExecutionsBulk(filter: InstanceFilter, options: PruneOptions) {
    return pruneExecutionsBulk(this.ctx, filter, options);
  }

  listInstancesPage(query: InstancePageQuery) {
    return listInstancesPage(this.ctx, query);
  }

  countByStatus() {
    return countByStatus(this.ctx);
  }

  workers() {
    return listWorkers(this.ctx);
  }

  recordWorker(heartbeat: WorkerHeartbeat) {
    return recordWorker(this.ctx, heartbeat);
  }

  resetInstance(instance: string, toEventId: number) {
    return resetInstance(this.ctx, instance, toEventId);
  }

  cleanupSchema() {
    return inTransaction(this.ctx, 'cleanup_schema', (tx) => cleanupSchema(tx, this.ctx.schema));
  }
}
