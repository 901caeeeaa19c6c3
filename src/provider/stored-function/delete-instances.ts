import type { DeleteResult, InstanceFilter } from '../admin.js';
import { ProviderError } from '../provider-error.js';
import { checkedFilter, type FinishedRoot, finishedRoots } from '../drizzle/admin/filter-instances.js';
import { forgetArchive, hasArchive } from '../drizzle/admin/forget-archive.js';
import { getInstanceTree } from '../drizzle/admin/list-instances.js';
import type { ProviderContext } from '../drizzle/context.js';
import { forgetStarts, forgetWaiting, waitingDeleted } from '../drizzle/start-queues/forget-starts.js';
import { withoutMissingQueues } from '../drizzle/start-queues/missing-queues.js';
import { integerCell } from '../drizzle/statement.js';
import { inTransaction } from '../drizzle/transaction.js';
import { callFunction, readFunction } from './call.js';

/** A child may start between the look at the tree and the deletion; then the tree is read again. */
const MAX_TREE_READS = 5;

const nothing: DeleteResult = { instancesDeleted: 0, executionsDeleted: 0, eventsDeleted: 0, queueMessagesDeleted: 0 };

/** Deletes exactly these instances, or none. @throws ProviderError when one is running (unless forced) or a child is left out */
export async function deleteInstancesAtomic(
  ctx: ProviderContext,
  ids: readonly string[],
  force: boolean,
  operation = 'delete_instances_atomic',
): Promise<DeleteResult> {
  if (ids.length === 0) return nothing;
  const [counts = nothing] = await callFunction(ctx, {
    operation,
    name: 'delete_instances_atomic',
    values: { p_instance_ids: ids, p_force: force },
    decode: ([instances, executions, events, messages]): DeleteResult => ({
      instancesDeleted: integerCell(instances),
      executionsDeleted: integerCell(executions),
      eventsDeleted: integerCell(events),
      queueMessagesDeleted: integerCell(messages),
    }),
  });
  // The functions know nothing of it. What is left behind by a crash here, the next deletion of the id takes.
  const waited = await withoutMissingQueues(ctx, () =>
    inTransaction(ctx, operation, async (tx) => {
      if (await hasArchive(ctx, tx)) await forgetArchive(ctx, tx, ids);
      return forgetStarts(ctx, tx, ids);
    }),
  );
  return { ...counts, queueMessagesDeleted: counts.queueMessagesDeleted + waited };
}

/**
 * Deletes a root instance with all its descendants, or a start that waits in a start queue.
 * @throws ProviderError when it is unknown, a sub-orchestration, or (unless forced)
 *   when one of the tree is running
 */
export async function deleteInstance(ctx: ProviderContext, instance: string, force: boolean): Promise<DeleteResult> {
  const operation = 'delete_instance';
  const parent = await getParentId(ctx, instance, operation).catch(async (error: unknown) => {
    if (await forgetWaiting(ctx, operation, instance)) return undefined;
    throw error;
  });
  if (parent === undefined) return waitingDeleted;
  if (parent !== null) {
    throw ProviderError.permanent(
      operation,
      `${instance} is a sub-orchestration of ${parent} and cannot be deleted directly: delete its root instance`,
    );
  }
  return deleteTree(ctx, operation, instance, force);
}

/** `null` for a root. @throws ProviderError when the instance is unknown */
export async function getParentId(
  ctx: ProviderContext,
  instance: string,
  operation = 'get_parent_id',
): Promise<string | null> {
  const [parent] = await readFunction(ctx, {
    operation,
    name: 'get_parent_id',
    values: { p_instance_id: instance },
    decode: ([cell]) => cell ?? null,
  });
  return parent ?? null;
}

/**
 * Deletes finished root instances with their descendants, oldest completion first, each
 * root by a call of its own. A root is skipped while anything of its tree runs: the
 * cascade is not forced (P:T-14). `limit` counts the roots that were deleted.
 */
export async function deleteInstanceBulk(ctx: ProviderContext, filter: InstanceFilter): Promise<DeleteResult> {
  const operation = 'delete_instance_bulk';
  const checked = checkedFilter(operation, filter);
  let total = nothing;
  let roots = 0;
  let after: FinishedRoot | undefined;
  // By pages, because roots that are skipped must not keep later ones from being reached (C-06).
  while (roots < checked.limit) {
    const page: readonly FinishedRoot[] = await finishedRoots(ctx, operation, checked, after);
    for (const root of page) {
      after = root;
      const counts = await deleteIfFinished(ctx, operation, root.instance);
      total = sum(total, counts);
      if (counts.instancesDeleted > 0 && ++roots === checked.limit) break;
    }
    if (page.length === 0) break;
  }
  return total;
}

async function deleteIfFinished(ctx: ProviderContext, operation: string, root: string): Promise<DeleteResult> {
  try {
    return await deleteTree(ctx, operation, root, false);
  } catch (error) {
    if (isRunning(error) || isOrphan(error)) return nothing;
    throw error;
  }
}

async function deleteTree(
  ctx: ProviderContext,
  operation: string,
  root: string,
  force: boolean,
): Promise<DeleteResult> {
  for (let reads = 1; ; reads++) {
    const { allIds } = await getInstanceTree(ctx, root);
    try {
      return await deleteInstancesAtomic(ctx, allIds, force, operation);
    } catch (error) {
      if (!isOrphan(error) || reads === MAX_TREE_READS) throw error;
    }
  }
}

/** The functions, native's and ours, tell their refusals by text only. */
function isRunning(error: unknown): boolean {
  return ProviderError.is(error) && error.sqlState === 'P0001' && error.reason.includes(' is Running.');
}

function isOrphan(error: unknown): boolean {
  return ProviderError.is(error) && error.sqlState === 'P0001' && error.reason.startsWith('Orphan detected');
}

function sum(a: DeleteResult, b: DeleteResult): DeleteResult {
  return {
    instancesDeleted: a.instancesDeleted + b.instancesDeleted,
    executionsDeleted: a.executionsDeleted + b.executionsDeleted,
    eventsDeleted: a.eventsDeleted + b.eventsDeleted,
    queueMessagesDeleted: a.queueMessagesDeleted + b.queueMessagesDeleted,
  };
}
