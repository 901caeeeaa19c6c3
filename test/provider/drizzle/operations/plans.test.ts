import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { ackOrchestrationItems } from '../../../../src/provider/drizzle/operations/ack-orchestration-items.js';
import { ackWorkItems } from '../../../../src/provider/drizzle/operations/ack-work-items.js';
import { due } from '../../../../src/provider/drizzle/operations/due.js';
import { fetchOrchestrationItems } from '../../../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import { fetchWorkItems } from '../../../../src/provider/drizzle/operations/fetch-work-items.js';
import type { VersionFilter } from '../../../../src/provider/provider.js';
import { buffersOf, explain, type Explained, largestSort, scannedTables } from './explain.js';
import {
  activity,
  type Bench,
  completed,
  event,
  helloMetadata,
  LOCK,
  openBench,
  outcomes,
  type RanStatement,
  raised,
  started,
  TABLES,
  turnOf,
} from './support.js';

const ROWS = 100_000;
const LIVE_LOCKS = 2_000;
const FILTER: VersionFilter = {
  ranges: [{ min: { major: 0, minor: 0, patch: 0 }, max: { major: 0, minor: 1, patch: 30 } }],
};
const BIG_TABLES = ['orchestrator_queue', 'worker_queue', 'instances', 'executions', 'history'];
const LONG_AGO = '2020-01-01T00:00:00Z';

let bench: Bench;
let client: pg.Client;

beforeAll(async () => {
  bench = await openBench();
  client = await bench.client();
  // Statistics come when a test asks for them, and never else.
  for (const table of TABLES) await bench.sql(`alter table ${table} set (autovacuum_enabled = false)`);
}, 120_000);
afterAll(() => bench.close());

/** The statements that `use` runs, which must be few enough to be told apart by a part of their text. */
async function statementsOf(use: () => Promise<unknown>): Promise<(part: string) => RanStatement> {
  bench.ran.length = 0;
  await use();
  const ran = bench.ran.splice(0);
  return (part) => {
    const statement = ran.find(({ text }) => text.includes(part));
    if (!statement) throw new Error(`nothing ran with: ${part}`);
    return statement;
  };
}

async function empty(): Promise<void> {
  await bench.sql(`truncate ${TABLES.join(', ')}`);
  await bench.sql(`vacuum analyze ${TABLES.join(', ')}`);
}

/** So many instances in the middle of their work, with a message each, one millisecond after the other. */
async function fillOrchestratorQueue(visibleAt: string): Promise<void> {
  const insert = (into: string, select: string, series = `generate_series(1, ${ROWS}) n`) =>
    bench.sql(`insert into ${into} select ${select} from ${series}`);
  await insert(
    'orchestrator_queue (instance_id, work_item, visible_at, created_at)',
    `'i-' || n, '{"ExternalRaised":{"instance":"i-' || n || '","name":"Go","data":"1"}}',
      timestamptz '${visibleAt}' + n * interval '1 millisecond', timestamptz '${visibleAt}'`,
  );
  await insert('instances', `'i-' || n, 'Hello', '1.0.0', 1, '${LONG_AGO}', '${LONG_AGO}', null, null, 0`);
  await insert('executions', `'i-' || n, 1, 'Running', null, timestamptz '${LONG_AGO}', null::timestamptz, 0, 1, 30`);
  const events = `generate_series(1, ${ROWS}) n, generate_series(1, 2) e`;
  await insert('history', `'i-' || n, 1, e, 'Event', '{}', timestamptz '${LONG_AGO}'`, events);
}

async function lockInstances(from: number, to: number): Promise<void> {
  await bench.sql('truncate instance_locks');
  await bench.sql(`insert into instance_locks select 'i-' || n, 'other-' || n, $3, 0 from generate_series($1::int, $2::int) n`, [
    from,
    to,
    bench.clock.nowMs() + 60_000,
  ]);
}

function expectShortPlan(explained: Explained, windowRows: number): void {
  expect(scannedTables(explained).filter((table) => BIG_TABLES.includes(table))).toEqual([]);
  // What is sorted is a window of two parts, never the backlog.
  expect(largestSort(explained)).toBeLessThanOrEqual(2 * windowRows);
}

function subplan(explained: Explained, name: string) {
  const node = explained.nodes.find((one) => one['Subplan Name'] === name);
  if (!node) throw new Error(`no ${name}`);
  return node;
}

describe('P:3.4.13 the fetch of orchestration items, 100,000 ready rows and 2,000 live locks', () => {
  const cases = [
    { limit: 1, filter: undefined },
    { limit: 1, filter: FILTER },
    { limit: 10, filter: FILTER },
    { limit: 50, filter: undefined },
    { limit: 50, filter: FILTER },
    { limit: 100, filter: FILTER },
    { limit: 500, filter: FILTER },
  ].map(({ limit, filter }) => ({ limit, filter, title: `${limit}${filter ? ' with a version filter' : ''}` }));
  const looks = new Map<string, { grab: RanStatement; peek: RanStatement }>();

  beforeAll(async () => {
    await empty();
    for (const { title, limit, filter } of cases) {
      const ran = await statementsOf(() => fetchOrchestrationItems(bench.ctx, { limit, ...LOCK, filter }));
      looks.set(title, { grab: ran('for update skip locked) r'), peek: ran('has_lock_row') });
    }
    await fillOrchestratorQueue(LONG_AGO);
    await bench.sql(`vacuum analyze ${BIG_TABLES.join(', ')}`);
  }, 120_000);

  describe.each([
    { statistics: 'from when the lock table was empty', analyzes: false },
    { statistics: 'that are fresh', analyzes: true },
  ])('statistics $statistics', ({ analyzes }) => {
    beforeAll(async () => {
      await lockInstances(ROWS - LIVE_LOCKS + 1, ROWS);
      if (analyzes) await bench.sql('analyze instance_locks');
    });

    test.each(cases)('limit $title: the look takes a window of the index', async ({ title, limit }) => {
      const grab = await explain(client, (looks.get(title) as { grab: RanStatement }).grab);
      expectShortPlan(grab, limit);
      expect(buffersOf(subplan(grab, 'CTE candidates'))).toBeLessThanOrEqual(Math.max(150, 10 * limit));
      if (limit === 1) expect(grab.buffers).toBeLessThanOrEqual(150);
      const claimed = grab.nodes.filter((node) => node['Node Type'] === 'ModifyTable');
      expect(claimed.map((node) => node['Actual Rows'])).toEqual([limit, limit]);
    });

    test.each(cases)('limit $title: so does the look without locks', async ({ title, limit }) => {
      const peek = await explain(client, (looks.get(title) as { peek: RanStatement }).peek);
      const window = limit === 1 ? 10 : limit === 10 ? 100 : 500;
      expectShortPlan(peek, window);
      expect(peek.root['Actual Rows']).toBe(window);
      expect(peek.buffers).toBeLessThanOrEqual(Math.max(150, 10 * window));
    });
  });

  test('behind 2,000 instances in their turns: each window goes on where the last one ended', async () => {
    await lockInstances(1, LIVE_LOCKS);
    bench.ran.length = 0;
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 50, ...LOCK, filter: FILTER });
    expect(items.map(({ instance }) => instance)).toEqual(Array.from({ length: 50 }, (_, i) => `i-${LIVE_LOCKS + 1 + i}`));
    const ran = bench.ran.splice(0);
    const peeks = ran.filter(({ text }) => text.includes('has_lock_row'));
    expect(peeks).toHaveLength(5);
    const last = await explain(client, peeks.at(-1) as RanStatement);
    expectShortPlan(last, 500);
    expect(last.buffers).toBeLessThanOrEqual(5_000);

    // What follows the look is found by keys.
    const tokens = await bench.sql('select lock_token from instance_locks where instance_id = $1', [items[0]?.instance]);
    expect(tokens).toEqual([{ lock_token: items[0]?.lockToken }]);
    const load = await explain(client, ran.at(-1) as RanStatement);
    expectShortPlan(load, 500);
    expect(load.buffers).toBeLessThanOrEqual(50 * 30);

    bench.ran.length = 0;
    const turns = items.map((item) =>
      turnOf(item, {
        historyDelta: [event(item.instance, 3, { kind: 'KeyValueSet', key: 'k', value: 'v', lastUpdatedAtMs: 1 })],
        workerItems: [activity(item.instance, 3)],
        orchestratorItems: [raised(item.instance)],
        metadata: { status: 'Completed', output: 'o' },
        cancelledActivities: [{ instance: item.instance, executionId: 1, activityId: 2 }],
      }),
    );
    expect(new Set(outcomes(await ackOrchestrationItems(bench.ctx, turns)))).toEqual(new Set(['ok']));
    for (const statement of bench.ran.splice(0).slice(1)) {
      const explained = await explain(client, statement).catch((error: { code?: string }) => error.code);
      // The rows of the turn are there already; that a key is refused says that it was looked up.
      if (explained === '23505') continue;
      expectShortPlan(explained as Explained, 500);
    }
  });

  test('a warm connection has generic plans for all of it', async () => {
    const counts = await bench.pool.query<{ name: string; custom: string }>(
      "select name, custom_plans::text as custom from pg_prepared_statements where name like 'ddz_%'",
    );
    expect(counts.rows.length).toBeGreaterThan(0);
    expect(counts.rows.filter(({ custom }) => custom !== '0')).toEqual([]);
  });
});

describe('C-25 one row that is due, beside a large backlog that is not; statistics are stale', () => {
  const sources = [
    { title: '300,000 rows that are due in a year', rows: 300_000, visible: `timestamptz '2099-01-01'`, lock: 'null', until: 'null' },
    { title: '100,000 locked rows in front', rows: 100_000, visible: `timestamptz '${LONG_AGO}'`, lock: `'t' || n`, until: '8000000000000' },
  ];
  test.each(sources)('$title', async ({ rows, visible, lock, until }) => {
    await empty();
    const now = new Date(bench.clock.nowMs()).toISOString();
    const orchestrator = await statementsOf(() => fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK, filter: FILTER }));
    const worker = await statementsOf(() => fetchWorkItems(bench.ctx, { limit: 1, ...LOCK, tagFilter: { kind: 'defaultOnly' } }));
    const probe = await statementsOf(() => due(bench.ctx));
    for (const [table, columns] of [
      ['orchestrator_queue', 'instance_id, work_item, visible_at, created_at, lock_token, locked_until'],
      ['worker_queue', 'instance_id, work_item, visible_at, created_at, lock_token, locked_until'],
    ] as const) {
      await bench.sql(`insert into ${table} (${columns})
        select 'i-' || n, '{}', ${visible}, '${LONG_AGO}', ${lock}, ${until} from generate_series(1, ${rows}) n`);
    }
    await bench.sql(`insert into orchestrator_queue (instance_id, work_item, visible_at, created_at) values ('due', '{}', $1, $1)`, [now]);
    await bench.sql(`insert into worker_queue (instance_id, work_item, visible_at, created_at) values ('due', '{}', $1, $1)`, [now]);
    for (const statement of [orchestrator('for update skip locked) r'), orchestrator('has_lock_row'), worker('picked'), probe('union all')]) {
      const explained = await explain(client, statement);
      expectShortPlan(explained, 10);
      expect(explained.buffers).toBeLessThanOrEqual(100);
    }
  }, 120_000);
});

describe('P:3.4.13 the fetch of work items, 100,000 ready rows', () => {
  test.each([
    { limit: 1, session: undefined },
    { limit: 10, session: undefined },
    { limit: 50, session: { ownerId: 'me', lockTimeoutMs: 1_000 } },
  ])('limit $limit, session $session', async ({ limit, session }) => {
    await empty();
    const ran = await statementsOf(() =>
      fetchWorkItems(bench.ctx, { limit, ...LOCK, session, maxNewSessions: 10, tagFilter: { kind: 'defaultOnly' } }),
    );
    await bench.sql(`insert into worker_queue (work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id)
      select '{}', timestamptz '${LONG_AGO}' + n * interval '1 millisecond', '${LONG_AGO}', 'i-' || n, 1, 2,
        case when n % 10 = 0 then 's-' || n end from generate_series(1, ${ROWS}) n`);
    await bench.sql(`insert into sessions select 's-' || n * 10, 'other', $1, 0 from generate_series(1, ${LIVE_LOCKS}) n`, [
      bench.clock.nowMs() + 60_000,
    ]);
    await bench.sql('vacuum analyze worker_queue');
    const explained = await explain(client, ran('picked'));
    expectShortPlan(explained, 500);
    const claimed = explained.nodes.find((node) => node['Node Type'] === 'ModifyTable');
    expect(claimed?.['Actual Rows']).toBe(limit);
    expect(buffersOf(subplan(explained, 'CTE picked'))).toBeLessThanOrEqual(limit === 1 ? 150 : 100 * limit);

    // And their acknowledgement, by the index on the token.
    const acked = await statementsOf(() =>
      ackWorkItems(bench.ctx, [{ instance: 'i-1', lockToken: 'lock_x:1', completion: completed('i-1', 2) }]),
    );
    expectShortPlan(await explain(client, acked('gone')), 10);
  }, 120_000);
});

describe('the first turn of an instance', () => {
  test('is stored by keys', async () => {
    await empty();
    await fillOrchestratorQueue(LONG_AGO);
    await bench.sql(`vacuum analyze ${BIG_TABLES.join(', ')}`);
    await lockInstances(1, 50);
    const { rows } = await client.query<{ instance: string; lockToken: string }>(
      'select instance_id as instance, lock_token as "lockToken" from instance_locks',
    );
    const ran = await statementsOf(async () => {
      const turns = rows.map((lock) =>
        turnOf(lock, { executionId: 2, historyDelta: [started(lock.instance)], metadata: helloMetadata }),
      );
      expect(new Set(outcomes(await ackOrchestrationItems(bench.ctx, turns)))).toEqual(new Set(['ok']));
    });
    for (const part of ['orchestration_name', 'duroxide_version_major', 'unlocked']) {
      expectShortPlan(await explain(client, ran(part)), 100);
    }
  }, 120_000);
});
