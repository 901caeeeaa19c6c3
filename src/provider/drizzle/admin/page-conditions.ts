import { type SQL, sql } from 'drizzle-orm';
import { INDEXED_STATUS_LENGTH } from '../../../schema/instances.js';
import type { ProviderContext } from '../context.js';
import type { SqlValue } from '../executor.js';
import { moment } from '../operations/moment.js';
import type { CheckedPageQuery } from './page-query.js';

const value = (name: string) => sql.placeholder(name);
const text = (name: string) => sql`${value(name)}::text`;

/** A condition, with what tells it in the key of a statement. */
interface Condition {
  readonly key: string;
  readonly sql: SQL;
  readonly values: Readonly<Record<string, SqlValue>>;
}

/** Where the rows come from, when few enough fit one condition: ids out of an index. */
export interface SetSource extends Condition {
  /** Selects `instance_id` of all that fit. */
  readonly sql: SQL;
}

/** The conditions that the order of a list follows: they are part of the walk through its index. */
export function walkConditions(query: CheckedPageQuery): Condition[] {
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
    ...(query.name === undefined ? [] : [condition('name', sql`i.orchestration_name = ${text('name')}`, { name: query.name })]),
  ];
}

/** The other conditions: checked row by row. */
export function rowConditions(query: CheckedPageQuery): Condition[] {
  const { status, parent, idPrefix, customStatusPrefix } = query;
  return [
    ...(status === undefined ? [] : [condition('status', sql`coalesce(e.status, 'Running') = ${text('status')}`, { status })]),
    ...(parent === undefined
      ? []
      : parent === null
        ? [condition('roots', sql`i.parent_instance_id is null`, {})]
        : [condition('parent', sql`i.parent_instance_id = ${text('parent')}`, { parent })]),
    ...(idPrefix === undefined ? [] : [beginsWith('id', sql`i.instance_id`, idPrefix)]),
    ...(customStatusPrefix === undefined ? [] : [beginsWith('custom', sql`i.custom_status`, customStatusPrefix)]),
  ];
}

/** The conditions that have an index of their own, beside the order of the list. */
export function setSources({ tables }: ProviderContext, query: CheckedPageQuery): SetSource[] {
  const { instances, executions } = tables;
  const { status, parent, idPrefix, customStatusPrefix } = query;
  const sources: SetSource[] = [];
  if (typeof parent === 'string') {
    const ids = sql`select instance_id from ${instances} where parent_instance_id = ${text('parent')}`;
    sources.push(condition('parent', ids, { parent }));
  }
  if (idPrefix !== undefined) {
    const { sql: fits, values } = range('id', sql`instance_id collate "C"`, idPrefix);
    sources.push(condition('id', sql`select instance_id from ${instances} where ${fits}`, values));
  }
  if (customStatusPrefix !== undefined) {
    const start = [...customStatusPrefix].slice(0, INDEXED_STATUS_LENGTH).join('');
    const indexed = sql`left(custom_status, ${sql.raw(String(INDEXED_STATUS_LENGTH))}) collate "C"`;
    const { sql: fits, values } = range('custom', indexed, start);
    const ids = sql`select instance_id from ${instances} where custom_status is not null and ${fits}`;
    sources.push(condition('custom', ids, values));
  }
  // A constant: a parameter would not tell the planner that the partial index fits.
  if (status === 'Failed') sources.push(condition('failed', sql`select instance_id from ${executions} where status = 'Failed'`, {}));
  if (status === 'Running') sources.push(condition('running', sql`select instance_id from ${executions} where status = 'Running'`, {}));
  return sources;
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
