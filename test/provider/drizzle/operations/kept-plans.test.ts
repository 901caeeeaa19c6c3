import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../../../src/base/logger.js';
import { Client } from '../../../../src/client/client.js';
import { DrizzleProvider } from '../../../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../../../src/runtime/runtime.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../../support/database.js';

const schema = uniqueSchema('plans');
const HOT_TABLES = ['orchestrator_queue', 'worker_queue', 'instances', 'executions', 'history', 'instance_locks'];
const FINISHED = 5_000;

let pool: pg.Pool;
let provider: DrizzleProvider;
let runtime: Runtime;
let client: Client;

beforeAll(async () => {
  pool = new pg.Pool({ connectionString: databaseUrl(), max: 4 });
  provider = await DrizzleProvider.fromDrizzle(drizzle(pool), { schema, logger: silentLogger });
  // Nothing may be planned anew because statistics came.
  await sql((table) => `alter table ${table} set (autovacuum_enabled = false)`);
  runtime = new Runtime(provider, { logLevel: 'off' });
  runtime.registerActivity('echo', (_ctx, input) => input);
  runtime.registerOrchestration('hello', function* (ctx, input) {
    return (yield ctx.scheduleActivity('echo', input));
  });
  await runtime.start();
  client = new Client(provider);
});
afterAll(async () => {
  await runtime.shutdown();
  await provider.close();
  await pool.end();
  await dropSchema(schema);
});

async function sql(command: (table: string) => string): Promise<void> {
  for (const table of HOT_TABLES) await pool.query(command(`"${schema}".${table}`));
}

async function runSome(name: string): Promise<void> {
  for (let n = 0; n < 8; n++) {
    await client.startOrchestration(`${name}-${n}`, 'hello', n);
    expect((await client.waitForOrchestration(`${name}-${n}`, 60_000)).output).toBe(n);
  }
}

/** Rows that whole scans read so far, by table. */
async function scannedRows(): Promise<Record<string, number>> {
  // Sessions report what they did with a delay; a new one reads what all have reported.
  await Promise.all(Array.from({ length: 4 }, () => pool.query('select pg_stat_force_next_flush(), pg_sleep(0.2)')));
  const { rows } = await withClient((one) =>
    one.query<{ relname: string; read: string }>(
      'select relname, seq_tup_read as read from pg_stat_user_tables where schemaname = $1 and relname = any($2)',
      [schema, HOT_TABLES],
    ),
  );
  return Object.fromEntries(rows.map(({ relname, read }) => [relname, Number(read)]));
}

test('P:3.4.3 plans that were made on empty tables do not scan them whole when they have filled', async () => {
  await runSome('early');
  const fill = (table: string, columns: string, values: string) =>
    pool.query(`insert into "${schema}".${table} (${columns}) select ${values} from generate_series(1, ${FINISHED}) n`);
  await fill(
    'instances',
    'instance_id, orchestration_name, current_execution_id, created_at, updated_at',
    `'f-' || n, 'hello', 1, now(), now()`,
  );
  await fill('executions', 'instance_id, execution_id, status, started_at', `'f-' || n, 1, 'Completed', now()`);
  await fill(
    'history',
    'instance_id, execution_id, event_id, event_type, event_data, created_at',
    `'f-' || n, 1, 1, 'Event', '{}', now()`,
  );
  const before = await scannedRows();
  await runSome('late');
  const after = await scannedRows();
  expect(Object.keys(after).sort()).toEqual([...HOT_TABLES].sort());
  expect(after).toEqual(before);
});
