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
