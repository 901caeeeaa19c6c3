import type { InstanceFilter, PruneOptions, PruneResult } from '../admin.js';
import { ProviderError } from '../provider-error.js';
import { checkedFilter, instancesToPrune } from '../drizzle/admin/filter-instances.js';
import { checkPruneOptions } from '../drizzle/admin/prune-executions.js';
import type { ProviderContext } from '../drizzle/context.js';
import { integerCell } from '../drizzle/statement.js';
import { callFunction } from './call.js';

/**
 * Deletes old executions of an instance with their history. The current one, and one
 * that runs, stay whatever is asked; key-value state is never touched.
 * @throws ProviderError when the instance is unknown
 */
export async function pruneExecutions(
  ctx: ProviderContext,
  instance: string,
  options: PruneOptions,
  operation = 'prune_executions',
): Promise<PruneResult> {
  checkPruneOptions(operation, options);
  const [counts] = await callFunction(ctx, {
    operation,
    name: 'prune_executions',
    values: {
      p_instance_id: instance,
      p_keep_last: options.keepLast ?? null,
      p_completed_before_ms: options.completedBeforeMs === undefined ? null : Math.ceil(options.completedBeforeMs),
    },
    decode: ([instances, executions, events]): PruneResult => ({
      instancesProcessed: integerCell(instances),
      executionsDeleted: integerCell(executions),
      eventsDeleted: integerCell(events),
    }),
  });
  return counts ?? { instancesProcessed: 0, executionsDeleted: 0, eventsDeleted: 0 };
}

/** Prunes many instances, running ones included: they are the main use. Each is a call of its own. */
export async function pruneExecutionsBulk(
  ctx: ProviderContext,
  filter: InstanceFilter,
  options: PruneOptions,
): Promise<PruneResult> {
  const operation = 'prune_executions_bulk';
  const checked = checkedFilter(operation, filter);
  checkPruneOptions(operation, options);
  let [instancesProcessed, executionsDeleted, eventsDeleted] = [0, 0, 0];
  for (const instance of await instancesToPrune(ctx, operation, checked)) {
    try {
      const counts = await pruneExecutions(ctx, instance, options, operation);
      instancesProcessed += counts.instancesProcessed;
      executionsDeleted += counts.executionsDeleted;
      eventsDeleted += counts.eventsDeleted;
    } catch (error) {
      // Deleted since it was selected.
      if (!(ProviderError.is(error) && error.reason === `Instance ${instance} not found`)) throw error;
    }
  }
  return { instancesProcessed, executionsDeleted, eventsDeleted };
}
