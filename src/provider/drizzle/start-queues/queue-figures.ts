import { sql } from 'drizzle-orm';
import type { BoundedCount, StartKeyFigures, StartQueueFigures } from '../../start-queues.js';
import type { ProviderContext } from '../context.js';
import { isRunning } from '../operations/is-running.js';
import { booleanCell, type Cell, integerCell, noRow, optionalIntegerCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { holdsSlot, isWaiting, limitNames, queueOf, value } from './queue-rows.js';

/** Counting stops here. */
export const MAX_COUNTED = 10_000;
/** So many starts that wait, and as many that were admitted, are looked at for their keys and for whether they run. */
const LOOKED_AT = 2_000;
/** Keys named for each queue. */
const MAX_KEYS = 20;
/** Priorities that are gone through for the oldest start. */
const MAX_PRIORITIES = 1_000;

const bound = (count: number) => sql.raw(String(count));

/**
 * Figures of all start queues by one statement. Nothing in it grows with what waits: counts
 * stop, keys are those of the next starts, and the oldest is found by leaps, because the
 * first one of each priority is the oldest of it.
 */
export function queueFigures(ctx: ProviderContext, limit: number): Promise<StartQueueFigures[]> {
  const { startQueues, queuedStarts } = ctx.ownTables;
  const waits = sql`from ${queuedStarts} q where q.queue_id = s.queue_id and ${isWaiting('q')}`;
  const statement = ctx.statement(
    'start queues: figures',
    () => sql`select ${limitNames('s')}, s.queue_id, s.is_paused, s.created_ms, s.updated_ms,
        (select count(*) from (select ${waits} limit ${bound(MAX_COUNTED + 1)}) w),
        (
          with recursive firsts(priority, enqueued_ms, place) as (
            (select q.priority, q.enqueued_ms, 1 ${waits} order by q.priority desc, q.id limit 1)
            union all
            select h.priority, h.enqueued_ms, f.place + 1 from firsts f cross join lateral (
              select q.priority, q.enqueued_ms ${waits} and q.priority < f.priority
              order by q.priority desc, q.id limit 1
            ) h where f.place < ${bound(MAX_PRIORITIES)}
          )
          select min(enqueued_ms) from firsts
        ),
        k.running, k.looked, k.keys, k.shown
      from ${startQueues} s cross join lateral (
        with seen as materialized (
          (select q.start_key, true as waits, q.enqueued_ms ${waits}
            order by q.priority desc, q.id limit ${bound(LOOKED_AT)})
          union all
          select a.start_key, false, null from (
            select q.start_key, q.instance_id from ${queuedStarts} q
            where q.queue_id = s.queue_id and ${holdsSlot('q')}
            order by q.start_key, q.id limit ${bound(LOOKED_AT)}
          ) a where ${isRunning(ctx, sql.raw('a.instance_id'))}
        ), keys as (
          select start_key, count(*) filter (where waits) as waiting, count(*) filter (where not waits) as running,
            min(enqueued_ms) as oldest
          from seen where start_key <> '' group by start_key
        ), shown as (
          select * from keys order by waiting desc, running desc, start_key collate "C" limit ${bound(MAX_KEYS)}
        )
        select (select count(*) from seen where not waits) as running,
          (select count(*) from (
            select from ${queuedStarts} q where q.queue_id = s.queue_id and ${holdsSlot('q')}
            limit ${bound(LOOKED_AT + 1)}) h) > ${bound(LOOKED_AT)} as looked,
          (select json_agg(json_build_array(start_key, waiting, running, oldest)
            order by waiting desc, running desc, start_key collate "C")::text from shown) as keys,
          (select count(*) from keys) > ${bound(MAX_KEYS)} as shown
      ) k
      order by s.queue_id collate "C" limit ${value('limit')}::int`,
    figuresOf,
  );
  return inTransaction(ctx, 'start_queue_figures', async (tx) => {
    const [, figures] = await Promise.all([tx.run(byIndex(ctx)), tx.runLast(statement, { limit })]);
    return figures;
  });
}

/**
 * Only plans by index for the rest of the transaction: on a table that has just grown the
 * planner takes a queue for a few rows, and would read and sort all that wait in it.
 */
function byIndex(ctx: ProviderContext) {
  return ctx.statement(
    'start queues: by index',
    () => sql`select set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)`,
    noRow,
  );
}

function figuresOf(cells: readonly Cell[]): StartQueueFigures {
  const { queue, figures } = queueOf(cells);
  const [waitingCell, oldestCell, runningCell, isMoreRunningCell, keysCell, areMoreKeysCell] = figures;
  const waiting = integerCell(waitingCell);
  const isMoreRunning = booleanCell(isMoreRunningCell);
  return {
    ...queue,
    waiting: { count: Math.min(waiting, MAX_COUNTED), isAtLeast: waiting > MAX_COUNTED } satisfies BoundedCount,
    oldestWaitingMs: optionalIntegerCell(oldestCell),
    running: { count: integerCell(runningCell), isAtLeast: isMoreRunning },
    keys: keysOf(keysCell),
    isPartOfKeys: waiting > LOOKED_AT || isMoreRunning || booleanCell(areMoreKeysCell),
  };
}

function keysOf(cell: Cell | undefined): StartKeyFigures[] {
  if (cell === null || cell === undefined) return [];
  // The statement above has built it.
  const rows = JSON.parse(cell) as [string, number, number, number | null][];
  return rows.map(([key, waiting, running, oldestWaitingMs]) => ({ key, waiting, running, oldestWaitingMs }));
}
