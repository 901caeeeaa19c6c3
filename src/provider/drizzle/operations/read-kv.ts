import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';
import { type Cell, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

const instance = sql.placeholder('instance');
const key = sql.placeholder('key');

/** A value of the store, or a change of the current execution that lies over it. */
interface KvRow {
  readonly isDelta: boolean;
  readonly key: string;
  /** Null in a change: the key is deleted. */
  readonly value: string | null;
}

const kvRow = ([source, name, value]: readonly Cell[]): KvRow => ({
  isDelta: source === 'delta',
  key: textCell(name),
  value: value ?? null,
});

/** The value as readers see it, changes of the running execution included. */
export async function getKvValue(ctx: ProviderContext, instanceId: string, name: string): Promise<string | null> {
  const { kvDelta, kvStore } = ctx.tables;
  const statement = ctx.statement(
    'get kv value',
    () => sql`select 'store', key, value from ${kvStore} where instance_id = ${instance} and key = ${key}
      union all
      select 'delta', key, value from ${kvDelta} where instance_id = ${instance} and key = ${key}`,
    kvRow,
  );
  const rows = await readStatement(ctx, 'get_kv_value', statement, { instance: instanceId, key: name });
  return merge(rows).get(name) ?? null;
}

/** A key of an instance. */
export interface KvKey {
  readonly instance: string;
  readonly key: string;
}

/** As {@link getKvValue} for many, in the order of the input, in one statement. */
export async function getKvValues(ctx: ProviderContext, keys: readonly KvKey[]): Promise<(string | null)[]> {
  if (keys.length === 0) return [];
  const { kvDelta, kvStore } = ctx.tables;
  const asked = () => sql`unnest(${sql.placeholder('places')}::bigint[], ${sql.placeholder('instances')}::text[],
    ${sql.placeholder('keys')}::text[]) as u(place, instance_id, key)`;
  const statement = ctx.statement(
    'get kv values',
    // The list beside the join lets the planner look the instances up instead of reading the table.
    () => sql`select 'store', u.place::text, s.value from ${asked()}
        join ${kvStore} s on s.instance_id = u.instance_id and s.key = u.key
        where s.instance_id = any(${sql.placeholder('instances')}::text[])
      union all
      select 'delta', u.place::text, d.value from ${asked()}
        join ${kvDelta} d on d.instance_id = u.instance_id and d.key = u.key
        where d.instance_id = any(${sql.placeholder('instances')}::text[])`,
    kvRow,
  );
  const rows = await readStatement(ctx, 'get_kv_values', statement, {
    places: keys.map((_, place) => place),
    instances: keys.map(({ instance: id }) => id),
    keys: keys.map(({ key: name }) => name),
  });
  const merged = merge(rows);
  return keys.map((_, place) => merged.get(String(place)) ?? null);
}

/** All keys with a value, as readers see them. */
export async function getKvAllValues(ctx: ProviderContext, instanceId: string): Promise<Map<string, string>> {
  const { kvDelta, kvStore } = ctx.tables;
  const statement = ctx.statement(
    'get all kv values',
    () => sql`select 'store', key, value from ${kvStore} where instance_id = ${instance}
      union all
      select 'delta', key, value from ${kvDelta} where instance_id = ${instance}`,
    kvRow,
  );
  return merge(await readStatement(ctx, 'get_kv_all_values', statement, { instance: instanceId }));
}

function merge(rows: readonly KvRow[]): Map<string, string> {
  const merged = new Map<string, string>();
  const inOrder = [...rows.filter(({ isDelta }) => !isDelta), ...rows.filter(({ isDelta }) => isDelta)];
  for (const { key: name, value } of inOrder) {
    if (value === null) merged.delete(name);
    else merged.set(name, value);
  }
  return merged;
}
