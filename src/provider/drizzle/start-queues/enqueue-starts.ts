import { type SQL, sql } from 'drizzle-orm';
import { utf8Length } from '../../../base/text.js';
import { encodeWorkItem } from '../../../wire/work-item.js';
import type { Ms, Result } from '../../provider.js';
import type { QueuedStart, QueueStartOutcome } from '../../start-queues.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues, Transaction } from '../executor.js';
import { seesWhatOthersCommitted } from '../operations/enqueue-start-if-absent.js';
import { isRunning, isStarted } from '../operations/is-running.js';
import { refuseOrchestratorItem } from '../operations/refusal.js';
import { done, failed, settleAccepted } from '../operations/settle-batch.js';
import { booleanCell, noRow, type Statement, textCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { holdsSlotInstance, value } from './queue-rows.js';

export const QUEUE_START = 'queue_start';

/** A start as it will be stored. */
export interface StartRow {
  readonly start: QueuedStart;
  readonly text: string;
}

/** Stores starts that wait for their admission, in order: four statements for all of a batch. */
export async function enqueueStarts(
  ctx: ProviderContext,
  starts: readonly QueuedStart[],
): Promise<Result<QueueStartOutcome>[]> {
  const results = await settleAccepted<QueuedStart, StartRow, QueueStartOutcome>({
    elements: starts,
    accept: (start) => {
      const refusal = refuseOrchestratorItem(QUEUE_START, start.item);
      return refusal ? failed(refusal) : { accepted: startRow(start) };
    },
    sizeOf: ({ text }) => utf8Length(text),
    run: async (rows) => {
      const outcomes = await inTransaction(ctx, QUEUE_START, (tx, nowMs) =>
        storeStarts(ctx, tx, rows, nowMs, { isLast: true }),
      );
      return outcomes.map((outcome) => done(outcome));
    },
  });
  if (results.some((result) => result.ok && result.value === 'queued')) ctx.wake('startQueues');
  return results;
}

/** Stores starts as a part of a transaction; `isLast`: as the end of it. */
export async function storeStarts(
  ctx: ProviderContext,
  tx: Transaction,
  rows: readonly StartRow[],
  nowMs: Ms,
  { isLast = false } = {},
): Promise<QueueStartOutcome[]> {
  const values = startRowValues(ctx, rows, nowMs);
  const [, , answers] = await Promise.all([
    tx.run(lockStarts(ctx), values),
    tx.run(freeEndedOf(ctx), values),
    isLast ? tx.runLast(insertStarts(ctx), values) : tx.run(insertStarts(ctx), values),
  ]);
  return outcomesOf(rows, answers);
}

export function startRow(start: QueuedStart): StartRow {
  return { start, text: encodeWorkItem(start.item) };
}

/**
 * Excludes whoever starts one of these ids, here or by `enqueueStartIfAbsent`. In one order, so
 * that batches wait and never deadlock. Each row says whether later statements see what was committed before.
 */
export function lockStarts(ctx: ProviderContext, where?: SQL): Statement<boolean> {
  return ctx.statement(
    `queued starts: lock${where ? ' in scope' : ''}`,
    () => sql`select pg_advisory_xact_lock(hashtext('ddz.start'), k.hash), ${seesWhatOthersCommitted}
      from (
        select distinct hashtext(u.start) as hash from unnest(${value('startLocks')}::text[]) u(start)
        ${where ? sql`where ${where}` : sql``} order by 1
      ) k`,
    ([, seesAll]) => booleanCell(seesAll),
  );
}

/** Those of the ids that were admitted and have ended, or were deleted since, make room for a new start. */
export function freeEndedOf(ctx: ProviderContext, where?: SQL): Statement<undefined> {
  return ctx.statement(
    `queued starts: free${where ? ' in scope' : ''}`,
    () => sql`update ${ctx.ownTables.queuedStarts} q set ended_ms = ${value('now')}::bigint
      where q.instance_id = any(${value('instances')}::text[]) and ${holdsSlotInstance('q')}
        and not ${isRunning(ctx, sql.raw('q.instance_id'))} ${where ? sql`and ${where}` : sql``}`,
    noRow,
  );
}

/** One row for each of the queues that exist, and one for each start that was stored. */
type InsertAnswer = { readonly kind: string; readonly name: string };

/**
 * The share lock on the queue keeps it from being removed until the end of the transaction;
 * admissions go on beside it.
 */
export function insertStarts(ctx: ProviderContext, where?: SQL): Statement<InsertAnswer> {
  const { startQueues, queuedStarts } = ctx.ownTables;
  return ctx.statement(
    `queued starts: insert${where ? ' in scope' : ''}`,
    () => sql`with queues as (
        select queue_id from ${startQueues} where queue_id = any(${value('queues')}::text[]) for key share
      ), added as (
        insert into ${queuedStarts} (instance_id, queue_id, start_key, priority, work_item, enqueued_ms)
        select u.instance_id, u.queue_id, u.start_key, u.priority, u.work_item, ${value('now')}::bigint
        from unnest(${value('instances')}::text[], ${value('queues')}::text[], ${value('keys')}::text[],
            ${value('priorities')}::int[], ${value('items')}::text[])
          with ordinality u(instance_id, queue_id, start_key, priority, work_item, n)
        where exists (select from queues k where k.queue_id = u.queue_id)
          and not ${isStarted(ctx, sql.raw('u.instance_id'))} ${where ? sql`and ${where}` : sql``}
        order by u.n
        on conflict (instance_id) where ended_ms is null do nothing
        returning instance_id
      )
      select 'queue', queue_id from queues union all select 'start', instance_id from added`,
    ([kind, name]) => ({ kind: textCell(kind), name: textCell(name) }),
  );
}

export function startRowValues(ctx: ProviderContext, rows: readonly StartRow[], nowMs: number): SqlValues {
  return {
    now: nowMs,
    instances: rows.map(({ start }) => start.item.instance),
    queues: rows.map(({ start }) => start.queue),
    keys: rows.map(({ start }) => start.key ?? ''),
    priorities: rows.map(({ start }) => start.priority),
    items: rows.map(({ text }) => text),
    // Advisory keys know no schemas.
    startLocks: rows.map(({ start }) => `${ctx.schema}/${start.item.instance}`),
  };
}

/** Of several starts of one id in a batch the first was stored. */
export function outcomesOf(rows: readonly StartRow[], answers: readonly InsertAnswer[]): QueueStartOutcome[] {
  const names = (kind: string) => new Set(answers.filter((row) => row.kind === kind).map(({ name }) => name));
  const queues = names('queue');
  const added = names('start');
  return rows.map(({ start }) => {
    if (!queues.has(start.queue)) return 'unknownQueue';
    return added.delete(start.item.instance) ? 'queued' : 'exists';
  });
}
