import { type SQL, sql } from 'drizzle-orm';
import { type InstancePage, type InstancePageQuery, type InstanceSummary, PREVIEW_LENGTH } from '../../instance-pages.js';
import type { ProviderContext } from '../context.js';
import type { Executor, SqlValues } from '../executor.js';
import { type Cell, integerCell, momentCell, optionalMomentCell, textCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { rowConditions, type SetSource, setSources, walkConditions } from './page-conditions.js';
import { type CheckedPageQuery, checkedPageQuery, cursorOf, type PagePosition } from './page-query.js';

/**
 * How many rows a condition with an index of its own may have to be read as a whole and
 * sorted. Up to here that takes some ten milliseconds, from here on matches are dense
 * enough to be found on the way.
 */
const MAX_SET = 10_000;
/** Instances that a page walks past at most, newest first: some ten milliseconds, too. */
const MAX_WALK = 10_000;

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
    const rows = source === undefined ? await walk(ctx, tx, checked) : await fromSet(ctx, tx, checked, source);
    const shown = rows.slice(0, checked.limit);
    let next = rows.length > shown.length ? shown.at(-1)?.position : undefined;
    if (next === undefined && source === undefined) next = await whereWalkEnded(ctx, tx, checked);
    return { instances: shown.map(({ summary }) => summary), next: next ? cursorOf(next, query) : null };
  }, { repeatable: true });
}

/**
 * The statements below are made for their indexes. What the planner would think of them
 * depends on statistics, and on how it counts limits of which it does not know the size.
 */
function useIndexes(tx: Executor): Promise<void> {
  return tx.script(INDEXES_ONLY);
}

/** @internal */
export const INDEXES_ONLY =
  'set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off';

/** The first condition that leaves few enough rows to be read as a whole. */
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

function fromSet(ctx: ProviderContext, tx: Executor, query: CheckedPageQuery, source: SetSource): Promise<Row[]> {
  const { instances } = ctx.tables;
  const from = sql`(${source.sql} limit ${sql.raw(String(MAX_SET))}) s join ${instances} i on i.instance_id = s.instance_id`;
  const conditions = [...walkConditions(query), ...rowConditions(query)];
  return page(ctx, tx, { key: `set ${source.key}`, from, conditions, limit: query.limit, values: source.values });
}

function walk(ctx: ProviderContext, tx: Executor, query: CheckedPageQuery): Promise<Row[]> {
  const along = walkConditions(query);
  const from = sql`(select i.* from ${ctx.tables.instances} i ${where(along)} ${newestFirst}
    limit ${sql.raw(String(MAX_WALK))}) i`;
  const values = Object.assign({}, ...along.map((condition) => condition.values)) as SqlValues;
  const key = `walk ${along.map((condition) => condition.key).join()}`;
  return page(ctx, tx, { key, from, conditions: rowConditions(query), limit: query.limit, values });
}

/** The last instance that the walk looked at, if others follow it. */
async function whereWalkEnded(
  ctx: ProviderContext,
  tx: Executor,
  query: CheckedPageQuery,
): Promise<PagePosition | undefined> {
  const along = walkConditions(query);
  const statement = ctx.statement(
    `admin: end of walk ${along.map(({ key }) => key).join()}`,
    () => sql`select i.created_at, i.instance_id from ${ctx.tables.instances} i ${where(along)} ${newestFirst}
      limit 2 offset ${sql.raw(String(MAX_WALK - 1))}`,
    ([createdAt, instance]): PagePosition => ({ createdAt: textCell(createdAt), instance: textCell(instance) }),
  );
  const values = Object.assign({}, ...along.map((condition) => condition.values)) as SqlValues;
  const [last, following] = await tx.run(statement, values);
  return following === undefined ? undefined : last;
}

const newestFirst = sql`order by i.created_at desc, i.instance_id desc`;

interface Page {
  readonly key: string;
  /** Gives `i`, rows of instances. */
  readonly from: SQL;
  readonly conditions: readonly { readonly key: string; readonly sql: SQL; readonly values: SqlValues }[];
  readonly limit: number;
  readonly values: SqlValues;
}

/** One row more than the page has shows whether another page follows. */
function page(ctx: ProviderContext, tx: Executor, { key, from, conditions, limit, values }: Page): Promise<Row[]> {
  const { executions } = ctx.tables;
  const preview = (column: string) => sql`left(${sql.raw(column)}, ${sql.raw(String(PREVIEW_LENGTH))})`;
  const statement = ctx.statement(
    `admin: page ${key} where ${conditions.map((condition) => condition.key).join()}`,
    () => sql`select i.instance_id, i.orchestration_name, i.orchestration_version, i.current_execution_id,
        coalesce(e.status, 'Running'), i.created_at, i.updated_at, e.completed_at, i.parent_instance_id,
        ${preview('i.custom_status')}, ${preview('e.output')}
      from ${from}
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      ${where(conditions)} ${newestFirst} limit ${value('rows')}::bigint`,
    rowOf,
  );
  const all = Object.assign({ rows: limit + 1 }, values, ...conditions.map((condition) => condition.values)) as SqlValues;
  return tx.run(statement, all);
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
