import { sql } from 'drizzle-orm';
import type { DeleteResult } from '../../admin.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { integerCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { withoutMissingQueues } from './missing-queues.js';
import { holdsSlotInstance, isWaitingInstance, value } from './queue-rows.js';

/**
 * What start queues know of instances that are being deleted: starts that wait go with them,
 * and those that were admitted give up their slots.
 * @returns how many waited
 */
export async function forgetStarts(ctx: ProviderContext, tx: Transaction, instances: readonly string[]): Promise<number> {
  if (!ctx.startQueues.present) return 0;
  const { queuedStarts } = ctx.ownTables;
  const statement = ctx.statement(
    'queued starts: forget',
    () => sql`with ended as (
        update ${queuedStarts} q set ended_ms = ${value('now')}::bigint
        where q.instance_id = any(${value('instances')}::text[]) and ${holdsSlotInstance('q')}
      ), waiting as (
        delete from ${queuedStarts} q where q.instance_id = any(${value('instances')}::text[]) and ${isWaitingInstance('q')}
        returning q.id
      )
      select count(*) from waiting`,
    ([count]) => integerCell(count),
  );
  const [waited = 0] = await tx.run(statement, { instances, now: ctx.clock.nowMs() });
  return waited;
}

/** Takes the start of an instance out of its queue, where nothing else is there of it. @returns whether it waited */
export async function forgetWaiting(ctx: ProviderContext, operation: string, instance: string): Promise<boolean> {
  const forget = () => inTransaction(ctx, operation, (tx) => forgetStarts(ctx, tx, [instance]));
  return (await withoutMissingQueues(ctx, forget)) > 0;
}

/** What is told of a deletion that took only a start which waited. */
export const waitingDeleted: DeleteResult = {
  instancesDeleted: 0,
  executionsDeleted: 0,
  eventsDeleted: 0,
  queueMessagesDeleted: 1,
};
