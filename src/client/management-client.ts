import type { DeleteResult, PruneResult, QueueDepths, SystemMetrics } from '../provider/admin.js';
import type { InstanceStats, Provider } from '../provider/provider.js';
import { booleanArgument, instanceId as checkedId, integerArgument, stringArgument } from './arguments.js';
import type { ExecutionHistoryEvent } from './history-view.js';
import { viewEvent } from './history-view.js';
import type { ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree, PruneOptions } from './management.js';
import {
  deletionError,
  filterArgument,
  pruneArgument,
  pruneError,
  viewExecutionInfo,
  viewInstanceInfo,
  viewTree,
} from './management.js';

/**
 * The part of a client that looks at many instances and clears up: lists, histories,
 * trees, metrics, deletion and pruning.
 */
export abstract class ManagementClient {
  /** @internal */
  protected constructor(protected readonly provider: Provider) {}

  /** Newest first. */
  async listAllInstances(): Promise<string[]> {
    return this.provider.asManagement().listInstances();
  }

  /** Newest first; `Running`, `Completed` or `Failed`, exactly; anything else gives nothing. */
  async listInstancesByStatus(status: string): Promise<string[]> {
    return this.provider.asManagement().listInstancesByStatus(stringArgument('status', status));
  }

  async getInstanceInfo(instanceId: string): Promise<InstanceInfo> {
    return viewInstanceInfo(await this.provider.asManagement().getInstanceInfo(checkedId(instanceId)));
  }

  async getExecutionInfo(instanceId: string, executionId: number): Promise<ExecutionInfo> {
    const execution = integerArgument('executionId', executionId);
    return viewExecutionInfo(await this.provider.asManagement().getExecutionInfo(checkedId(instanceId), execution));
  }

  async listExecutions(instanceId: string): Promise<number[]> {
    return this.provider.asManagement().listExecutions(checkedId(instanceId));
  }

  async readExecutionHistory(instanceId: string, executionId: number): Promise<ExecutionHistoryEvent[]> {
    const execution = integerArgument('executionId', executionId);
    const events = await this.provider.asManagement().readHistoryWithExecutionId(checkedId(instanceId), execution);
    return events.map(viewEvent);
  }

  /** The instance and its descendants; an unknown id yields itself. */
  async getInstanceTree(instanceId: string): Promise<InstanceTree> {
    return viewTree(await this.provider.asManagement().getInstanceTree(checkedId(instanceId)));
  }

  async getOrchestrationStats(instanceId: string): Promise<InstanceStats | null> {
    return this.provider.getInstanceStats(checkedId(instanceId));
  }

  async getSystemMetrics(): Promise<SystemMetrics> {
    return this.provider.asManagement().getSystemMetrics();
  }

  async getQueueDepths(): Promise<QueueDepths> {
    return this.provider.asManagement().getQueueDepths();
  }

  /**
   * Deletes a root instance with its whole tree; a running one only with `force`.
   * @throws InstanceNotFoundError, InstanceRunningError, SubOrchestrationDeleteError
   */
  async deleteInstance(instanceId: string, force = false): Promise<DeleteResult> {
    const instance = checkedId(instanceId);
    const forced = booleanArgument('force', force);
    try {
      return await this.provider.asManagement().deleteInstance(instance, forced);
    } catch (error) {
      throw deletionError(instance, error);
    }
  }

  /** Deletes ended roots that match; running ones, children and unknown ids are skipped. */
  async deleteInstanceBulk(filter: InstanceFilter = {}): Promise<DeleteResult> {
    return this.provider.asManagement().deleteInstanceBulk(filterArgument(filter));
  }

  /** Deletes old executions of the instance; the current one stays in any case. @throws InstanceNotFoundError */
  async pruneExecutions(instanceId: string, options: PruneOptions = {}): Promise<PruneResult> {
    const instance = checkedId(instanceId);
    const prune = pruneArgument(options);
    try {
      return await this.provider.asManagement().pruneExecutions(instance, prune);
    } catch (error) {
      throw pruneError(instance, error);
    }
  }

  async pruneExecutionsBulk(filter: InstanceFilter = {}, options: PruneOptions = {}): Promise<PruneResult> {
    return this.provider.asManagement().pruneExecutionsBulk(filterArgument(filter), pruneArgument(options));
  }
}
