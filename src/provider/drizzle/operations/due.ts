import { type SQL, sql } from 'drizzle-orm';
import type { Due } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { type Cell, optionalIntegerCell, type Statement, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';
import { moment } from './moment.js';
import { unindexed } from './unindexed.js';

const OPERATION = 'due';
/** Ready rows that are looked at: enough to see past the messages of an instance that is in its turn. */
const READY_ROWS = 10;

interface DueRow {
  readonly kind: 'orchestrator' | 'orchestrator ready' | 'worker' | 'next';
  readonly atMs: number | null;
}

/**
 * The idle probe: whether either queue has something to do, and when the next row
 * becomes visible. One statement of short index scans.
 *
 * Messages of an instance that is in its turn are not to do: they would make an idle
 * process fetch in vain for as long as the turn lasts.
 */
export async function due(ctx: ProviderContext): Promise<Due> {
  const rows = await readStatement(ctx, OPERATION, dueStatement(ctx), (nowMs) => ({ nowMs, nowAt: moment(nowMs) }));
  const count = (kind: DueRow['kind']) => rows.filter((row) => row.kind === kind).length;
  const nextMs = rows.flatMap(({ kind, atMs }) => (kind === 'next' && atMs !== null ? [atMs] : []));
  // All of the window locked says nothing about what stands behind it.
  const isBehind = count('orchestrator ready') >= READY_ROWS;
  const several = (['orchestrator', 'worker'] as const).filter((queue) => count(queue) > 1);
  return {
    orchestrator: count('orchestrator') > 0 || isBehind,
    worker: count('worker') > 0,
    several: several.length > 0 ? several : undefined,
    nextVisibleAtMs: nextMs.length === 0 ? null : Math.min(...nextMs),
  };
}

const value = (name: string) => sql.placeholder(name);

function dueStatement(ctx: ProviderContext): Statement<DueRow> {
  return ctx.statement(
    'due',
    () => dueQuery(ctx),
    ([kind, atMs]: readonly Cell[]) => ({ kind: textCell(kind) as DueRow['kind'], atMs: optionalIntegerCell(atMs) }),
  );
}

function dueQuery(ctx: ProviderContext): SQL {
  const { orchestratorQueue, workerQueue, instanceLocks } = ctx.tables;
  const isVisible = sql`q.visible_at <= ${value('nowAt')}`;
  const isExpired = sql`q.lock_token is not null and q.locked_until <= ${value('nowMs')} and ${unindexed(isVisible)}`;
  const nextOf = (queue: typeof orchestratorQueue | typeof workerQueue): SQL => sql`select n.* from
    (select 'next' as kind, (extract(epoch from q.visible_at) * 1000)::bigint as at_ms from ${queue} q
      where q.lock_token is null and q.visible_at > ${value('nowAt')} order by q.visible_at, q.id limit 1) n`;
  return sql`select case when l.instance_id is null or l.locked_until <= ${value('nowMs')}
        then 'orchestrator' else 'orchestrator ready' end as kind, null::bigint as at_ms
    from (select q.instance_id from ${orchestratorQueue} q
      where q.lock_token is null and ${isVisible} order by q.visible_at, q.id limit ${sql.raw(String(READY_ROWS))}) w
    left join ${instanceLocks} l on l.instance_id = w.instance_id
    union all
    select o.* from (select 'orchestrator', null::bigint from ${orchestratorQueue} q
      where ${isExpired} order by q.locked_until limit 1) o
    union all
    select r.* from (select 'worker', null::bigint from ${workerQueue} q
      where q.lock_token is null and ${isVisible} order by q.visible_at, q.id limit 2) r
    union all
    select x.* from (select 'worker', null::bigint from ${workerQueue} q
      where ${isExpired} order by q.locked_until limit 1) x
    union all ${nextOf(orchestratorQueue)} union all ${nextOf(workerQueue)}`;
}
