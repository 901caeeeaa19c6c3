import { sql } from 'drizzle-orm';
import { quoteSchemaName } from '../../schema/schema-name.js';
import type { Executor } from '../../provider/drizzle/executor.js';
import { SET_ASIDE_UNTIL } from '../../provider/drizzle/operations/moment.js';
import {
  booleanCell,
  compile,
  integerCell,
  optionalIntegerCell,
  optionalMomentCell,
  textCell,
} from '../../provider/drizzle/statement.js';

/** From this attempt on an item is suspect. */
export const SUSPECT_ATTEMPTS = 3;

export async function askServer(executor: Executor) {
  const [row] = await executor.run(
    compile(
      sql`select current_setting('server_version'), current_user, current_database(), pg_is_in_recovery(),
        current_setting('default_transaction_read_only')::boolean, current_setting('server_encoding')`,
      ([version, user, database, isStandby, isReadOnly, encoding]) => ({
        version: textCell(version),
        user: textCell(user),
        database: textCell(database),
        isStandby: booleanCell(isStandby),
        isReadOnly: booleanCell(isReadOnly),
        encoding: textCell(encoding),
      }),
    ),
  );
  if (!row) throw new Error('the server did not answer');
  return row;
}

/** The database's time in Unix ms. */
export async function askTime(executor: Executor): Promise<number> {
  const [ms] = await executor.run(
    compile(sql`select (extract(epoch from clock_timestamp()) * 1000)::bigint`, ([cell]) => integerCell(cell)),
  );
  return ms ?? Number.NaN;
}

export async function askTables(executor: Executor, schema: string) {
  return executor.run(
    compile(
      sql`select relname, n_live_tup, n_dead_tup, greatest(last_vacuum, last_autovacuum),
          greatest(last_analyze, last_autoanalyze)
        from pg_catalog.pg_stat_user_tables where schemaname = ${sql.placeholder('schema')} order by relname`,
      ([table, live, dead, vacuumed, analyzed]) => ({
        table: textCell(table),
        live: integerCell(live),
        dead: integerCell(dead),
        vacuumedAtMs: optionalMomentCell(vacuumed),
        analyzedAtMs: optionalMomentCell(analyzed),
      }),
    ),
    { schema },
  );
}

/** Ms of the longest open transaction of this database that is not ours. */
export async function askLongestTransaction(executor: Executor): Promise<number> {
  const [ms] = await executor.run(
    compile(
      sql`select coalesce(max(extract(epoch from clock_timestamp() - xact_start) * 1000), 0)::bigint
        from pg_catalog.pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
          and backend_type = 'client backend'`,
      ([cell]) => integerCell(cell),
    ),
  );
  return ms ?? 0;
}

/** Locks of instances: how many live, ended, ended long ago, and last longer than an hour. */
export async function askLocks(executor: Executor, schema: string, nowMs: number) {
  const table = sql.raw(`${quoteSchemaName(schema)}.instance_locks`);
  const [row] = await executor.run(
    compile(
      sql`select count(*) filter (where locked_until > ${sql.placeholder('now')}::bigint),
          count(*) filter (where locked_until <= ${sql.placeholder('now')}::bigint - 300000),
          count(*) filter (where locked_until > ${sql.placeholder('now')}::bigint + 3600000)
        from ${table}`,
      ([live, ended, endless]) => ({
        live: integerCell(live),
        ended: integerCell(ended),
        endless: integerCell(endless),
      }),
    ),
    { now: nowMs },
  );
  return row ?? { live: 0, ended: 0, endless: 0 };
}

/** What is due, suspect or set aside in a queue. */
export async function askQueue(
  executor: Executor,
  schema: string,
  queue: 'orchestrator_queue' | 'worker_queue',
  nowMs: number,
) {
  const table = sql.raw(`${quoteSchemaName(schema)}.${queue}`);
  const isDue = sql`visible_at <= ${sql.placeholder('nowAt')}::timestamptz
    and (lock_token is null or locked_until <= ${sql.placeholder('now')}::bigint)`;
  const [row] = await executor.run(
    compile(
      sql`select count(*), count(*) filter (where ${isDue}), min(visible_at) filter (where ${isDue}),
          count(*) filter (where attempt_count >= ${sql.raw(String(SUSPECT_ATTEMPTS))} and visible_at < ${sql.placeholder('aside')}::timestamptz),
          max(attempt_count), count(*) filter (where visible_at >= ${sql.placeholder('aside')}::timestamptz)
        from ${table}`,
      ([rows, due, oldest, suspect, attempts, aside]) => ({
        rows: integerCell(rows),
        due: integerCell(due),
        oldestMs: optionalMomentCell(oldest),
        suspect: integerCell(suspect),
        attempts: optionalIntegerCell(attempts) ?? 0,
        setAside: integerCell(aside),
      }),
    ),
    { now: nowMs, nowAt: new Date(nowMs).toISOString(), aside: SET_ASIDE_UNTIL },
  );
  if (!row) throw new Error('the server did not answer');
  return row;
}
