/**
 * Pages of instances on a million of them: the time of any page of any filter, and the cost
 * of counts by status. Goal: p95 of at most 100 ms. Starts a PostgreSQL of its own, unless
 * `DATABASE_URL` names a server that may be filled: there what was filled stays in the schema
 * `ddz_bench_pages`, and is used by the next run.
 *
 *     npx tsx bench/pages.ts [--quick]
 */
import { DrizzleProvider } from '../src/provider/drizzle/drizzle-provider.js';
import type { InstancePageQuery } from '../src/provider/instance-pages.js';
import { benchArguments } from './harness/arguments.js';
import { median, percentile } from './harness/statistics.js';
import { formatTable, short } from './harness/table.js';
import pg from 'pg';
import { writeFile } from 'node:fs/promises';
import { startPostgresServer } from '../test/support/postgres-server.js';
import { atMost, printGoals } from './harness/goal.js';

const GOAL_MS = 100;
const SCHEMA = 'ddz_bench_pages';
const PAGES = 60;
const LIMIT = 50;

const { quick, json } = benchArguments();
const rows = quick ? 100_000 : 1_000_000;
const given = process.env['DATABASE_URL'];
const server = given ? undefined : await startPostgresServer();
const url = given ?? server?.url ?? '';

const provider = await DrizzleProvider.connect(url, { schema: SCHEMA, maxConnections: 1 });
const pool = new pg.Pool({ connectionString: url, max: 1, options: `-c search_path=${SCHEMA}` });
await fill();

const day = 86_400_000;
const newestMs = Date.UTC(2030, 0, 1) + rows * 1_000;
const FILTERS: Record<string, Omit<InstancePageQuery, 'limit' | 'after'>> = {
  'no filter': {},
  'Completed (93 %)': { status: 'Completed' },
  'Failed (5 %, the oldest)': { status: 'Failed' },
  'Running (0.2 %)': { status: 'Running' },
  'name (5 %)': { name: 'Orchestration3' },
  'name and Failed': { name: 'Orchestration3', status: 'Failed' },
  'roots (45 %)': { parent: null },
  'parent of 50,000': { parent: 'order-1' },
  'parent of 10': { parent: 'order-4711' },
  'prefix of all': { idPrefix: 'order-' },
  'prefix of 1,111': { idPrefix: 'order-123' },
  'prefix of one': { idPrefix: `order-${rows - 7}` },
  'custom status (2 %)': { customStatusPrefix: 'step 3' },
  'custom status of one': { customStatusPrefix: 'rare' },
  'a day in the middle': {
    createdAfterMs: newestMs - (rows * 1_000) / 2,
    createdBeforeMs: newestMs - (rows * 1_000) / 2 + day,
  },
  'everything at once': {
    status: 'Failed',
    name: 'Orchestration3',
    parent: null,
    idPrefix: 'order-',
    customStatusPrefix: 'step',
  },
};

const admin = provider.asManagement();
const results: (string | number)[][] = [];
let worst = 0;
for (const [name, query] of Object.entries(FILTERS)) {
  const times: number[] = [];
  let [found, short_, after] = [0, 0, undefined as string | undefined];
  for (let page = 0; page < PAGES; page++) {
    const begin = performance.now();
    const { instances, next } = await admin.listInstancesPage({ ...query, limit: LIMIT, after });
    times.push(performance.now() - begin);
    found += instances.length;
    if (instances.length < LIMIT && next !== null) short_ += 1;
    after = next ?? undefined;
  }
  const p95 = percentile(times, 0.95);
  worst = Math.max(worst, p95);
  results.push([name, short(median(times)), short(p95), short(Math.max(...times)), found, short_]);
}
const begin = performance.now();
const counts = await admin.countByStatus();
results.push(['counts by status', short(performance.now() - begin), '', '', counts.length, '']);
console.log(formatTable(['filter', 'p50 ms', 'p95 ms', 'max ms', 'rows seen', 'short pages'], results));
console.log(`\n${rows.toLocaleString('en-US')} instances, ${PAGES} pages of ${LIMIT}`);
const goal = atMost('the worst p95, ms', worst, GOAL_MS);
printGoals([goal]);
if (json) await writeFile(json, `${JSON.stringify({ rows, results, goal }, undefined, 2)}\n`);

await pool.end();
await provider.close();
await server?.destroy();
process.exitCode = goal.met ? 0 : 1;

/** A million instances of the kinds that the filters tell apart; what is there already stays. */
async function fill(): Promise<void> {
  const {
    rows: [{ count } = { count: '0' }],
  } = await pool.query<{ count: string }>('select count(*) from instances');
  if (Number(count) === rows) return;
  console.log(`filling ${rows.toLocaleString('en-US')} instances …`);
  await pool.query('truncate instances, executions, history');
  await pool.query(
    `insert into instances
     select 'order-' || n, 'Orchestration' || n % 20, '1.0.0', 1, timestamptz '2030-01-01' + n * interval '1 second',
       timestamptz '2030-01-01' + n * interval '1 second',
       case when n % 20 = 1 then 'order-1' when n % 2 = 0 then 'order-' || n / 10 end,
       case when n % 10 = 0 then 'step ' || n / 10 % 5 when n = 77 then 'rare' end, 1
     from generate_series(1, $1::int) n`,
    [rows],
  );
  await pool.query(
    `insert into executions
     select 'order-' || n, 1, case when n <= $1 / 20 then 'Failed' when n % 500 = 0 then 'Running' else 'Completed' end,
       '"output"', timestamptz '2030-01-01' + n * interval '1 second', timestamptz '2030-01-01' + n * interval '1 second', 0, 1, 30
     from generate_series(1, $1::int) n`,
    [rows],
  );
  await pool.query('vacuum analyze instances, executions');
  // What the filling left to write would be measured with the first pages.
  if (server) await pool.query('checkpoint');
}
