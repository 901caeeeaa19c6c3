import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../drizzle/context.js';
import { moment } from '../drizzle/operations/moment.js';
import { isWithinRange, rangeValues, type VersionRange } from '../drizzle/operations/version-range.js';
import { integerCell } from '../drizzle/statement.js';
import { readStatement } from '../drizzle/transaction.js';

/**
 * Instances that are ready although the function answered with none: somebody else is
 * about to take them, or stands in the way. Its signature cannot tell "lost" from
 * "empty" (P:T-18), so the caller of it asks afterwards.
 */
export async function countLostInstances(
  ctx: ProviderContext,
  operation: string,
  range: VersionRange | 'any',
): Promise<number> {
  const { orchestratorQueue, instanceLocks, instances, executions } = ctx.tables;
  const now = sql`${sql.placeholder('now')}::bigint`;
  const statement = ctx.statement(
    `lost instances${range === 'any' ? '' : ' of a version'}`,
    () => sql`select count(distinct q.instance_id) from ${orchestratorQueue} q
      left join ${instanceLocks} l on l.instance_id = q.instance_id
      left join ${instances} i on i.instance_id = q.instance_id
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where q.visible_at <= ${sql.placeholder('visibleAt')}::timestamptz and (q.lock_token is null or q.locked_until <= ${now})
        and (l.instance_id is null or l.locked_until <= ${now}) ${range === 'any' ? sql`` : sql`and ${isWithinRange()}`}`,
    ([count]) => integerCell(count),
  );
  const [count = 0] = await readStatement(ctx, operation, statement, (nowMs) => ({
    now: nowMs,
    visibleAt: moment(nowMs),
    ...(range === 'any' ? {} : rangeValues(range)),
  }));
  return count;
}
