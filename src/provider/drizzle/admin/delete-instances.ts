import type { DeleteResult, InstanceFilter } from '../../admin.js';
import { ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { forgetWaiting, waitingDeleted } from '../start-queues/forget-starts.js';
import { withoutMissingQueues } from '../start-queues/missing-queues.js';
import { inTransaction } from '../transaction.js';
import { deleteListed, type DeletionOutcome } from './delete-listed.js';
import { getParentId } from './describe-instances.js';
import { checkedFilter, type FinishedRoot, finishedRoots } from './filter-instances.js';
import { instancesOfTrees } from './list-instances.js';

/** A child may start between the look at the tree and the deletion; then the tree is read again. */
const MAX_TREE_READS = 5;
/** Roots that are deleted in one transaction: few enough for locks that nobody notices. */
const GROUP = 50;

const nothing: DeleteResult = {
  instancesDeleted: 0,
  executionsDeleted: 0,
  eventsDeleted: 0,
  queueMessagesDeleted: 0,
};

/** Deletes exactly these instances, or none. @throws ProviderError when one is running (unless forced) or a child is left out */
export async function deleteInstancesAtomic(
  ctx: ProviderContext,
  ids: readonly string[],
  force: boolean,
): Promise<DeleteResult> {
  if (ids.length === 0) return nothing;
  const operation = 'delete_instances_atomic';
  return countsOf(operation, await deleteTogether(ctx, operation, ids, force));
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
  return countsOf(operation, await deleteTrees(ctx, operation, [instance], force));
}

/**
 * Deletes finished root instances with their descendants, oldest completion first, some
 * roots in a transaction. A root is skipped while anything of its tree runs: the cascade
 * is not forced (P:T-14). `limit` counts the roots that were deleted.
 */
export async function deleteInstanceBulk(ctx: ProviderContext, filter: InstanceFilter): Promise<DeleteResult> {
  const operation = 'delete_instance_bulk';
  const checked = checkedFilter(operation, filter);
  const progress: BulkProgress = { total: nothing, roots: 0 };
  let after: FinishedRoot | undefined;
  // By pages, because roots that are skipped must not keep later ones from being reached (C-06).
  while (progress.roots < checked.limit) {
    const page: readonly FinishedRoot[] = await finishedRoots(ctx, operation, checked, after);
    for (let done = 0; done < page.length && progress.roots < checked.limit; ) {
      const group = page.slice(done, done + Math.min(GROUP, checked.limit - progress.roots));
      await deleteGroup(ctx, operation, group.map(({ instance }) => instance), progress);
      done += group.length;
    }
    if (page.length === 0) break;
    after = page.at(-1);
  }
  return progress.total;
}

interface BulkProgress {
  total: DeleteResult;
  /** Deleted so far. */
  roots: number;
}

/** All the trees together; one by one when one of them may not go. */
async function deleteGroup(
  ctx: ProviderContext,
  operation: string,
  roots: readonly string[],
  progress: BulkProgress,
): Promise<void> {
  const outcome = await deleteTrees(ctx, operation, roots, false);
  if (outcome.kind === 'deleted') {
    progress.total = sum(progress.total, outcome.counts);
    // Roots that somebody else deleted meanwhile do not count; which, only a group of one can tell.
    progress.roots += Math.min(roots.length, outcome.counts.instancesDeleted);
  } else if (roots.length > 1) {
    for (const root of roots) await deleteGroup(ctx, operation, [root], progress);
  }
}

async function deleteTrees(
  ctx: ProviderContext,
  operation: string,
  roots: readonly string[],
  force: boolean,
): Promise<DeletionOutcome> {
  for (let reads = 1; ; reads++) {
    const ids = await instancesOfTrees(ctx, roots);
    const outcome = await deleteTogether(ctx, operation, ids, force);
    if (outcome.kind !== 'orphan' || reads === MAX_TREE_READS) return outcome;
  }
}

async function deleteTogether(
  ctx: ProviderContext,
  operation: string,
  instances: readonly string[],
  force: boolean,
): Promise<DeletionOutcome> {
  try {
    return await withoutMissingQueues(ctx, () =>
      inTransaction(ctx, operation, async (tx, nowMs) => {
        const outcome = await deleteListed(ctx, tx, { instances, force, nowMs });
        if (outcome.kind !== 'deleted') throw new NotDeleted(outcome);
        return outcome;
      }),
    );
  } catch (error) {
    if (ProviderError.is(error) && error.cause instanceof NotDeleted) return error.cause.outcome;
    throw error;
  }
}

/** Rolls the transaction back: nothing is deleted. */
class NotDeleted extends Error {
  constructor(readonly outcome: DeletionOutcome) {
    super(`not deleted: ${outcome.kind}`);
  }
}

function countsOf(operation: string, outcome: DeletionOutcome): DeleteResult {
  switch (outcome.kind) {
    case 'deleted':
      return outcome.counts;
    case 'running':
      throw ProviderError.permanent(
        operation,
        `Instance ${outcome.instance} is Running. Use force=true to delete.`,
      );
    case 'orphan':
      throw ProviderError.permanent(
        operation,
        `Orphan detected: instance ${outcome.instance} has parent in delete list but is not included`,
      );
  }
}

function sum(a: DeleteResult, b: DeleteResult): DeleteResult {
  return {
    instancesDeleted: a.instancesDeleted + b.instancesDeleted,
    executionsDeleted: a.executionsDeleted + b.executionsDeleted,
    eventsDeleted: a.eventsDeleted + b.eventsDeleted,
    queueMessagesDeleted: a.queueMessagesDeleted + b.queueMessagesDeleted,
  };
}
