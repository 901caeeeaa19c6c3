import { type SQL, sql } from 'drizzle-orm';
import type { StartLimits, StartRate, StoredStartQueue } from '../../start-queues.js';
import { isMissingTable, missingTable } from '../admin/own-tables.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { isRunning } from '../operations/is-running.js';
import { unindexed } from '../operations/unindexed.js';
import { booleanCell, type Cell, integerCell, optionalIntegerCell, textCell } from '../statement.js';

/** A value of a statement. */
export const value = (name: string) => sql.placeholder(name);

/** The columns of {@link limitsOf}, in its order. */
export const limitColumns = [
  ['concurrency', 'int'],
  ['concurrency_per_key', 'int'],
  ['rate_limit', 'int'],
  ['rate_period_ms', 'bigint'],
  ['key_rate_limit', 'int'],
  ['key_rate_period_ms', 'bigint'],
] as const;

/** The names of {@link limitColumns} of the table `alias`. */
export function limitNames(alias: string): SQL {
  return sql.raw(limitColumns.map(([name]) => `${alias}.${name}`).join(', '));
}

export function limitsOf(cells: readonly Cell[]): StartLimits {
  const number = (index: number) => optionalIntegerCell(cells[index]);
  const rate = (limit: number | null, periodMs: number | null): StartRate | null =>
    limit === null || periodMs === null ? null : { limit, periodMs };
  return {
    concurrency: number(0),
    concurrencyPerKey: number(1),
    rate: rate(number(2), number(3)),
    ratePerKey: rate(number(4), number(5)),
  };
}

/** Values under the names of {@link limitColumns}. */
export function limitValues({ concurrency, concurrencyPerKey, rate, ratePerKey }: StartLimits): SqlValues {
  return {
    concurrency,
    concurrency_per_key: concurrencyPerKey,
    rate_limit: rate?.limit ?? null,
    rate_period_ms: rate?.periodMs ?? null,
    key_rate_limit: ratePerKey?.limit ?? null,
    key_rate_period_ms: ratePerKey?.periodMs ?? null,
  };
}

/** What {@link storedQueueOf} reads, of the table `s`; `where` chooses queues. */
export function selectQueues(ctx: ProviderContext, where: SQL): SQL {
  const { startQueues, queuedStarts } = ctx.ownTables;
  return sql`select ${limitNames('s')}, s.queue_id, s.is_paused, s.created_ms, s.updated_ms,
      (select count(*) from ${queuedStarts} q where q.queue_id = s.queue_id and ${isWaiting('q')}),
      (select min(q.enqueued_ms) from ${queuedStarts} q where q.queue_id = s.queue_id and ${isWaiting('q')}),
      (select count(*) from ${queuedStarts} q where q.queue_id = s.queue_id and ${holdsSlot('q')}
        and ${isRunning(ctx, sql.raw('q.instance_id'))})
    from ${startQueues} s ${where} order by s.queue_id collate "C"`;
}

/** A queue without its figures, of a row that begins with its limits, id, pause and stamps; and the cells behind them. */
export function queueOf(cells: readonly Cell[]) {
  const [id, isPaused, createdMs, updatedMs, ...figures] = cells.slice(limitColumns.length);
  const queue = {
    ...limitsOf(cells),
    id: textCell(id),
    isPaused: booleanCell(isPaused),
    createdMs: integerCell(createdMs),
    updatedMs: integerCell(updatedMs),
  };
  return { queue, figures };
}

export function storedQueueOf(cells: readonly Cell[]): StoredStartQueue {
  const { queue, figures } = queueOf(cells);
  const [waiting, oldestWaitingMs, running] = figures;
  return {
    ...queue,
    waiting: integerCell(waiting),
    oldestWaitingMs: optionalIntegerCell(oldestWaitingMs),
    running: integerCell(running),
  };
}

/** The condition of the indexes of starts that wait. */
export function isWaiting(alias: string): SQL {
  return sql.raw(`${alias}.admitted_ms is null`);
}

/**
 * As {@link isWaiting}, for starts that are named by their instance: in a form that only the
 * index on it serves, because on a table that has just grown the planner takes any other.
 */
export function isWaitingInstance(alias: string): SQL {
  return sql`(${unindexed(sql.raw(`${alias}.admitted_ms is null`))} and ${sql.raw(`${alias}.ended_ms is null`)})`;
}

/** As {@link holdsSlot}, for starts that are named by their instance. */
export function holdsSlotInstance(alias: string): SQL {
  return sql`(${unindexed(sql.raw(`${alias}.admitted_ms is not null`))} and ${sql.raw(`${alias}.ended_ms is null`)})`;
}

/** The condition of the index of admitted starts whose end nobody has noticed. */
export function holdsSlot(alias: string): SQL {
  return sql.raw(`(${alias}.admitted_ms is not null and ${alias}.ended_ms is null)`);
}

/** Runs `work`; a table that is missing is told with advice, and remembered. @throws UnsupportedError, ProviderError */
export async function guarded<T>(operation: string, ctx: ProviderContext, work: () => Promise<T>): Promise<T> {
  try {
    const answer = await work();
    ctx.startQueues.present = true;
    return answer;
  } catch (error) {
    if (!isMissingTable(error)) throw error;
    ctx.startQueues.present = false;
    throw missingTable(operation, ctx, 'ddz_start_queues (of migration 0003_start_queues)');
  }
}
