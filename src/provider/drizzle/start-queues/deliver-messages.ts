import { type SQL, sql } from 'drizzle-orm';
import type { WorkItem } from '../../../wire/work-item.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { isStarted } from '../operations/is-running.js';
import { insertIntoOrchestratorQueue, type OrchestratorRow, orchestratorRows } from '../operations/queue-rows.js';
import { integerCell, type Statement, textCell } from '../statement.js';
import { isWaitingInstance, value } from './queue-rows.js';

/** A message, and whether it is one that a start which waits in a start queue has to do with. */
export interface Message {
  readonly row: OrchestratorRow;
  readonly kind: 'signal' | 'cancel' | 'other';
}

/** What a message is to a start that waits. */
export function messageKind(item: WorkItem): Message['kind'] {
  switch (item.kind) {
    case 'ExternalRaised':
    case 'QueueMessage':
      return 'signal';
    case 'CancelInstance':
      return 'cancel';
    default:
      return 'other';
  }
}

/** Whether messages have to be looked at one by one; in a schema without start queues none has. */
export function concernsWaiting(ctx: ProviderContext, messages: readonly Pick<Message, 'kind'>[]): boolean {
  return ctx.startQueues.present && messages.some(({ kind }) => kind !== 'other');
}

/** Inserts messages if none of them has to do with a start that waits. Answers how many; 0: deliver them. */
export function insertUnlessWaiting(ctx: ProviderContext): Statement<number> {
  const waiting = sql`select 1 from ${ctx.ownTables.queuedStarts} q
    where q.instance_id = any(${value('concerned')}::text[]) and ${isWaitingInstance('q')}`;
  return ctx.statement(
    'insert messages unless waiting',
    () => sql`with sent as (
        ${insertIntoOrchestratorQueue(ctx, sql`where not exists (${waiting})`)} returning id
      )
      select count(*) from sent`,
    ([count]) => integerCell(count),
  );
}

export function unlessWaitingValues(messages: readonly Message[], nowMs: number): SqlValues {
  return {
    ...orchestratorRows(
      messages.map(({ row }) => row),
      nowMs,
    ),
    concerned: [...new Set(messages.flatMap(({ row, kind }) => (kind === 'other' ? [] : [row.instance])))],
  };
}

/**
 * Inserts messages as `insertIntoOrchestratorQueue`, but for those whose instance waits in a
 * start queue: nobody would take them in the orchestrator queue, and they would be dropped
 * as those of an unknown instance are. Events and mailbox messages stay with the start, and
 * go out with it. A cancellation takes the start out of its queue, past the limits, so that
 * it ends as cancelled in its first turn. One row for each message or start that was stored.
 */
export function deliverMessages(ctx: ProviderContext, where?: SQL): Statement<string> {
  const { queuedStarts } = ctx.ownTables;
  const { orchestratorQueue } = ctx.tables;
  const guard = where ? sql`and ${where}` : sql``;
  return ctx.statement(
    `deliver messages${where ? ' in scope' : ''}`,
    () => sql`with kept as (
        update ${queuedStarts} q set messages = q.messages || m.messages
        from (
          select s.instance_id, array_agg(s.message order by s.n) as messages
          from unnest(${value('signalled')}::text[], ${value('signals')}::text[])
            with ordinality s(instance_id, message, n)
          where not s.instance_id = any(${value('cancelled')}::text[]) group by s.instance_id
        ) m
        where q.instance_id = m.instance_id and ${isWaitingInstance('q')} ${guard}
          and not ${isStarted(ctx, sql.raw('q.instance_id'))}
        returning q.instance_id
      ), freed as (
        delete from ${queuedStarts} q
        where q.instance_id = any(${value('cancelled')}::text[]) and ${isWaitingInstance('q')} ${guard}
        returning q.instance_id, q.priority, q.id, q.work_item, q.messages
      ), started as (
        insert into ${orchestratorQueue} (instance_id, work_item, visible_at, created_at)
        select f.instance_id, u.message, ${value('nowAt')}::timestamptz, ${value('nowAt')}::timestamptz
        from freed f cross join lateral unnest(f.work_item || f.messages) with ordinality u(message, n)
        order by f.priority desc, f.id, u.n
        returning id
      ), sent as (
        insert into ${orchestratorQueue} (instance_id, work_item, visible_at, created_at)
        select u.instance_id, u.work_item, u.visible_at, ${value('nowAt')}::timestamptz
        from unnest(${value('orchestratorInstances')}::text[], ${value('orchestratorItems')}::text[],
            ${value('orchestratorVisibleAt')}::timestamptz[], ${value('areSignals')}::boolean[])
          with ordinality u(instance_id, work_item, visible_at, is_signal, n)
        -- The count makes the starts come before their cancellations.
        where (select count(*) from started) >= 0
          and not (u.is_signal and u.instance_id in (select k.instance_id from kept k)) ${guard}
        order by u.n
        returning id
      )
      select instance_id from kept union all select id::text from sent`,
    ([stored]) => textCell(stored),
  );
}

export function deliverValues(messages: readonly Message[], nowMs: number): SqlValues {
  const signals = messages.filter(({ kind }) => kind === 'signal');
  return {
    ...orchestratorRows(
      messages.map(({ row }) => row),
      nowMs,
    ),
    signalled: signals.map(({ row }) => row.instance),
    signals: signals.map(({ row }) => row.text),
    areSignals: messages.map(({ kind }) => kind === 'signal'),
    cancelled: messages.filter(({ kind }) => kind === 'cancel').map(({ row }) => row.instance),
  };
}
