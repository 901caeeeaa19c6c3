import pg from 'pg';

/** One row that a transaction wrote or removed, in the order in which it happened. */
interface LoggedRow {
  readonly txid: string;
  readonly tbl: LoggedTable;
  readonly op: 'INSERT' | 'UPDATE' | 'DELETE';
  readonly row: Record<string, unknown>;
}

const LOGGED_TABLES = [
  'history',
  'orchestrator_queue',
  'worker_queue',
  'instances',
  'executions',
  'kv_store',
  'kv_delta',
] as const;
type LoggedTable = (typeof LOGGED_TABLES)[number];

/** One turn exactly as an engine committed it: messages in, decisions out. */
export interface RecordedTurn {
  readonly instance: string;
  readonly executionId: number;
  /** Who committed it, by the form of its lock token. */
  readonly engine: 'native' | 'ours';
  /** The key-value state of finished executions when the turn was committed. */
  readonly kvSnapshot: readonly (readonly [key: string, value: string, lastUpdatedAtMs: number])[];
  /** Consumed work items as parsed JSON, by queue id. */
  readonly messages: readonly unknown[];
  /** The highest of the consumed messages. */
  readonly attemptCount: number;
  /** Stored texts of the events that the turn appended, by event id. */
  readonly events: readonly string[];
  readonly workerItems: readonly RecordedWorkerItem[];
  readonly orchestratorItems: readonly RecordedOrchestratorItem[];
  /** Worker rows that the turn took away, because it cancelled their activities. */
  readonly removedActivities: readonly { readonly executionId: number; readonly activityId: number }[];
  /** The rows after the turn; `null` where the turn left them alone. */
  readonly instanceRow: Record<string, unknown> | null;
  readonly executionRow: Record<string, unknown> | null;
  /** Changes of the two key-value tables, in order. */
  readonly kvChanges: readonly { readonly table: string; readonly op: string; readonly row: Record<string, unknown> }[];
}

export interface RecordedWorkerItem {
  readonly item: unknown;
  readonly sessionId: string | null;
  readonly tag: string | null;
}

export interface RecordedOrchestratorItem {
  readonly item: unknown;
  readonly visibleAtMs: number;
}

/**
 * Makes a schema log what its transactions write (AFTER triggers, log in a schema of its
 * own), so that {@link readTurns} can tell turns apart: a transaction that removes
 * orchestrator messages, or records the outcomes of activities that it removes, is exactly one turn. Not for an engine that commits turns in
 * batches, unless it is told to take one at a time.
 */
export async function recordTurns(client: pg.ClientBase, schema: string): Promise<void> {
  const own = pg.escapeIdentifier(logSchema(schema));
  await client.query(`create schema ${own}`);
  await client.query(`
    create table ${own}.log (
      seq bigserial primary key, txid bigint not null, tbl text not null, op text not null, row jsonb not null
    )`);
  await client.query(`
    create function ${own}.note() returns trigger language plpgsql as $body$
    begin
      insert into ${own}.log (txid, tbl, op, row)
        values (txid_current(), tg_table_name, tg_op, to_jsonb(case when tg_op = 'DELETE' then old else new end));
      return null;
    end $body$`);
  for (const table of LOGGED_TABLES) {
    await client.query(`
      create trigger oracle_note after insert or update or delete on ${pg.escapeIdentifier(schema)}.${table}
        for each row execute function ${own}.note()`);
  }
}

/** All turns since {@link recordTurns}, in the order of their first write. */
export async function readTurns(client: pg.ClientBase, schema: string): Promise<RecordedTurn[]> {
  const { rows } = await client.query<LoggedRow>(
    `select txid::text as txid, tbl, op, row from ${pg.escapeIdentifier(logSchema(schema))}.log order by seq`,
  );
  const transactions = new Map<string, LoggedRow[]>();
  for (const row of rows) {
    const together = transactions.get(row.txid);
    if (together) together.push(row);
    else transactions.set(row.txid, [row]);
  }
  const kv = new KvState();
  const turns: RecordedTurn[] = [];
  for (const together of transactions.values()) {
    const turn = toTurn(together, kv);
    if (turn) turns.push(turn);
    kv.apply(together);
  }
  return turns;
}

export interface StoredWorkItem {
  readonly kind: string;
  readonly trace?: unknown;
}

/** Every message that was put into a queue since {@link recordTurns}: its kind, and its fields as stored, in order. */
export async function readWorkItems(client: pg.ClientBase, schema: string): Promise<StoredWorkItem[]> {
  const { rows } = await client.query<{ item: string }>(
    `select row ->> 'work_item' as item from ${pg.escapeIdentifier(logSchema(schema))}.log
      where op = 'INSERT' and tbl in ('orchestrator_queue', 'worker_queue') order by seq`,
  );
  return rows.flatMap(({ item }) =>
    Object.entries(JSON.parse(item) as Record<string, object>).map(([kind, fields]) => ({ kind, ...fields })),
  );
}

/** Forgets what was recorded. No instance that matters later may be in the middle of its work. */
export async function clearTurns(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`truncate ${pg.escapeIdentifier(logSchema(schema))}.log`);
}

/** Drops the log; the triggers go with the recorded schema, or with this. */
export async function dropTurnLog(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`drop schema if exists ${pg.escapeIdentifier(logSchema(schema))} cascade`);
}

function logSchema(schema: string): string {
  return `${schema}_log`;
}

function toTurn(rows: readonly LoggedRow[], kv: KvState): RecordedTurn | undefined {
  const of = (tbl: LoggedTable, op: LoggedRow['op']) =>
    rows.filter((row) => row.tbl === tbl && row.op === op).map((row) => row.row);
  const consumed = of('orchestrator_queue', 'DELETE').sort((a, b) => Number(a['id']) - Number(b['id']));
  const direct = consumed.length > 0 ? [] : directOutcomes(of('history', 'INSERT'), of('worker_queue', 'DELETE'));
  const first = consumed[0] ?? direct[0]?.row;
  // Deleting an instance removes messages, too, but its rows with them.
  if (!first || of('instances', 'DELETE').length > 0) return undefined;
  const instance = String(first['instance_id']);
  const last = (tbl: LoggedTable) => rows.filter((row) => row.tbl === tbl && row.op !== 'DELETE').at(-1)?.row ?? null;
  const events = of('history', 'INSERT').sort((a, b) => Number(a['event_id']) - Number(b['event_id']));
  const executionRow = last('executions');
  const instanceRow = last('instances');
  const executionId =
    executionRow?.['execution_id'] ?? events[0]?.['execution_id'] ?? instanceRow?.['current_execution_id'] ?? 1;
  return {
    instance,
    executionId: Number(executionId),
    engine: String(first['lock_token']).includes(':') ? 'ours' : 'native',
    kvSnapshot: kv.snapshot(instance),
    messages: [
      ...consumed.map((row) => JSON.parse(String(row['work_item'])) as unknown),
      ...direct.map(({ message }) => message),
    ],
    attemptCount: Math.max(1, ...consumed.map((row) => Number(row['attempt_count']))),
    events: events.map((row) => String(row['event_data'])),
    workerItems: of('worker_queue', 'INSERT').map((row) => ({
      item: JSON.parse(String(row['work_item'])) as unknown,
      sessionId: textOrNull(row['session_id']),
      tag: textOrNull(row['tag']),
    })),
    orchestratorItems: of('orchestrator_queue', 'INSERT').map((row) => ({
      item: JSON.parse(String(row['work_item'])) as unknown,
      visibleAtMs: Date.parse(String(row['visible_at'])),
    })),
    removedActivities: of('worker_queue', 'DELETE')
      .filter((removed) => !direct.some(({ row }) => row === removed))
      .map((row) => ({
        executionId: Number(row['execution_id']),
        activityId: Number(row['activity_id']),
      })),
    instanceRow,
    executionRow,
    kvChanges: rows
      .filter((row) => row.tbl === 'kv_store' || row.tbl === 'kv_delta')
      .map(({ tbl, op, row }) => ({ table: tbl, op, row })),
  };
}

/** The outcomes that a turn took from its activities and not from the queue: the message that each would have been. */
function directOutcomes(
  events: readonly Record<string, unknown>[],
  removed: readonly Record<string, unknown>[],
): { readonly row: Record<string, unknown>; readonly message: unknown }[] {
  return events.flatMap((stored) => {
    const event = JSON.parse(String(stored['event_data'])) as Record<string, unknown>;
    const { instance_id: instance, execution_id, source_event_id: id, result } = event;
    const row = removed.find(
      (each) => each['instance_id'] === instance && each['execution_id'] === execution_id && each['activity_id'] === id,
    );
    if (event['type'] !== 'ActivityCompleted' || !row) return [];
    return [{ row, message: { ActivityCompleted: { instance, execution_id, id, result } } }];
  });
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** `kv_store` as it stood between two transactions. */
class KvState {
  readonly #values = new Map<string, Map<string, readonly [string, number]>>();

  apply(rows: readonly LoggedRow[]): void {
    for (const { tbl, op, row } of rows) {
      if (tbl !== 'kv_store') continue;
      const instance = String(row['instance_id']);
      const values = this.#values.get(instance) ?? new Map<string, readonly [string, number]>();
      this.#values.set(instance, values);
      if (op === 'DELETE') values.delete(String(row['key']));
      else values.set(String(row['key']), [String(row['value']), Number(row['last_updated_at_ms'])]);
    }
  }

  snapshot(instance: string): [string, string, number][] {
    const values = [...(this.#values.get(instance) ?? [])];
    return values.map(([key, [value, at]]): [string, string, number] => [key, value, at]).sort(byKey);
  }
}

function byKey(a: readonly [string, ...unknown[]], b: readonly [string, ...unknown[]]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
}
