import pg from 'pg';
import type { ForeignTransaction } from '../../src/conformance/index.js';

/** All tables that hold state of instances, in no particular order; nothing refers to anything. */
export const STATE_TABLES = [
  'instances',
  'executions',
  'history',
  'orchestrator_queue',
  'worker_queue',
  'instance_locks',
  'sessions',
  'kv_store',
  'kv_delta',
] as const;

/** Empties a schema between two tests: for a handful of rows far cheaper than a new schema. */
export const emptyTables = `with ${STATE_TABLES.map((table) => `${table}_gone as (delete from ${table})`).join(', ')} select 1`;

/** Behind a provider's back on PostgreSQL: plain SQL, and transactions that stand in its way. */
export class PostgresBackdoor {
  private readonly pool: pg.Pool;
  private readonly transactions = new Set<PostgresTransaction>();

  constructor(url: string, schema: string) {
    this.pool = new pg.Pool({
      connectionString: url,
      max: 4,
      options: `-c search_path=${schema},public`,
    });
  }

  async sql(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const { rows } = await this.pool.query<Record<string, unknown>>(text, [...values]);
    return rows;
  }

  async openTransaction(): Promise<ForeignTransaction> {
    const transaction = new PostgresTransaction(await this.pool.connect(), this.pool);
    this.transactions.add(transaction);
    await transaction.run('begin');
    return transaction;
  }

  /** Ends what a test left open. */
  async rollbackAll(): Promise<void> {
    for (const transaction of this.transactions) await transaction.rollback();
    this.transactions.clear();
  }

  async close(): Promise<void> {
    await this.rollbackAll();
    await this.pool.end();
  }
}

/** Only a guard against hanging: whoever is going to wait does so within milliseconds. */
const GIVE_UP_AFTER_MS = 20_000;

/** Who waits for a backend, directly or behind one that does. */
const waitingFor = `
  with recursive waiting as (
    select a.pid from pg_stat_activity a where $1::int = any (pg_blocking_pids(a.pid))
    union
    select a.pid from waiting w, pg_stat_activity a where w.pid = any (pg_blocking_pids(a.pid))
  )
  select count(*)::int as waiting from waiting`;

class PostgresTransaction implements ForeignTransaction {
  private open = true;

  constructor(
    private readonly client: pg.PoolClient,
    private readonly pool: pg.Pool,
  ) {}

  async run(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const { rows } = await this.client.query<Record<string, unknown>>(text, [...values]);
    return rows;
  }

  async untilWaiting(connections: number): Promise<void> {
    const [row] = await this.run('select pg_backend_pid() as pid');
    const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
    for (let waiting = 0; waiting < connections;) {
      if (performance.now() > giveUpAt) throw new Error(`${waiting} of ${connections} connections came to wait`);
      const { rows } = await this.pool.query<{ waiting: number }>(waitingFor, [row?.['pid']]);
      waiting = rows[0]?.waiting ?? 0;
    }
  }

  async rollback(): Promise<void> {
    if (!this.open) return;
    this.open = false;
    await this.client.query('rollback');
    this.client.release();
  }
}
