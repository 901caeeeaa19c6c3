import { type SQL, sql } from 'drizzle-orm';
import { type InstancePage, type InstancePageQuery, type InstanceSummary, PREVIEW_LENGTH } from '../../instance-pages.js';
import type { ProviderContext } from '../context.js';
import type { Executor, SqlValues } from '../executor.js';
import { type Cell, integerCell, momentCell, optionalMomentCell, textCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import {
  type Condition,
  isIndexedStatus,
  rowConditions,
  type SetSource,
  setSources,
  statusCondition,
  statusIs,
  walkConditions,
} from './page-conditions.js';
import { type CheckedPageQuery, checkedPageQuery, cursorOf, type PagePosition } from './page-query.js';

/**
 * How many rows a condition with an index of its own may have to be read as a whole and
 * sorted. Up to here that takes some ten milliseconds, from here on matches are dense
 * enough to be found on the way.
 */
const MAX_SET = 4_000;
/** Instances that a page walks past at most, newest first, and reads: some ten milliseconds, too. */
const MAX_WALK = 4_000;
/** As many cost no more where two indexes alone tell which of them are worth being read. */
const MAX_INDEX_WALK = 15_000;

const value = (name: string) => sql.placeholder(name);

interface Row {
  readonly summary: InstanceSummary;
  readonly position: PagePosition;
}

/**
 * A page of instances, newest first. There are two ways to one: through the small set of
 * rows that one condition leaves, or along the index of the order. Both are bounded,
 * whatever else is asked for, so that no page reads a whole table.
 */
export async function listInstancesPage(ctx: ProviderContext, query: InstancePageQuery): Promise<InstancePage> {
  const checked = checkedPageQuery(query);
  return inTransaction(ctx, 'list_instances_page', async (tx) => {
    const [, source] = await Promise.all([useIndexes(tx), smallSet(ctx, tx, checked)]);
    const way = source === undefined ? wayAlong(ctx, checked) : wayThrough(ctx, checked, source);
    const rows = await page(ctx, tx, way, checked.limit);
    const shown = rows.slice(0, checked.limit);
    let next = rows.length > shown.length ? shown.at(-1)?.position : undefined;
    if (next === undefined && way.bound !== undefined) next = await whereWalkEnded(ctx, tx, checked, way.bound);
    const instances = shown.map(({ summary }) => summary);
    return { instances: instances.filter(hasStatus(checked)), next: next ? cursorOf(next, query) : null };
  }, { repeatable: true });
}

/**
 * The statements below are made for their indexes, and for the order in which they name
 * their tables. What the planner would think of them depends on statistics, and on how it
 * counts limits of which it does not know the size; compiling them takes longer than they do. A bitmap
 * has no order: all that have one name would be read and sorted for a first page.
 */
function useIndexes(tx: Executor): Promise<void> {
  return tx.script(INDEXES_ONLY);
}

/** @internal */
export const INDEXES_ONLY =
  'set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off; ' +
  'set local enable_mergejoin = off; set local join_collapse_limit = 1; set local jit = off; set local plan_cache_mode = force_generic_plan';

/** An instance that an execution which is not its current one has led to is none of them. */
function hasStatus({ status }: CheckedPageQuery): (summary: InstanceSummary) => boolean {
  return (summary) => status === undefined || summary.status === status;
}

/** The condition that leaves the fewest rows, where those are few enough to be read as a whole. */
async function smallSet(ctx: ProviderContext, tx: Executor, query: CheckedPageQuery): Promise<SetSource | undefined> {
  const sources = setSources(ctx, query);
  const sizes = await Promise.all(
    sources.map((source) => {
      const limited = sql`select count(*) from (${source.sql} limit ${sql.raw(String(MAX_SET + 1))}) s`;
      const count = ctx.statement(`admin: size of ${source.key}`, () => limited, ([size]) => integerCell(size));
      return tx.run(count, source.values);
    }),
  );
  const ranked = sources.map((source, index) => ({ source, size: sizes[index]?.[0] ?? 0 })).sort((a, b) => a.size - b.size);
  const [smallest] = ranked;
  return smallest !== undefined && smallest.size <= MAX_SET ? smallest.source : undefined;
}

/** How to come by the instances of a page, in order. */
interface Way {
  readonly key: string;
  /** What stands behind `from`, and gives `i`, rows of instances. */
  readonly from: SQL;
  readonly conditions: readonly Condition[];
  readonly order: SQL;
  readonly values: SqlValues;
  /** Where the walk ends at the latest; absent: it goes on until the page is full. */
  readonly bound?: number;
}

function wayThrough(ctx: ProviderContext, query: CheckedPageQuery, source: SetSource): Way {
  const { from, conditions } = source.isStatus
    ? { from: source.rows, conditions: [] }
    : withStatus(ctx, query, source.rows);
  return {
    key: `set ${source.key}`,
    from,
    conditions: [...conditions, ...walkConditions(ctx, query), ...rowConditions(query)],
    order: newestFirst('i'),
    values: source.values,
  };
}

function wayAlong(ctx: ProviderContext, query: CheckedPageQuery): Way {
  const { instances, executions } = ctx.tables;
  const along = walkConditions(ctx, query);
  const rest = rowConditions(query);
  const { status } = query;
  const values = valuesOf(along);
  const order = (of: 'i' | 'w') => newestFirst(of, query.name !== undefined);
  const key = `walk ${along.map((condition) => condition.key).join()}`;
  if (rest.length === 0 && status === undefined) {
    return { key, from: sql`${instances} i`, conditions: along, order: order('i'), values };
  }
  const walk = (columns: SQL, bound: number) =>
    sql`(select ${columns} from ${instances} i ${where(along)} ${order('i')} limit ${sql.raw(String(bound))})`;
  if (!isIndexedStatus(status)) {
    const { from, conditions } = withStatus(ctx, query, sql`${walk(sql`i.*`, MAX_WALK)} i`);
    return { key, from, conditions: [...conditions, ...rest], order: order('i'), values, bound: MAX_WALK };
  }
  // Only instances that have the status, which an index tells, are read; but for the index of names, which lacks ids.
  const isNamed = query.name !== undefined;
  const bound = isNamed ? MAX_WALK : MAX_INDEX_WALK;
  const walked = [...(isNamed ? ['orchestration_name'] : []), 'created_at', 'instance_id'];
  const from = sql`${walk(sql.raw(walked.map((column) => `i.${column}`).join(', ')), bound)} w
    join ${executions} x on x.instance_id = w.instance_id and ${statusIs(status)}
    join ${instances} i on i.instance_id = w.instance_id and i.current_execution_id = x.execution_id`;
  return { key: `${key} of ${status}`, from, conditions: rest, order: order('w'), values, bound };
}

function withStatus(ctx: ProviderContext, query: CheckedPageQuery, rows: SQL) {
  if (query.status === undefined) return { from: rows, conditions: [] };
  return { from: sql`${rows} ${current(ctx)}`, conditions: statusCondition(query) };
}

/** The current execution of `i`, as `e`. */
function current({ tables }: ProviderContext): SQL {
  return sql`left join ${tables.executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id`;
}

/** The last instance that the walk looked at, if others follow it. */
async function whereWalkEnded(
  ctx: ProviderContext,
  tx: Executor,
  query: CheckedPageQuery,
  bound: number,
): Promise<PagePosition | undefined> {
  const along = walkConditions(ctx, query);
  const statement = ctx.statement(
    `admin: end of walk ${along.map(({ key }) => key).join()} at ${bound}`,
    () => sql`select i.created_at, i.instance_id from ${ctx.tables.instances} i ${where(along)} ${newestFirst('i', query.name !== undefined)}
      limit 2 offset ${sql.raw(String(bound - 1))}`,
    ([createdAt, instance]): PagePosition => ({ createdAt: textCell(createdAt), instance: textCell(instance) }),
  );
  const [last, following] = await tx.run(statement, valuesOf(along));
  return following === undefined ? undefined : last;
}

/**
 * What a page shows of its instances is read when it is known which they are. One row
 * more than the page has shows whether another page follows.
 */
function page(ctx: ProviderContext, tx: Executor, way: Way, limit: number): Promise<Row[]> {
  const { key, from, conditions, order, values } = way;
  const preview = (column: string) => sql`left(${sql.raw(column)}, ${sql.raw(String(PREVIEW_LENGTH))})`;
  const statement = ctx.statement(
    `admin: page ${key} where ${conditions.map((condition) => condition.key).join()}`,
    () => sql`select i.instance_id, i.orchestration_name, i.orchestration_version, i.current_execution_id,
        coalesce(e.status, 'Running'), i.created_at, i.updated_at, e.completed_at, i.parent_instance_id,
        ${preview('i.custom_status')}, ${preview('e.output')}
      from (select i.* from ${from} ${where(conditions)} ${order} limit ${value('rows')}::bigint) i
      ${current(ctx)} ${newestFirst('i')}`,
    rowOf,
  );
  return tx.run(statement, { rows: limit + 1, ...values, ...valuesOf(conditions) });
}

/** Where they all have one name the order may begin with it. */
function newestFirst(of: 'i' | 'w', byName = false): SQL {
  const columns = [...(byName ? ['orchestration_name'] : []), 'created_at', 'instance_id'];
  return sql`order by ${sql.raw(columns.map((column) => `${of}.${column} desc`).join(', '))}`;
}

function valuesOf(conditions: readonly Condition[]): SqlValues {
  return Object.assign({}, ...conditions.map((condition) => condition.values)) as SqlValues;
}

function where(conditions: readonly { readonly sql: SQL }[]): SQL {
  if (conditions.length === 0) return sql``;
  return sql`where ${sql.join(conditions.map((condition) => condition.sql), sql` and `)}`;
}

function rowOf(cells: readonly Cell[]): Row {
  const [instance, name, version, execution, status, createdAt, updatedAt, completedAt, parent, custom, output] = cells;
  const instanceId = textCell(instance);
  return {
    position: { createdAt: textCell(createdAt), instance: instanceId },
    summary: {
      instanceId,
      orchestrationName: textCell(name),
      orchestrationVersion: version ?? 'unknown',
      currentExecutionId: integerCell(execution),
      status: textCell(status),
      createdAtMs: momentCell(createdAt),
      updatedAtMs: momentCell(updatedAt),
      completedAtMs: optionalMomentCell(completedAt),
      parentInstanceId: parent ?? null,
      customStatus: custom ?? null,
      outputPreview: output ?? null,
    },
  };
}
