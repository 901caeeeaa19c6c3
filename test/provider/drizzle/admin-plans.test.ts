import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { INDEXES_ONLY, listInstancesPage } from '../../../src/provider/drizzle/admin/list-instances-page.js';
import { countByStatus } from '../../../src/provider/drizzle/admin/count-by-status.js';
import type { InstancePageQuery } from '../../../src/provider/instance-pages.js';
import { explain, scannedTables } from './operations/explain.js';
import { type Bench, openBench } from './operations/support.js';

/** More than a page walks past, and more of some conditions than are read as a whole. */
const ROWS = 24_000;

let bench: Bench;
let client: pg.Client;

beforeAll(async () => {
  bench = await openBench();
  client = await bench.client();
  // The older half has failed, a few run; one parent has half of all, and others have ten each.
  await bench.sql(`insert into instances
    select prefix || n, 'Orch' || n % 7, '1.0.0', 1, timestamptz '2030-01-01' + n * interval '1 second', '2031-01-01',
      case when n % 2 = 0 then 'many' when n % 3 = 0 then 'few-' || n / 60 end,
      case when n % 4 = 0 then 'step ' || n % 5 when n = 77 then 'rare' end, 0
    from generate_series(1, ${ROWS}) n, lateral (select case when n % 1000 = 0 then 'rare-' else 'order-' end) p(prefix)`);
  await bench.sql(`insert into executions
    select instance_id, 1, case when n <= ${ROWS / 2} then 'Failed' when n % 500 = 0 then 'Running' else 'Completed' end,
      null, created_at, null, 0, 1, 30
    from (select *, row_number() over (order by created_at) as n from instances) i`);
  await bench.sql('vacuum analyze instances, executions');
}, 120_000);
afterAll(() => bench.close());

/** All pages of a query, with what its statements were. */
async function walk(query: Omit<InstancePageQuery, 'after'>, pages: number) {
  const ids: string[] = [];
  let after: string | undefined;
  bench.ran.length = 0;
  for (let page = 0; page < pages; page++) {
    const { instances, next } = await listInstancesPage(bench.ctx, { ...query, after });
    ids.push(...instances.map(({ instanceId }) => instanceId));
    if (next === null) return { ids, isLast: true, statements: bench.ran.splice(0) };
    after = next;
  }
  return { ids, isLast: false, statements: bench.ran.splice(0) };
}

/** What the tables say, without a page. */
async function expected(where: string): Promise<string[]> {
  const rows = await bench.sql(`select i.instance_id from instances i join executions e using (instance_id)
    where ${where} order by i.created_at desc, i.instance_id desc`);
  return rows.map((row) => String(row['instance_id']));
}

const CASES: readonly [name: string, query: Omit<InstancePageQuery, 'limit' | 'after'>, where: string][] = [
  ['no condition', {}, 'true'],
  ['a status of many, all of them old', { status: 'Failed' }, `status = 'Failed'`],
  ['a status of few', { status: 'Running' }, `status = 'Running'`],
  ['a status without an index', { status: 'Completed' }, `status = 'Completed'`],
  ['a name', { name: 'Orch3' }, `orchestration_name = 'Orch3'`],
  ['a parent of many', { parent: 'many' }, `parent_instance_id = 'many'`],
  ['a parent of few', { parent: 'few-7' }, `parent_instance_id = 'few-7'`],
  ['roots', { parent: null }, 'parent_instance_id is null'],
  ['the beginning of most ids', { idPrefix: 'order-' }, `instance_id like 'order-%'`],
  ['the beginning of few ids', { idPrefix: 'rare-' }, `instance_id like 'rare-%'`],
  ['a custom status of few', { customStatusPrefix: 'rare' }, `custom_status like 'rare%'`],
  ['a custom status of many', { customStatusPrefix: 'step 2' }, `custom_status like 'step 2%'`],
  [
    'a time',
    { createdAfterMs: Date.UTC(2030, 0, 1, 1), createdBeforeMs: Date.UTC(2030, 0, 1, 2) },
    `created_at >= '2030-01-01T01:00Z' and created_at < '2030-01-01T02:00Z'`,
  ],
  [
    'a time of the last turn',
    { updatedAfterMs: Date.UTC(2031, 0, 1) - 1, updatedBeforeMs: Date.UTC(2031, 0, 1) + 1 },
    `updated_at >= '2030-12-31T23:59:59.999Z' and updated_at < '2031-01-01T00:00:00.001Z'`,
  ],
  [
    'a status of many that ended in time',
    { status: 'Failed', updatedAfterMs: Date.UTC(2030, 11, 31) },
    `status = 'Failed' and updated_at >= '2030-12-31'`,
  ],
  ['a last turn that is long ago', { updatedBeforeMs: Date.UTC(2029, 0, 1) }, 'false'],
  [
    'all of them together',
    { status: 'Failed', name: 'Orch2', parent: 'many', idPrefix: 'order-', customStatusPrefix: 'step', createdAfterMs: 0 },
    `status = 'Failed' and orchestration_name = 'Orch2' and parent_instance_id = 'many' and instance_id like 'order-%'
      and custom_status like 'step%'`,
  ],
];

describe('P:3.4.12 pages of instances', () => {
  test.each(CASES)('%s: every page by an index, and together all that fit, in order', async (_name, query, where) => {
    const { ids, isLast, statements } = await walk({ ...query, limit: 500 }, 100);
    expect(isLast).toBe(true);
    expect(ids).toEqual(await expected(where));
    const distinct = new Map(statements.map((statement) => [statement.text, statement]));
    for (const statement of distinct.values()) {
      const explained = await explain(client, statement, INDEXES_ONLY);
      expect(scannedTables(explained)).toEqual([]);
      // A bitmap has no order: it reads and sorts all that fit for a page of a few.
      expect(explained.nodes.map((node) => node['Node Type']).filter((type) => /^Bitmap/.test(type ?? ''))).toEqual([]);
    }
  });

  test('counts by status read no table from end to end, and say what they estimate', async () => {
    bench.ran.length = 0;
    const counts = await countByStatus(bench.ctx);
    const statements = bench.ran.splice(0);
    const count = (status: string) => counts.find((one) => one.status === status);
    expect(count('Running')).toMatchObject({ isEstimate: false });
    expect(count('Failed')).toMatchObject({ isEstimate: true });
    expect(Math.abs((count('Failed')?.count ?? 0) - ROWS / 2)).toBeLessThan(ROWS / 20);
    expect(counts.reduce((sum, one) => sum + one.count, 0)).toBe(ROWS);
    for (const statement of statements) {
      const { nodes } = await explain(client, statement);
      const rows = nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Actual Rows'] ?? 0);
      // A bounded count may begin to read a table, but not go on to its end.
      expect(Math.max(0, ...rows)).toBeLessThanOrEqual(10_001);
    }
  });
});
