import { type SQL, sql } from 'drizzle-orm';
import type { WorkItemOf } from '../../../wire/work-item.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { booleanCell, type Statement, textCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { withoutMissingQueues } from '../start-queues/missing-queues.js';
import { isWaitingInstance } from '../start-queues/queue-rows.js';
import { insertIntoOrchestratorQueue, type OrchestratorRow, orchestratorRow, orchestratorRows } from './queue-rows.js';
import { refuseOrchestratorItem } from './refusal.js';

export const START_IF_ABSENT = 'enqueue_start_if_absent';

/**
 * Enqueues a start unless its instance exists or a start of it waits: a lock that all such
 * starts of the id take, and in a later statement, which sees what the last holder
 * committed, the look and the insertion in one.
 * @returns whether it was enqueued
 * @throws ProviderError
 */
export async function enqueueStartIfAbsent(
  ctx: ProviderContext,
  item: WorkItemOf<'StartOrchestration'>,
): Promise<boolean> {
  const refusal = refuseOrchestratorItem(START_IF_ABSENT, item);
  if (refusal) throw refusal;
  const row = orchestratorRow(item);
  const added = await withoutMissingQueues(ctx, () =>
    inTransaction(ctx, START_IF_ABSENT, async (tx, nowMs) => {
      const values = startValues(ctx, row, nowMs);
      const [, rows] = await Promise.all([
        tx.run(lockOfStart(ctx), values),
        tx.runLast(insertUnlessStarted(ctx), values),
      ]);
      return rows.length > 0;
    }),
  );
  if (added) ctx.wake('orchestrator');
  return added;
}

const value = (name: string) => sql.placeholder(name);

/**
 * Waits for the transactions that start the same id, and keeps later ones waiting until the
 * end of this one. Keys of two numbers are apart from native's, which have one: nobody who
 * fetches the instance waits, or finds it taken. One row, unless `where` keeps it out: whether
 * the statements after it see what was committed before.
 */
export function lockOfStart(ctx: ProviderContext, where?: SQL): Statement<boolean> {
  return ctx.statement(
    `start if absent: lock${where ? ' in scope' : ''}`,
    () => sql`select pg_advisory_xact_lock(hashtext('ddz.start'), hashtext(${value('startKey')}::text))
      ${where ? sql`, ${seesWhatOthersCommitted} where ${where}` : sql``}`,
    ([, seesAll]) => seesAll === undefined || booleanCell(seesAll),
  );
}

/** Not where one snapshot serves the whole transaction. With a second argument, as pg-mem knows the function. */
export const seesWhatOthersCommitted = sql`(current_setting('transaction_isolation', true) like 'read %committed')`;

/** {@link isAbsent}, as a question. */
export function lookForAbsence(ctx: ProviderContext): Statement<boolean> {
  return ctx.statement(
    `start if absent: look${ctx.startQueues.present ? ' beside start queues' : ''}`,
    () => sql`select ${isAbsent(ctx)}`,
    ([is]) => booleanCell(is),
  );
}

/**
 * That there is neither an instance of the id nor a start that waits, be it in a start
 * queue. By the index on the instance; rows of other kinds are read only where no
 * instance is there yet.
 */
function isAbsent(ctx: ProviderContext): SQL {
  const { instances, orchestratorQueue } = ctx.tables;
  const instance = sql`${value('instance')}::text`;
  return sql`not exists (select 1 from ${instances} where instance_id = ${instance})
    and not exists (select 1 from ${orchestratorQueue} where instance_id = ${instance}
      and work_item like '{"StartOrchestration"%')
    ${
      ctx.startQueues.present
        ? sql`and not exists (select 1 from ${ctx.ownTables.queuedStarts} q
            where q.instance_id = ${instance} and ${isWaitingInstance('q')})`
        : sql``
    }`;
}

/** The start, if {@link isAbsent}. */
export function insertUnlessStarted(ctx: ProviderContext, where?: SQL): Statement<string> {
  return ctx.statement(
    `start if absent: insert${ctx.startQueues.present ? ' beside start queues' : ''}${where ? ' in scope' : ''}`,
    () => sql`with added as (
        ${insertIntoOrchestratorQueue(ctx, sql`where ${isAbsent(ctx)} ${where ? sql`and ${where}` : sql``}`)} returning id
      ) select id::text from added`,
    ([id]) => textCell(id),
  );
}

/** The values of {@link lockOfStart} and {@link insertUnlessStarted}. */
export function startValues(ctx: ProviderContext, row: OrchestratorRow, nowMs: number): SqlValues {
  return {
    ...orchestratorRows([row], nowMs),
    instance: row.instance,
    // Advisory keys know no schemas.
    startKey: `${ctx.schema}/${row.instance}`,
  };
}
