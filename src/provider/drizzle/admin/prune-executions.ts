import { sql } from 'drizzle-orm';
import type { InstanceFilter, PruneOptions, PruneResult } from '../../admin.js';
import { ProviderError } from '../../provider-error.js';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { integerCell, momentCell, optionalMomentCell, textCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { checkedFilter, instancesToPrune, requireMoment } from './filter-instances.js';

const value = (name: string) => sql.placeholder(name);

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
  const outcome = await pruneOne(ctx, operation, instance, options);
  if (outcome === 'unknown') throw ProviderError.permanent(operation, `Instance ${instance} not found`);
  return outcome;
}

/** Prunes many instances, running ones included: they are the main use. Each is a transaction of its own. */
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
    const outcome = await pruneOne(ctx, operation, instance, options);
    // Deleted since it was selected.
    if (outcome === 'unknown') continue;
    instancesProcessed += outcome.instancesProcessed;
    executionsDeleted += outcome.executionsDeleted;
    eventsDeleted += outcome.eventsDeleted;
  }
  return { instancesProcessed, executionsDeleted, eventsDeleted };
}

/** @internal Refuses what could be taken for "everything". @throws ProviderError */
export function checkPruneOptions(operation: string, { keepLast, completedBeforeMs }: PruneOptions): void {
  requireMoment(operation, completedBeforeMs ?? undefined);
  // JavaScript callers say "absent" with null, too.
  if ((keepLast ?? undefined) === undefined || (Number.isInteger(keepLast) && Number(keepLast) >= 0)) return;
  throw ProviderError.permanent(operation, 'keepLast must be a whole number of 0 or more');
}

/** @internal What decides whether an execution goes. */
export interface StoredExecution {
  readonly executionId: number;
  readonly isCurrent: boolean;
  readonly status: string;
  readonly startedAtMs: Ms;
  readonly completedAtMs: Ms | null;
}

function pruneOne(
  ctx: ProviderContext,
  operation: string,
  instance: string,
  options: PruneOptions,
): Promise<PruneResult | 'unknown'> {
  return inTransaction(ctx, operation, async (tx) => {
    // Locked, so that no turn makes another execution current meanwhile.
    const [[current], executions] = await Promise.all([
      tx.run(lockInstance(ctx), { instance }),
      tx.run(listStored(ctx), { instance }),
    ]);
    if (current === undefined) return 'unknown';
    const ids = prunable(
      executions.map((execution) => ({ ...execution, isCurrent: execution.executionId === current })),
      options,
    );
    if (ids.length === 0) return { instancesProcessed: 1, executionsDeleted: 0, eventsDeleted: 0 };
    const counts = new Map(await tx.runLast(deleteExecutions(ctx), { instance, ids }));
    return {
      instancesProcessed: 1,
      executionsDeleted: counts.get('executions') ?? 0,
      eventsDeleted: counts.get('events') ?? 0,
    };
  });
}

/** Which executions may go; `executions` in order. */
export function prunable(
  executions: readonly StoredExecution[],
  options: PruneOptions,
): number[] {
  const keepLast = options.keepLast ?? 0;
  const completedBeforeMs = options.completedBeforeMs ?? Infinity;
  return executions
    .filter(
      (execution, index) =>
        !execution.isCurrent &&
        execution.status !== 'Running' &&
        index < executions.length - keepLast &&
        (completedBeforeMs === Infinity || endOf(execution, executions[index + 1]) < completedBeforeMs),
    )
    .map(({ executionId }) => executionId);
}

/** An execution that continued as new has no completion time; it ended when the next one began (P:T-12). */
function endOf({ status, completedAtMs }: StoredExecution, next: StoredExecution | undefined): Ms {
  if (completedAtMs !== null) return completedAtMs;
  return status === 'ContinuedAsNew' && next ? next.startedAtMs : Infinity;
}

function lockInstance(ctx: ProviderContext) {
  return ctx.statement(
    'prune: lock instance',
    () => sql`select current_execution_id from ${ctx.tables.instances}
      where instance_id = ${value('instance')} for update`,
    ([execution]) => integerCell(execution),
  );
}

function listStored(ctx: ProviderContext) {
  return ctx.statement(
    'prune: executions',
    () => sql`select execution_id, status, started_at, completed_at from ${ctx.tables.executions}
      where instance_id = ${value('instance')} order by execution_id`,
    ([executionId, status, startedAt, completedAt]) => ({
      executionId: integerCell(executionId),
      status: textCell(status),
      startedAtMs: momentCell(startedAt),
      completedAtMs: optionalMomentCell(completedAt),
    }),
  );
}

function deleteExecutions(ctx: ProviderContext) {
  const { history, executions } = ctx.tables;
  const chosen = sql`instance_id = ${value('instance')} and execution_id = any(${value('ids')}::bigint[])`;
  return ctx.statement(
    'prune: delete',
    () => sql`with events as (delete from ${history} where ${chosen} returning event_id),
      executions_ as (delete from ${executions} where ${chosen} returning execution_id)
      select 'events', count(*) from events
      union all select 'executions', count(*) from executions_`,
    ([name, count]) => [textCell(name), integerCell(count)] as const,
  );
}
