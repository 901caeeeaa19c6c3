import type pg from 'pg';
import { STATE_TABLES } from '../storage-helpers.js';

export type TableName = (typeof STATE_TABLES)[number];
export type TableDump = Readonly<Record<TableName, readonly Record<string, unknown>[]>>;

/** Columns that hold JSON text; layouts may differ. */
const JSON_COLUMNS = new Set(['work_item', 'event_data']);
/** Moments: a text of the server's time zone becomes one of UTC. */
const TIME_COLUMNS = new Set(['visible_at', 'created_at', 'updated_at', 'started_at', 'completed_at']);
const QUEUES = new Set<string>(['orchestrator_queue', 'worker_queue']);

/** All rows of all tables in one statement, in the form in which the two sides must be equal. */
export async function dumpTables(
  client: pg.Client,
  schema: string,
  tokenName: (token: string) => string,
): Promise<TableDump> {
  const parts = STATE_TABLES.map((table) => `select '${table}' as name, to_jsonb(t) as row from ${schema}.${table} t`);
  const { rows } = await client.query<{ name: TableName; row: Record<string, unknown> }>({
    name: `dump ${schema}`,
    text: parts.join(' union all '),
  });
  const dump = STATE_TABLES.map((table) => {
    const own = rows.filter(({ name }) => name === table).map(({ row }) => row);
    return [table, QUEUES.has(table) ? byRank(own, tokenName, table) : byContent(own, tokenName)] as const;
  });
  return Object.fromEntries(dump) as unknown as TableDump;
}

/** Queue rows in the order of their ids, which themselves differ. */
function byRank(rows: Record<string, unknown>[], tokenName: (token: string) => string, table: string) {
  return rows
    .sort((a, b) => Number(a['id']) - Number(b['id']))
    .map((row) => {
      const normal = normalized(row, tokenName);
      delete normal['id'];
      if (table === 'orchestrator_queue') delete normal['created_at'];
      return normal;
    });
}

function byContent(rows: Record<string, unknown>[], tokenName: (token: string) => string) {
  return rows
    .map((row) => normalized(row, tokenName))
    .map((row) => [JSON.stringify(row), row] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row);
}

function normalized(row: Record<string, unknown>, tokenName: (token: string) => string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (typeof value !== 'string') return [column, value];
      if (JSON_COLUMNS.has(column)) return [column, JSON.parse(value) as unknown];
      if (TIME_COLUMNS.has(column)) return [column, new Date(value).toISOString()];
      return [column, column === 'lock_token' ? tokenName(value) : value];
    }),
  );
}
