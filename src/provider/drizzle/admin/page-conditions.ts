import { type SQL, sql } from 'drizzle-orm';
import { INDEXED_STATUS_LENGTH } from '../../../schema/instances.js';
import type { ProviderContext } from '../context.js';
import type { SqlValue } from '../executor.js';
import { moment } from '../operations/moment.js';
import type { CheckedPageQuery } from './page-query.js';

const value = (name: string) => sql.placeholder(name);
const text = (name: string) => sql`${value(name)}::text`;

/** A condition, with what tells it in the key of a statement. */
export interface Condition {
  readonly key: string;
  readonly sql: SQL;
  readonly values: Readonly<Record<string, SqlValue>>;
}

/** Where the rows come from, when few enough fit one condition: all that an index says. */
export interface SetSource extends Condition {
  /** Selects a row for each that fits: for counting. */
  readonly sql: SQL;
  /** What stands behind `from`, and gives them as `i`, rows of instances. */
  readonly rows: SQL;
  /** Whether it is the status that they fit. */
  readonly isStatus: boolean;
}

/** The conditions that the order of a list follows: they are part of the walk through its index. */
export function walkConditions(ctx: ProviderContext, query: CheckedPageQuery): Condition[] {
  const { createdAfterMs, createdBeforeMs, position } = query;
  return [
    ...(createdAfterMs === undefined
      ? []
      : [condition('from', sql`i.created_at >= ${value('from')}::timestamptz`, { from: moment(createdAfterMs) })]),
    ...(createdBeforeMs === undefined
      ? []
      : [condition('to', sql`i.created_at < ${value('to')}::timestamptz`, { to: moment(createdBeforeMs) })]),
    ...(position === undefined
      ? []
      : [
          condition(
            'after',
            // The first half is what an index can use.
            sql`i.created_at <= ${value('afterAt')}::timestamptz
              and (i.created_at < ${value('afterAt')}::timestamptz or i.instance_id < ${text('afterId')})`,
            { afterAt: position.createdAt, afterId: position.instance },
          ),
        ]),
    ...nameCondition(ctx, query),
  ];
}

/**
 * Said as rows, and with the name as the first part of the order, it is the index of names that
 * fits, and none but it: the one of all instances would be walked along past everything else.
 */
function nameCondition(
  { driver }: ProviderContext,
  { name, position, createdAfterMs, createdBeforeMs }: CheckedPageQuery,
): Condition[] {
  if (name === undefined) return [];
  // Moments have conditions of their own; here they say where in the index to begin. pg-mem cannot compare rows.
  const hasRows = driver.kind !== 'pg-mem';
  const bound = (key: string, than: '<=' | '>=', at: string | undefined) =>
    at === undefined || !hasRows
      ? condition(`name${than}`, sql`i.orchestration_name ${sql.raw(than)} ${text('name')}`, { name })
      : condition(
          key,
          sql`(i.orchestration_name, i.created_at) ${sql.raw(than)} (${text('name')}, ${value(key)}::timestamptz)`,
          { name, [key]: at },
        );
  const to = position?.createdAt ?? (createdBeforeMs === undefined ? undefined : moment(createdBeforeMs));
  const from = createdAfterMs === undefined ? undefined : moment(createdAfterMs);
  return [bound('nameTo', '<=', to), bound('nameFrom', '>=', from)];
}

/** The status of the current execution, `e`. */
export function statusCondition({ status }: CheckedPageQuery): Condition[] {
  return status === undefined ? [] : [condition('status', sql`coalesce(e.status, 'Running') = ${text('status')}`, { status })];
}

/** The other conditions: checked row by row. */
export function rowConditions(query: CheckedPageQuery): Condition[] {
  const { parent, idPrefix, customStatusPrefix, updatedAfterMs, updatedBeforeMs } = query;
  return [
    ...(parent === undefined
      ? []
      : parent === null
        ? [condition('roots', sql`i.parent_instance_id is null`, {})]
        : [condition('parent', sql`i.parent_instance_id = ${text('parent')}`, { parent })]),
    ...(idPrefix === undefined ? [] : [beginsWith('id', sql`i.instance_id`, idPrefix)]),
    ...(customStatusPrefix === undefined ? [] : [beginsWith('custom', sql`i.custom_status`, customStatusPrefix)]),
    ...(updatedAfterMs === undefined
      ? []
      : [
          condition('updatedFrom', sql`i.updated_at >= ${value('updatedFrom')}::timestamptz`, {
            updatedFrom: moment(updatedAfterMs),
          }),
        ]),
    ...(updatedBeforeMs === undefined
      ? []
      : [
          condition('updatedTo', sql`i.updated_at < ${value('updatedTo')}::timestamptz`, {
            updatedTo: moment(updatedBeforeMs),
          }),
        ]),
  ];
}

/** The conditions that have an index of their own, beside the order of the list. */
export function setSources({ tables }: ProviderContext, query: CheckedPageQuery): SetSource[] {
  const { instances, executions } = tables;
  const { status, parent, idPrefix, customStatusPrefix } = query;
  const sources: SetSource[] = [];
  const add = (key: string, fits: SQL, values: Condition['values']) => {
    // `offset 0` keeps the planner from walking along the order instead, past all that do not fit.
    const rows = sql`(select * from ${instances} where ${fits} offset 0) i`;
    sources.push({ key, sql: sql`select 1 from ${instances} where ${fits}`, rows, values, isStatus: false });
  };
  if (typeof parent === 'string') add('parent', sql`parent_instance_id = ${text('parent')}`, { parent });
  if (idPrefix !== undefined) {
    const { sql: fits, values } = range('id', sql`instance_id collate "C"`, idPrefix);
    add('id', fits, values);
  }
  if (customStatusPrefix !== undefined) {
    const start = [...customStatusPrefix].slice(0, INDEXED_STATUS_LENGTH).join('');
    const indexed = sql`left(custom_status, ${sql.raw(String(INDEXED_STATUS_LENGTH))}) collate "C"`;
    const { sql: fits, values } = range('custom', indexed, start);
    add('custom', sql`custom_status is not null and ${fits}`, values);
  }
  if (isIndexedStatus(status)) {
    const fits = statusIs(status);
    sources.push({
      key: `status ${status}`,
      sql: sql`select 1 from ${executions} x where ${fits}`,
      // `distinct` keeps the planner from beginning at the other end. That it is the current execution is
      // looked at when the page is read: the index alone says the rest.
      rows: sql`(select distinct x.instance_id from ${executions} x where ${fits}) x
        join ${instances} i on i.instance_id = x.instance_id`,
      values: {},
      isStatus: true,
    });
  }
  return sources;
}

/** The statuses that have an index. */
export function isIndexedStatus(status: string | undefined): status is 'Failed' | 'Running' {
  return status === 'Failed' || status === 'Running';
}

/** Of `x`. A constant: a parameter would not tell the planner that the partial index fits. */
export function statusIs(status: 'Failed' | 'Running'): SQL {
  return status === 'Failed' ? sql`x.status = 'Failed'` : sql`x.status = 'Running'`;
}

function condition(key: string, fits: SQL, values: Readonly<Record<string, SqlValue>>): Condition {
  return { key, sql: fits, values };
}

/** In letters, not by the rules of a language: `starts_with`, for databases that have `left` only. */
function beginsWith(name: string, column: SQL, prefix: string): Condition {
  const length = sql`${value(`${name}Length`)}::int`;
  return condition(name, sql`left(${column}, ${length}) = ${text(`${name}Prefix`)}`, {
    [`${name}Prefix`]: prefix,
    [`${name}Length`]: [...prefix].length,
  });
}

/** The same as a range in the order of code points, which an index with the collation "C" has. */
function range(name: string, column: SQL, prefix: string): Condition {
  const end = firstBehind(prefix);
  const from = sql`${column} >= ${text(`${name}From`)}`;
  if (end === undefined) return condition(name, from, { [`${name}From`]: prefix });
  return condition(name, sql`${from} and ${column} < ${text(`${name}End`)}`, {
    [`${name}From`]: prefix,
    [`${name}End`]: end,
  });
}

const LAST_CODE_POINT = 0x10ffff;

/** The first text that does not begin with the prefix any more; `undefined` if there is none. */
export function firstBehind(prefix: string): string | undefined {
  const points = [...prefix].map((letter) => letter.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Surrogates are no letters, and no database takes them.
  const next = last + 1 === 0xd800 ? 0xe000 : last + 1;
  return String.fromCodePoint(...points, next);
}
