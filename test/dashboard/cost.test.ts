import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { InstanceTopic } from '../../src/dashboard/live/instance-topic.js';
import { ListTopic } from '../../src/dashboard/live/list-topic.js';
import { OverviewTopic } from '../../src/dashboard/live/overview-topic.js';
import { InstanceReader } from '../../src/dashboard/model/instance-reader.js';
import { Overview } from '../../src/dashboard/model/overview.js';
import { QueuesTopic } from '../../src/dashboard/live/queues-topic.js';
import { SchedulesTopic } from '../../src/dashboard/live/schedules-topic.js';
import { statementsOfPage } from '../../src/dashboard/model/statement-costs.js';
import type { InstancePageQuery } from '../../src/provider/instance-pages.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { SteppedRuntime } from '../support/runtime-harness.js';
import { waitFor } from '../support/waiting.js';
import { CountingProvider } from './counting-provider.js';
import { mount, type Mounted } from './stage.js';

/** So long every page is watched, on the clock of the test. */
const SECONDS = 60;
/** The dearest reading: what the first of them costs is not waited for before it. */
const DEAREST = 6;
/** More than a set that is read as a whole, and so many newer ones that a walk does not come to them. */
const OLD = 4_500;
const NEW = 16_000;
/** Fits old ones alone, by each of its conditions: the walk finds nothing, and asks where it ended. */
const DEAREST_LIST = 'status=Failed&parent=p&id=old-&customStatus=stuck';

const schema = uniqueSchema('dashcost');
const clock = new FakeClock();
let provider: CountingProvider;
let runtime: SteppedRuntime;
let mounted: Mounted;
let streams: AbortController;

beforeAll(async () => {
  provider = (await CountingProvider.connect(databaseUrl(), {
    schema,
    clock,
    logger: silentLogger,
  })) as CountingProvider;
  runtime = new SteppedRuntime(provider, clock, {
    activities: { Work: () => 'done' },
    orchestrations: {
      *Child() {
        return 'done';
      },
      *Busy(ctx) {
        for (let round = 0; ; round++) {
          yield ctx.waitForEvent('go');
          ctx.setValue('round', String(round));
          yield ctx.scheduleSubOrchestration('Child', null);
          yield ctx.scheduleActivity('Work');
        }
      },
    },
  });
  await withClient(async (client) => {
    await client.query(`set search_path to "${schema}"`);
    for (const [prefix, count, status, parent, custom, day] of [
      ['old-', OLD, 'Failed', 'p', 'stuck', '2020-01-01'],
      ['new-', NEW, 'Completed', null, null, '2021-01-01'],
    ]) {
      await client.query(
        `insert into instances (instance_id, orchestration_name, orchestration_version, current_execution_id, created_at,
           updated_at, parent_instance_id, custom_status)
         select $1::text || n, 'Old', '1.0.0', 1, $5::timestamptz + n * interval '1 s', $5::timestamptz, $3::text, $4::text
         from generate_series(1, $2::int) n`,
        [prefix, count, parent, custom, day],
      );
      await client.query(
        `insert into executions (instance_id, execution_id, status, started_at, completed_at)
         select $1::text || n, 1, $3::text, $4::timestamptz, $4::timestamptz from generate_series(1, $2::int) n`,
        [prefix, count, status, day],
      );
    }
    await client.query('analyze instances; analyze executions');
  });
  for (const id of ['busy-0', 'busy-1', 'busy-2']) await runtime.client.startOrchestration(id, 'Busy');
  await runtime.settle();
}, 60_000);
beforeEach(() => {
  streams = new AbortController();
  mounted = mount({ provider, clock });
});
afterEach(() => {
  streams.abort();
  mounted.dashboard.close();
});
afterAll(async () => {
  await provider.close();
  await dropSchema(schema);
});

/** Opens the stream of a page; what comes is thrown away. */
async function open(path: string): Promise<void> {
  const answer = await mounted.fetch(`/api/live/${path}`, { signal: streams.signal });
  expect(answer.status).toBe(200);
  void answer.body?.pipeTo(new WritableStream(), { signal: streams.signal }).catch(() => undefined);
}

/** What the poll sends while time passes and the instances named do something every five seconds. */
async function sentWhileOpen(paths: readonly string[], busy: readonly string[] = []): Promise<string[]> {
  const sent: string[] = [];
  // What the runtime and the client send is not the dashboard's.
  const ofDashboard = async (use: () => Promise<void>) => {
    provider.sent.length = 0;
    await use();
    sent.push(...provider.sent.splice(0));
  };
  const pollRests = () => waitFor('the poll waits for the clock', () => clock.sleeping > 0);
  await ofDashboard(async () => {
    for (const path of paths) await open(path);
    await pollRests();
  });
  for (let second = 0; second < SECONDS; second++) {
    if (second % 5 === 0) {
      for (const id of busy) await runtime.client.raiseEvent(id, 'go', second);
      await runtime.settle();
    }
    await ofDashboard(async () => {
      clock.advance(1_000);
      await pollRests();
    });
  }
  return sent;
}

describe('an open page costs at most one statement per second', () => {
  test.each<[page: string, paths: string[], busy: string[]]>([
    ['the overview', ['overview'], []],
    ['the list', ['instances'], []],
    ['the schedules', ['schedules'], []],
    ['the start queues', ['queues'], []],
    ['a list of matches that are far apart', [`instances?${DEAREST_LIST}`], []],
    ['a running instance', ['instance?id=busy-0'], ['busy-0']],
    [
      'all of them, many times',
      [
        ...[
          'overview',
          'overview',
          'schedules',
          'queues',
          'instances',
          `instances?${DEAREST_LIST}`,
          'instances?status=Failed',
        ],
        ...['busy-0', 'busy-1', 'busy-2', 'old-1'].map((id) => `instance?id=${id}`),
      ],
      ['busy-0', 'busy-1', 'busy-2'],
    ],
  ])('%s', async (_page, paths, busy) => {
    const sent = await sentWhileOpen(paths, busy);
    expect(sent.length).toBeLessThanOrEqual(SECONDS + DEAREST);
    // And it is looked at all the same.
    expect(sent.length).toBeGreaterThan(SECONDS / 5);
  });
});

describe('what a reading says that it sends is what it sends at most', () => {
  const OLD_ONES = { parent: 'p', idPrefix: 'old-', customStatusPrefix: 'stuck', status: 'Failed' } as const;

  test('each part of the overview, in a store of many instances', async () => {
    const { tasks } = new OverviewTopic(new Overview(provider, clock));
    expect(tasks).toHaveLength(5);
    const sent: number[] = [];
    for (const task of tasks) sent.push(await provider.counted(() => task.run()));
    // Queues, throughput, counts, failures, workers. A walk does not come to the failures.
    expect(sent).toEqual([1, 1, 2, 3, 1]);
    expect(tasks.map(({ statements }) => statements)).toEqual(sent);
  });

  test('the schedules', async () => {
    await runtime.client.schedules.create({ id: 'nightly', orchestration: 'Busy', cron: '0 2 * * *' });
    const [task] = new SchedulesTopic(runtime.client, provider, clock).tasks;
    expect(await provider.counted(async () => task?.run())).toBe(task?.statements);
  });

  test('the start queues', async () => {
    for (const id of ['q', 'r']) await runtime.client.startQueues.create({ id, concurrency: 1 });
    const [task] = new QueuesTopic(provider, clock).tasks;
    expect(await provider.counted(async () => task?.run())).toBe(task?.statements);
  });

  test.each<[query: Omit<InstancePageQuery, 'limit'>, statements: number]>([
    [{}, 1],
    [{ name: 'Old', createdAfterMs: 0, createdBeforeMs: Date.UTC(2025, 1) }, 1],
    [{ idPrefix: '', customStatusPrefix: '' }, 1],
    [{ parent: 'nobody' }, 2],
    [{ parent: 'p' }, 3],
    [{ idPrefix: 'old-' }, 3],
    [{ status: 'Running', name: 'Nothing' }, 2],
    [{ status: 'ContinuedAsNew' }, 2],
    [{ parent: null, customStatusPrefix: 'stuck' }, 3],
    [{ updatedBeforeMs: Date.UTC(2020, 5) }, 2],
    [OLD_ONES, 6],
    [{ ...OLD_ONES, name: 'Old' }, 6],
  ])('a list of %j', async (query, statements) => {
    const admin = provider.asManagement();
    const sent = await provider.counted(() => admin.listInstancesPage({ ...query, limit: 50 }));
    expect(sent).toBe(statements);
    expect(statementsOfPage({ ...query, limit: 50 })).toBeGreaterThanOrEqual(sent);
    expect(new ListTopic(provider, clock, { ...query, limit: 50 }).tasks[0]?.statements).toBeGreaterThanOrEqual(sent);
    expect(statementsOfPage(query)).toBeLessThanOrEqual(DEAREST);
  });

  test.each(['busy-0', 'p', 'nobody'])('each part of the page of an instance: %s', async (id) => {
    const { tasks } = new InstanceTopic(id, provider, new InstanceReader(provider), clock);
    expect(tasks).toHaveLength(5);
    for (const task of tasks) {
      // The head of an instance that is not there is an error; it was asked for all the same.
      const sent = await provider.counted(() => task.run().catch(() => undefined));
      expect(sent).toBeGreaterThan(0);
      expect(sent).toBeLessThanOrEqual(task.statements);
    }
    expect(tasks.map(({ statements }) => statements)).toEqual([1, 1, 1, 1, 3]);
  });
});
