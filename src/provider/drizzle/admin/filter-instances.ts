import { sql } from 'drizzle-orm';
import type { InstanceFilter } from '../../admin.js';
import { ProviderError } from '../../provider-error.js';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { moment } from '../operations/moment.js';
import { textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

const DEFAULT_LIMIT = 1_000;
/** Roots per look; they are few enough to be read and many enough to be worth it. */
const PAGE_SIZE = 500;

export interface CheckedFilter {
  readonly instanceIds: readonly string[] | undefined;
  readonly completedBeforeMs: Ms | undefined;
  readonly limit: number;
}

/** Refuses what could be taken for "everything": a limit or a moment that is no number (C-36). */
export function checkedFilter(operation: string, filter: InstanceFilter): CheckedFilter {
  // JavaScript callers say "absent" with null, too.
  const instanceIds = filter.instanceIds ?? undefined;
  const completedBeforeMs = filter.completedBeforeMs ?? undefined;
  const limit = filter.limit ?? DEFAULT_LIMIT;
  requireMoment(operation, completedBeforeMs);
  if (!Number.isInteger(limit) || limit < 0) {
    throw ProviderError.permanent(operation, 'limit must be a whole number of 0 or more');
  }
  return { instanceIds, completedBeforeMs, limit };
}

export function requireMoment(operation: string, completedBeforeMs: Ms | undefined): void {
  if (completedBeforeMs === undefined || Number.isFinite(completedBeforeMs)) return;
  throw ProviderError.permanent(operation, 'completedBefore must be a moment in Unix milliseconds');
}

export interface FinishedRoot {
  readonly instance: string;
  /** As the server wrote it: a cursor must not lose the microseconds of a foreign writer. */
  readonly completedAt: string;
}

const value = (name: string) => sql.placeholder(name);

/**
 * A page of root instances that have ended, by completion time and id, after `after`.
 * `ContinuedAsNew` has not ended; its next execution waits in the queue (P:T-14).
 */
export function finishedRoots(
  ctx: ProviderContext,
  operation: string,
  { instanceIds, completedBeforeMs }: CheckedFilter,
  after: FinishedRoot | undefined,
): Promise<FinishedRoot[]> {
  const { instances, executions } = ctx.tables;
  const conditions = [
    ...(instanceIds ? [sql`and i.instance_id = any(${value('instanceIds')}::text[])`] : []),
    ...(completedBeforeMs === undefined ? [] : [sql`and e.completed_at < ${value('completedBefore')}::timestamptz`]),
    ...(after === undefined
      ? []
      : [
          sql`and (e.completed_at > ${value('afterTime')}::timestamptz
            or (e.completed_at = ${value('afterTime')}::timestamptz and i.instance_id > ${value('afterId')}))`,
        ]),
  ];
  const key = `admin: finished roots ${[instanceIds, completedBeforeMs, after].map((given) => given !== undefined).join()}`;
  const statement = ctx.statement(
    key,
    () => sql`select i.instance_id, e.completed_at from ${instances} i
      join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.parent_instance_id is null and e.status in ('Completed', 'Failed') and e.completed_at is not null
        ${sql.join(conditions, sql` `)}
      order by e.completed_at, i.instance_id limit ${sql.raw(String(PAGE_SIZE))}`,
    ([instance, completedAt]): FinishedRoot => ({
      instance: textCell(instance),
      completedAt: textCell(completedAt),
    }),
  );
  return readStatement(ctx, operation, statement, {
    ...(instanceIds ? { instanceIds } : {}),
    ...(completedBeforeMs === undefined ? {} : { completedBefore: moment(completedBeforeMs) }),
    ...(after === undefined ? {} : { afterTime: after.completedAt, afterId: after.instance }),
  });
}

/** Ids for bulk pruning: instances of any status and depth, by the completion of their current execution. */
export function instancesToPrune(
  ctx: ProviderContext,
  operation: string,
  { instanceIds, completedBeforeMs, limit }: CheckedFilter,
): Promise<string[]> {
  const { instances, executions } = ctx.tables;
  const conditions = [
    ...(instanceIds ? [sql`and i.instance_id = any(${value('instanceIds')}::text[])`] : []),
    ...(completedBeforeMs === undefined ? [] : [sql`and e.completed_at < ${value('completedBefore')}::timestamptz`]),
  ];
  const statement = ctx.statement(
    `admin: instances to prune ${[instanceIds, completedBeforeMs].map((given) => given !== undefined).join()}`,
    () => sql`select i.instance_id from ${instances} i
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.current_execution_id > 0 ${sql.join(conditions, sql` `)}
      order by e.completed_at, i.instance_id limit ${value('limit')}::bigint`,
    ([instance]) => textCell(instance),
  );
  return readStatement(ctx, operation, statement, {
    limit,
    ...(instanceIds ? { instanceIds } : {}),
    ...(completedBeforeMs === undefined ? {} : { completedBefore: moment(completedBeforeMs) }),
  });
}
