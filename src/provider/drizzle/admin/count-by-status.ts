import { type SQL, sql } from 'drizzle-orm';
import type { StatusCount } from '../../instance-pages.js';
import type { ProviderContext } from '../context.js';
import { integerCell, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

const OPERATION = 'count_by_status';
/** Up to here a count is exact. */
const MAX_EXACT = 10_000;

/**
 * How many instances have each status, most first. A status without instances is left out. Above
 * {@link MAX_EXACT} the planner's statistics answer, so that the cost does not grow with the table.
 */
export async function countByStatus(ctx: ProviderContext): Promise<StatusCount[]> {
  const total = await boundedTotal(ctx);
  if (total <= MAX_EXACT) return countAll(ctx);

  const estimated = await estimates(ctx);
  const open = (['Running', 'Failed'] as const).map((status) => countOpen(status, estimated));
  const rest = Math.max(0, Math.max(estimated.instances, total) - open.reduce((sum, { count }) => sum + count, 0));
  // What continued as new has that status for a moment only: the next execution is queued already.
  return [...open, { status: 'Completed', count: rest, isEstimate: true }]
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
}

/** `Running` and `Failed` have an index, and only ever one execution per instance. */
function countOpen(status: 'Running' | 'Failed', estimated: Estimates): StatusCount {
  const exact = estimated.bounded.get(status) ?? 0;
  if (exact <= MAX_EXACT) return { status, count: exact, isEstimate: false };
  return { status, count: Math.max(exact, estimated.byStatus.get(status) ?? 0), isEstimate: true };
}

/** Counts rows, but no further than it takes to know that they are too many. */
function bounded(rows: SQL): SQL {
  return sql`select count(*) from (${rows} limit ${sql.raw(String(MAX_EXACT + 1))}) s`;
}

async function boundedTotal(ctx: ProviderContext): Promise<number> {
  const statement = ctx.statement(
    'admin: count all',
    () => bounded(sql`select 1 from ${ctx.tables.instances}`),
    ([count]) => integerCell(count),
  );
  const [count] = await readStatement(ctx, OPERATION, statement);
  return count ?? 0;
}

async function countAll(ctx: ProviderContext): Promise<StatusCount[]> {
  const { instances, executions } = ctx.tables;
  const statement = ctx.statement(
    'admin: count by status',
    () => sql`select coalesce(e.status, 'Running'), count(*) from ${instances} i
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      group by coalesce(e.status, 'Running')`,
    ([status, count]): StatusCount => ({ status: textCell(status), count: integerCell(count), isEstimate: false }),
  );
  const counts = await readStatement(ctx, OPERATION, statement);
  return counts.sort((a, b) => b.count - a.count);
}

interface Estimates {
  readonly instances: number;
  readonly byStatus: ReadonlyMap<string, number>;
  /** Of the statuses with an index: counted, up to {@link MAX_EXACT} and one more. */
  readonly bounded: ReadonlyMap<string, number>;
}

/** All that is asked above {@link MAX_EXACT}, in one statement. */
async function estimates(ctx: ProviderContext): Promise<Estimates> {
  const { executions } = ctx.tables;
  const statement = ctx.statement(
    'admin: estimates',
    // `reltuples` is -1 for a table that was never analysed.
    () => sql`select c.relname, null, greatest(c.reltuples, 0)::bigint
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ${sql.placeholder('schema')} and c.relname in ('instances', 'executions')
      union all
      select 'status', v.value, (greatest(c.reltuples, 0) * v.share)::bigint
        from pg_catalog.pg_stats s
        join pg_catalog.pg_namespace n on n.nspname = s.schemaname
        join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = s.tablename
        cross join unnest(s.most_common_vals::text::text[], s.most_common_freqs) as v(value, share)
        where s.schemaname = ${sql.placeholder('schema')} and s.tablename = 'executions' and s.attname = 'status'
      union all select 'bounded', 'Running', (${bounded(sql`select 1 from ${executions} where status = 'Running'`)})
      union all select 'bounded', 'Failed', (${bounded(sql`select 1 from ${executions} where status = 'Failed'`)})`,
    ([kind, status, count]) => ({ kind: textCell(kind), status: status ?? null, count: integerCell(count) }),
  );
  const rows = await readStatement(ctx, OPERATION, statement, { schema: ctx.schema });
  const ofKind = (wanted: string) =>
    new Map(rows.flatMap(({ kind, status, count }) => (kind === wanted && status !== null ? [[status, count] as const] : [])));
  return {
    instances: rows.find(({ kind }) => kind === 'instances')?.count ?? 0,
    byStatus: ofKind('status'),
    bounded: ofKind('bounded'),
  };
}
