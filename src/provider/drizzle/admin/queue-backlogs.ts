import { sql } from 'drizzle-orm';
import type { QueueBacklog } from '../../admin.js';
import type { ProviderContext } from '../context.js';
import { moment } from '../operations/moment.js';
import { integerCell, optionalMomentCell, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

/** Counting stops here: a backlog of a million must not make looking at it slow. */
const MAX_COUNTED = 10_000;

const value = (name: string) => sql.placeholder(name);

/**
 * What waits in the queues now, and since when. Two ranges of the indexes per queue, each
 * of bounded length: rows that nobody holds, oldest first, and rows whose lock has expired.
 */
export async function getQueueBacklogs(ctx: ProviderContext): Promise<QueueBacklog[]> {
  const { orchestratorQueue, workerQueue } = ctx.tables;
  const visible = () => sql`visible_at <= ${value('visibleAt')}::timestamptz`;
  const ready = (queue: typeof orchestratorQueue | typeof workerQueue) => sql`(
      (select visible_at from ${queue} where lock_token is null and ${visible()}
        order by visible_at, id limit ${value('limit')}::int)
      union all
      (select visible_at from ${queue} where lock_token is not null and locked_until <= ${value('now')}::bigint
        and ${visible()} order by locked_until limit ${value('limit')}::int)
    ) r`;
  const statement = ctx.statement(
    'admin: queue backlogs',
    () => sql`select 'orchestrator', count(*), min(visible_at) from ${ready(orchestratorQueue)}
      union all select 'worker', count(*), min(visible_at) from ${ready(workerQueue)}`,
    ([queue, count, oldest]) => ({
      queue: textCell(queue) === 'worker' ? ('worker' as const) : ('orchestrator' as const),
      count: integerCell(count),
      oldestAtMs: optionalMomentCell(oldest),
    }),
  );
  const rows = await readStatement(ctx, 'get_queue_backlogs', statement, (nowMs) => ({
    now: nowMs,
    visibleAt: moment(nowMs),
    limit: MAX_COUNTED + 1,
  }));
  return rows.map(({ queue, count, oldestAtMs }) => ({
    queue,
    ready: Math.min(count, MAX_COUNTED),
    isAtLeast: count > MAX_COUNTED,
    oldestAtMs,
  }));
}
