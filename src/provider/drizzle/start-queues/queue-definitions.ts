import { sql } from 'drizzle-orm';
import type {
  StartLimits,
  StartQueueChange,
  StartQueueRemoval,
  StoredStartQueue,
  WaitingStarts,
} from '../../start-queues.js';
import type { ProviderContext } from '../context.js';
import { moment } from '../operations/moment.js';
import { booleanCell, integerCell, noRow, textCell } from '../statement.js';
import { inTransaction, readStatement, runStatement } from '../transaction.js';
import {
  isWaiting,
  limitColumns,
  limitNames,
  limitsOf,
  limitValues,
  selectQueues,
  storedQueueOf,
  value,
} from './queue-rows.js';

const names = sql.raw(limitColumns.map(([name]) => name).join(', '));
const limitPlaceholder = (name: string, type: string) => sql`${value(name)}::${sql.raw(type)}`;

/** @returns whether it was stored */
export async function addQueue(
  ctx: ProviderContext,
  id: string,
  limits: StartLimits,
  isPaused: boolean,
): Promise<boolean> {
  const statement = ctx.statement(
    'start queues: add',
    () => sql`insert into ${ctx.ownTables.startQueues} (queue_id, ${names}, is_paused, created_ms, updated_ms)
      values (${value('id')}, ${sql.join(
        limitColumns.map(([name, type]) => limitPlaceholder(name, type)),
        sql`, `,
      )}, ${value('isPaused')}::boolean, ${value('now')}::bigint, ${value('now')}::bigint)
      on conflict (queue_id) do nothing returning queue_id`,
    ([stored]) => textCell(stored),
  );
  const stored = await runStatement(ctx, 'create_start_queue', statement, (nowMs) => ({
    id,
    ...limitValues(limits),
    isPaused,
    now: nowMs,
  }));
  return stored.length > 0;
}

export async function findQueue(ctx: ProviderContext, id: string): Promise<StoredStartQueue | undefined> {
  const statement = ctx.statement(
    'start queues: find',
    () => selectQueues(ctx, sql`where s.queue_id = ${value('id')}`),
    storedQueueOf,
  );
  return (await readStatement(ctx, 'get_start_queue', statement, { id }))[0];
}

export function listQueues(ctx: ProviderContext): Promise<StoredStartQueue[]> {
  const statement = ctx.statement('start queues: list', () => selectQueues(ctx, sql``), storedQueueOf);
  return readStatement(ctx, 'list_start_queues', statement);
}

/** @returns whether there is one */
export function changeQueue(ctx: ProviderContext, id: string, change: StartQueueChange): Promise<boolean> {
  const { startQueues } = ctx.ownTables;
  const lock = ctx.statement(
    'start queues: lock',
    () => sql`select ${limitNames('s')}, s.is_paused from ${startQueues} s where s.queue_id = ${value('id')}
      for no key update`,
    (cells) => ({ ...limitsOf(cells), isPaused: booleanCell(cells[limitColumns.length]) }),
  );
  const update = ctx.statement(
    'start queues: change',
    () => sql`update ${startQueues} set ${sql.join(
      limitColumns.map(([name, type]) => sql`${sql.raw(name)} = ${limitPlaceholder(name, type)}`),
      sql`, `,
    )}, is_paused = ${value('isPaused')}::boolean, updated_ms = ${value('now')}::bigint where queue_id = ${value('id')}`,
    noRow,
  );
  return inTransaction(ctx, 'change_start_queue', async (tx, nowMs) => {
    const [stored] = await tx.run(lock, { id });
    if (!stored) return false;
    const { isPaused, ...limits } = { ...stored, ...change };
    await tx.runLast(update, { id, ...limitValues(limits), isPaused, now: nowMs });
    return true;
  });
}

/**
 * The lock excludes admissions, and waits for transactions that have enqueued into the
 * queue: afterwards the starts that wait are all there are.
 */
export function removeQueue(ctx: ProviderContext, id: string, waiting: WaitingStarts): Promise<StartQueueRemoval> {
  const { startQueues, queuedStarts } = ctx.ownTables;
  const lock = ctx.statement(
    'start queues: lock to remove',
    () => sql`select queue_id from ${startQueues} where queue_id = ${value('id')} for update`,
    ([locked]) => textCell(locked),
  );
  const count = ctx.statement(
    'start queues: count waiting',
    () => sql`select count(*) from ${queuedStarts} q where q.queue_id = ${value('id')} and ${isWaiting('q')}`,
    ([found]) => integerCell(found),
  );
  const start = ctx.statement(
    'start queues: start waiting',
    () => sql`insert into ${ctx.tables.orchestratorQueue} (instance_id, work_item, visible_at, created_at)
      select m.instance_id, m.message, ${value('nowAt')}::timestamptz, ${value('nowAt')}::timestamptz
      from (
        select q.instance_id, u.message, q.priority, q.id, u.n
        from ${queuedStarts} q cross join lateral unnest(q.work_item || q.messages) with ordinality u(message, n)
        where q.queue_id = ${value('id')} and ${isWaiting('q')}
      ) m order by m.priority desc, m.id, m.n`,
    noRow,
  );
  const remove = ctx.statement(
    'start queues: remove starts',
    () => sql`delete from ${queuedStarts} where queue_id = ${value('id')}`,
    noRow,
  );
  const removeOne = ctx.statement(
    'start queues: remove',
    () => sql`delete from ${startQueues} where queue_id = ${value('id')}`,
    noRow,
  );
  return inTransaction(ctx, 'delete_start_queue', async (tx, nowMs): Promise<StartQueueRemoval> => {
    const [locked] = await tx.run(lock, { id });
    if (locked === undefined) return { outcome: 'unknown', waiting: 0 };
    const [found = 0] = await tx.run(count, { id });
    if (found > 0 && waiting === 'refuse') return { outcome: 'refused', waiting: found };
    if (waiting === 'start') await tx.run(start, { id, nowAt: moment(nowMs) });
    await tx.run(remove, { id });
    await tx.runLast(removeOne, { id });
    return { outcome: 'removed', waiting: found };
  });
}
