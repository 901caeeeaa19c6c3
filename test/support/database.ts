import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** The PostgreSQL of this run: `DATABASE_URL`, or the embedded one started by the global set-up. */
export function databaseUrl(): string {
  const url = process.env['DDZ_TEST_DATABASE_URL'];
  if (!url) throw new Error('no database: run the tests through jest, whose global set-up starts one');
  return url;
}

/** A schema name that no other test uses. */
export function uniqueSchema(prefix = 't'): string {
  return `${prefix}_${randomBytes(5).toString('hex')}`;
}

/** Runs `use` with a client of its own, which is closed afterwards. */
export async function withClient<T>(use: (client: pg.Client) => Promise<T>, url = databaseUrl()): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Drops a schema of a test with everything in it. */
export async function dropSchema(schema: string): Promise<void> {
  await withClient((client) => client.query(`drop schema if exists ${pg.escapeIdentifier(schema)} cascade`));
}

/**
 * Whether somebody waits for a lock that the transaction of `client` holds. Not by
 * `pg_stat_activity`, which a transaction sees as it was at the first look.
 */
export async function isWaitedFor(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query(
    'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))',
  );
  return rows.length > 0;
}
