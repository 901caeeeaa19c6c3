import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type {
  HistoryView,
  InstancePageView,
  InstanceView,
  OverviewView,
  RetryView,
  QueuesView,
  SchedulesView,
} from '../../src/dashboard/views.js';
import { declareOrchestration } from '../../src/typed/definitions.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { codeOf, DashboardUnderTest, mount, type Mounted } from './stage.js';

/** Ids that mean something in a path, a query, a shell, a pattern or in HTML. */
const AWKWARD_IDS = [
  'a/b/../c',
  '..',
  'x?y=1&z=2#frag',
  '100%',
  '%2e%2e%2f',
  'it\'s $HOME `id` \\ "quoted"',
  '<b>bold</b>',
  'space and + plus',
  'über-⚙️-日本',
  'like_%_pattern',
];

let stage: DashboardUnderTest;
let mounted: Mounted;
let attempts = 0;
beforeAll(async () => {
  stage = await DashboardUnderTest.open({
    activities: {
      Echo: (_ctx, input: unknown) => input,
      Third: () => {
        attempts++;
        if (attempts === 1) throw new Error('the third step failed');
        return 'third';
      },
    },
    orchestrations: {
      *Wait(ctx, input: unknown) {
        ctx.setCustomStatus('waiting');
        ctx.setValue('input', JSON.stringify(input));
        const data: unknown = yield ctx.waitForEvent('go');
        return { data };
      },
      *Queue(ctx) {
        return (yield ctx.dequeueEvent('mail')) as unknown;
      },
      *Big(_ctx, input: { size: number }) {
        return 'x'.repeat(input.size);
      },
      *Steps(ctx) {
        yield ctx.scheduleActivity('Echo', 1);
        yield ctx.scheduleActivity('Echo', 2);
        return (yield ctx.scheduleActivity('Third', 3)) as unknown;
      },
      *Parent(ctx) {
        yield ctx.all([ctx.scheduleSubOrchestration('Wait', 1), ctx.scheduleSubOrchestration('Wait', 2)]);
      },
      *Again(ctx, round: number) {
        if (round < 3) yield ctx.continueAsNew(round + 1);
        return round;
      },
      *Boom() {
        throw new Error('thrown by the code itself');
      },
    },
  });
  mounted = stage.mount();
});
afterAll(() => stage.close());

async function start(id: string, name: string, input?: unknown): Promise<void> {
  await stage.runtime.client.startOrchestration(id, name, input);
  await stage.runtime.settle();
}
const instance = async (id: string) => (await mounted.get('instance', { id })).body as InstanceView;
const history = async (query: Record<string, string>) => (await mounted.get('history', query)).body as HistoryView;
const list = async (query: Record<string, string> = {}) =>
  (await mounted.get('instances', query)).body as InstancePageView;

describe('one instance', () => {
  test.each(AWKWARD_IDS)('id %j is found, listed, read, steered and deleted', async (id) => {
    await start(id, 'Wait', { id });
    expect((await instance(id)).row).toMatchObject({ id, name: 'Wait', status: 'Running' });
    expect((await list({ id })).rows.map((row) => row.id)).toContain(id);
    expect((await history({ id })).events[0]).toMatchObject({ kind: 'OrchestrationStarted' });
    expect((await mounted.post('raise', { id, name: 'go', data: '{"ok":true}' })).status).toBe(200);
    await stage.runtime.settle();
    expect((await instance(id)).output?.text).toBe('{"data":{"ok":true}}');
    expect((await mounted.post('delete', { id })).status).toBe(200);
    expect((await mounted.get('instance', { id })).status).toBe(404);
  });

  test('has its custom status, values, executions and bars', async () => {
    await start('whole', 'Wait', { a: 1 });
    expect(await instance('whole')).toMatchObject({
      values: [{ key: 'input', value: { text: '{"a":1}', cut: false } }],
      executions: [1],
      ancestors: [],
      children: { rows: [], next: null },
      output: null,
    });
    expect(await history({ id: 'whole' })).toMatchObject({
      executionId: 1,
      status: 'Running',
      customStatus: 'waiting',
      timeline: { lanes: [{ kind: 'event', label: 'go' }] },
    });
  });

  test('knows its parents and its children', async () => {
    await start('family', 'Parent');
    const { children } = await instance('family');
    expect(children.rows.map(({ name, parent }) => [name, parent])).toEqual([
      ['Wait', 'family'],
      ['Wait', 'family'],
    ]);
    const child = children.rows[0]?.id ?? '';
    expect((await instance(child)).ancestors).toEqual([{ id: 'family', name: 'Parent', status: 'Running' }]);
    expect(codeOf(await mounted.post('delete', { id: child, force: true }))).toBe('child');
    expect((await list({ parent: 'family' })).rows).toHaveLength(2);
    expect((await list({ roots: 'true', id: 'family' })).rows.map(({ id }) => id)).toEqual(['family']);
  });

  test('shows each of its executions', async () => {
    await start('again', 'Again', 1);
    expect((await instance('again')).executions).toEqual([1, 2, 3]);
    expect(await history({ id: 'again', execution: '1' })).toMatchObject({ status: 'ContinuedAsNew', executionId: 1 });
    expect(await history({ id: 'again' })).toMatchObject({ status: 'Completed', executionId: 3 });
    expect(await mounted.get('history', { id: 'again', execution: '4' })).toMatchObject({ status: 404 });
  });

  test('long payloads are cut, and whole in the download, which no browser shows', async () => {
    await start('big', 'Big', { size: 50_000 });
    const { output } = await instance('big');
    expect(output).toMatchObject({ length: 50_002, cut: true });
    expect(output?.text).toHaveLength(2_000);
    const { events } = await history({ id: 'big' });
    const end = events.at(-1);
    const downloads = ['/api/output?id=big', `/api/payload?id=big&event=${end?.eventId}&field=output`];
    for (const path of downloads) {
      const answer = await mounted.fetch(path);
      expect(await answer.text()).toBe(JSON.stringify('x'.repeat(50_000)));
      expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w-]+\.json"$/);
      expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    }
    expect((await mounted.fetch('/api/payload?id=big&event=1&field=output')).status).toBe(404);
    expect((await mounted.fetch('/api/payload?id=big&event=1&field=constructor')).status).toBe(404);
  });

  test('a history is read in pages, from either end', async () => {
    await start('steps-pages', 'Wait');
    const whole = await history({ id: 'steps-pages' });
    const ids = whole.events.map(({ eventId }) => eventId);
    const first = await history({ id: 'steps-pages', limit: '2' });
    expect(first.events.map(({ eventId }) => eventId)).toEqual(ids.slice(0, 2));
    expect(first.total).toBe(ids.length);
    const rest = await history({ id: 'steps-pages', after: String(ids[1]) });
    expect(rest.events.map(({ eventId }) => eventId)).toEqual(ids.slice(2));
    const last = await history({ id: 'steps-pages', before: '999', limit: '1' });
    expect(last.events.map(({ eventId }) => eventId)).toEqual(ids.slice(-1));
  });
});

describe('steering', () => {
  test('a queue message is taken by its reader', async () => {
    await start('queue', 'Queue');
    await mounted.post('raise', { id: 'queue', name: 'mail', data: '[1,2]', queue: true });
    await stage.runtime.settle();
    expect((await instance('queue')).output?.text).toBe('[1,2]');
  });

  test('no data is null; data that is no JSON is refused with a hint', async () => {
    await start('no-data', 'Wait');
    expect(codeOf(await mounted.post('raise', { id: 'no-data', name: 'go', data: 'hello' }))).toBe('not_json');
    await mounted.post('raise', { id: 'no-data', name: 'go' });
    await stage.runtime.settle();
    expect((await instance('no-data')).output?.text).toBe('{"data":null}');
  });

  test('cancel ends it with the reason; afterwards there is nothing to steer', async () => {
    await start('cancelled', 'Wait');
    await mounted.post('cancel', { id: 'cancelled', reason: 'no longer wanted' });
    await stage.runtime.settle();
    expect(await instance('cancelled')).toMatchObject({
      row: { status: 'Failed' },
      output: { field: 'error', text: 'canceled: no longer wanted' },
    });
    expect(codeOf(await mounted.post('raise', { id: 'cancelled', name: 'go' }))).toBe('ended');
    expect(codeOf(await mounted.post('cancel', { id: 'cancelled' }))).toBe('ended');
    expect((await mounted.get('retry', { id: 'cancelled' })).body).toEqual({
      possible: false,
      reason: 'it was cancelled, no step of it failed',
    });
  });

  test('a running instance is deleted only by force', async () => {
    await start('busy', 'Wait');
    expect(codeOf(await mounted.post('delete', { id: 'busy' }))).toBe('running');
    expect((await mounted.post('delete', { id: 'busy', force: true })).status).toBe(200);
    expect((await list({ id: 'busy' })).rows).toEqual([]);
  });

  test('retry goes on from the failed step, and what succeeded before is not done again', async () => {
    await start('retried', 'Steps');
    expect((await instance('retried')).row.status).toBe('Failed');
    const before = await history({ id: 'retried' });
    const retry = (await mounted.get('retry', { id: 'retried' })).body as RetryView;
    expect(retry).toMatchObject({ possible: true, step: 'activity Third' });
    if (!retry.possible) throw new Error('it is possible');
    expect((await mounted.post('retry', { id: 'retried', toEventId: retry.toEventId })).status).toBe(200);
    await stage.runtime.settle();
    expect(await instance('retried')).toMatchObject({ row: { status: 'Completed' }, output: { text: '"third"' } });
    const after = await history({ id: 'retried' });
    expect(after.events.slice(0, retry.toEventId)).toEqual(before.events.slice(0, retry.toEventId));
  });

  test.each(['raise', 'cancel', 'retry', 'delete'])('%s of an unknown instance is not found', async (action) => {
    const more = { raise: { name: 'go' }, cancel: {}, retry: { toEventId: 1 }, delete: {} }[action];
    expect(await mounted.post(action, { id: 'nobody', ...more })).toMatchObject({ status: 404 });
  });
});

describe('the list', () => {
  beforeAll(async () => {
    for (let n = 0; n < 7; n++) {
      stage.clock.advance(1_000);
      await stage.runtime.client.startOrchestration(`page-${n}`, n % 2 === 0 ? 'Big' : 'Boom', { size: 1 });
      await stage.runtime.settle();
    }
  });

  test('goes through all pages, newest first, nothing twice', async () => {
    const seen: string[] = [];
    let after: string | null = '';
    do {
      const page: InstancePageView = await list({ id: 'page-', limit: '3', after });
      seen.push(...page.rows.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `page-${n}`));
  });

  test('combines its filters', async () => {
    const ids = async (query: Record<string, string>) =>
      (await list({ id: 'page-', ...query })).rows.map(({ id }) => id);
    expect(await ids({ status: 'Failed' })).toEqual(['page-5', 'page-3', 'page-1']);
    expect(await ids({ name: 'Big', status: 'Completed' })).toEqual(['page-6', 'page-4', 'page-2', 'page-0']);
    expect(await ids({ name: 'Big', status: 'Failed' })).toEqual([]);
    const third = (await list({ id: 'page-3' })).rows[0]?.createdAtMs ?? 0;
    expect(await ids({ createdAfter: String(third) })).toEqual(['page-6', 'page-5', 'page-4', 'page-3']);
    expect(await ids({ createdBefore: String(third) })).toEqual(['page-2', 'page-1', 'page-0']);
    expect((await list({ customStatus: 'wait' })).rows.every(({ customStatus }) => customStatus === 'waiting')).toBe(
      true,
    );
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['a cursor of another query', { status: 'Failed', after: 'CURSOR' }, /cursor/i],
    ['a cursor that is none', { after: 'nonsense' }, /cursor/i],
    ['an unknown status', { status: 'failed' }, /'status' must be one of Running.*got 'failed'/],
    ['a limit that is too large', { limit: '5000' }, /'limit' must be a whole number from 1 to 1000, got '5000'/],
    ['a limit that is no number', { limit: '1e3' }, /'limit' must be a whole number/],
    ['a moment that is none', { createdAfter: 'yesterday' }, /'createdAfter' must be a whole number/],
    ['a parameter that does not exist', { statsu: 'Failed' }, /Unknown parameter 'statsu'; expected: status/],
  ])('%s is a clear 400', async (_what, query, message) => {
    const { next } = await list({ id: 'page-', limit: '2' });
    const given = query['after'] === 'CURSOR' ? { ...query, after: next ?? '' } : query;
    const { status, body } = await mounted.get('instances', given);
    expect([status, (body as { error: { message: string } }).error.message]).toEqual([
      400,
      expect.stringMatching(message),
    ]);
  });

  test('a parameter that is given twice or is missing is a clear 400', async () => {
    expect((await mounted.fetch('/api/instances?limit=1&limit=2')).status).toBe(400);
    expect(await mounted.get('instance')).toMatchObject({
      status: 400,
      body: { error: { message: "Parameter 'id' is missing." } },
    });
  });
});

describe('text that the store cannot hold is a 400 that names it', () => {
  test.each<[string, Record<string, string>, string]>([
    ['instances', { name: '\0' }, 'name'],
    ['instances', { id: 'x\0' }, 'id'],
    ['instances', { parent: '\0x' }, 'parent'],
    ['instances', { customStatus: '\0' }, 'customStatus'],
    ['instance', { id: '\0' }, 'id'],
    ['children', { id: '\0' }, 'id'],
    ['history', { id: '\0' }, 'id'],
    ['payload', { id: '\0', event: '1', field: 'input' }, 'id'],
    ['retry', { id: '\0' }, 'id'],
    ['value', { id: 'x', key: '\0' }, 'key'],
    ['output', { id: '\0' }, 'id'],
    ['live/instance', { id: '\0' }, 'id'],
    ['live/instances', { name: '\0' }, 'name'],
  ])('%s of %j', async (path, query, name) => {
    const expected = `Parameter '${name}' must not contain NUL (U+0000) or unpaired surrogates.`;
    expect(await mounted.get(path, query)).toEqual({
      status: 400,
      body: { error: { code: 'bad_request', message: expected } },
    });
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['raise', { id: 'x\0', name: 'go' }, 'id'],
    ['raise', { id: 'x', name: 'go\0' }, 'name'],
    ['raise', { id: '\ud800', name: 'go' }, 'id'],
    ['cancel', { id: 'x\0' }, 'id'],
    ['cancel', { id: 'x', reason: '\udc00' }, 'reason'],
    ['delete', { id: 'x\0' }, 'id'],
    ['retry', { id: 'x\0', toEventId: 1 }, 'id'],
    ['schedule/pause', { id: 'x\0' }, 'id'],
    ['queue/pause', { id: 'x\0' }, 'id'],
  ])('action %s with %j', async (action, body, name) => {
    const expected = `Field '${name}' must not contain NUL (U+0000) or unpaired surrogates.`;
    expect(await mounted.post(action, body)).toEqual({
      status: 400,
      body: { error: { code: 'bad_request', message: expected } },
    });
  });
});

describe('schedules', () => {
  const rows = async () => {
    const { schedules } = (await mounted.get('schedules')).body as SchedulesView;
    if (!schedules.ok) throw new Error(schedules.reason);
    return schedules.value.rows;
  };

  test('are shown with their times; paused, resumed, triggered and deleted', async () => {
    const { client } = stage.runtime;
    expect(await rows()).toEqual([]);
    const nowMs = stage.clock.nowMs();
    const id = "it's <b>nightly</b> / 100%";
    await client.schedules.create({ id, orchestration: 'Big', input: { size: 1 }, everyMs: 60_000, overlap: 'skip' });
    expect(await rows()).toMatchObject([
      {
        id,
        orchestration: 'Big',
        cron: null,
        everyMs: 60_000,
        overlap: 'skip',
        queue: null,
        isPaused: false,
        nextFireAtMs: nowMs + 60_000,
      },
    ]);
    expect((await mounted.post('schedule/pause', { id })).status).toBe(200);
    expect(await rows()).toMatchObject([{ id, isPaused: true, problem: null, nextFireAtMs: null }]);
    expect((await mounted.post('schedule/resume', { id })).status).toBe(200);
    expect(await rows()).toMatchObject([{ id, isPaused: false }]);
    const triggered = await mounted.post('schedule/trigger', { id });
    const { instance: started } = triggered.body as { instance: string };
    await stage.runtime.settle();
    expect(await client.getStatus(started)).toMatchObject({ status: 'Completed', output: '"x"' });
    expect(await rows()).toMatchObject([{ id, lastInstanceId: started }]);
    expect((await mounted.post('schedule/delete', { id })).status).toBe(200);
    expect(await rows()).toEqual([]);
  });

  test('of a store that keeps none: the page says so', async () => {
    const bare = mount({ provider: new MemoryProvider(stage.clock) });
    expect(await bare.get('schedules')).toMatchObject({
      status: 200,
      body: { schedules: { ok: false, reason: expect.stringContaining('keeps no schedules') as unknown } },
    });
    bare.dashboard.close();
  });

  test.each(['pause', 'resume', 'trigger', 'delete'])('%s of an unknown one is not found', async (action) => {
    expect(await mounted.post(`schedule/${action}`, { id: 'nobody' })).toMatchObject({
      status: 404,
      body: { error: { message: "There is no schedule 'nobody'." } },
    });
  });
});

describe('start queues', () => {
  const rows = async () => {
    const { queues } = (await mounted.get('queues')).body as QueuesView;
    if (!queues.ok) throw new Error(queues.reason);
    return queues.value.rows;
  };

  test('are shown with limits, what runs and waits, and their keys; paused and resumed', async () => {
    const { client } = stage.runtime;
    expect(await rows()).toEqual([]);
    const id = "it's <b>mail</b> / 100%";
    await client.startQueues.create({ id, concurrency: 2, rate: { limit: 9, periodMs: 60_000 } });
    const atMs = stage.clock.nowMs();
    for (const n of [1, 2, 3]) {
      await client.start(declareOrchestration('Big'), undefined, {
        id: `queued-${n}`,
        queue: id,
        key: n < 3 ? 'ann' : 'bob',
      });
    }
    expect(await rows()).toEqual([
      {
        ...{ id, concurrency: 2, concurrencyPerKey: null, rate: { limit: 9, periodMs: 60_000 }, ratePerKey: null },
        ...{ isPaused: false, oldestWaitingAtMs: atMs, isPartOfKeys: false },
        waiting: { count: 3, isAtLeast: false },
        running: { count: 0, isAtLeast: false },
        keys: [
          { key: 'ann', waiting: 2, running: 0, oldestWaitingAtMs: atMs },
          { key: 'bob', waiting: 1, running: 0, oldestWaitingAtMs: atMs },
        ],
      },
    ]);
    expect((await mounted.post('queue/pause', { id })).status).toBe(200);
    expect(await rows()).toMatchObject([{ id, isPaused: true }]);
    expect((await mounted.post('queue/resume', { id })).status).toBe(200);
    expect(await rows()).toMatchObject([{ id, isPaused: false }]);
    await client.startQueues.delete(id, { waiting: 'discard' });
    expect(await rows()).toEqual([]);
  });

  test('of a store that keeps none: the page says so', async () => {
    const bare = mount({ provider: new MemoryProvider(stage.clock) });
    expect(await bare.get('queues')).toMatchObject({
      status: 200,
      body: { queues: { ok: false, reason: expect.stringContaining('keeps no start queues') as unknown } },
    });
    bare.dashboard.close();
  });

  test.each(['pause', 'resume'])('%s of an unknown one is not found; not what is no id', async (action) => {
    expect(await mounted.post(`queue/${action}`, { id: 'nobody' })).toMatchObject({
      status: 404,
      body: { error: { message: "There is no start queue 'nobody'." } },
    });
    expect(await mounted.post(`queue/${action}`, { id: 'x'.repeat(300) })).toMatchObject({ status: 400 });
  });
});

test('the overview has counts, queues, throughput and failures', async () => {
  const overview = (await mounted.get('overview')).body as OverviewView;
  expect(overview.counts).toMatchObject({ ok: true });
  expect(overview.queues).toMatchObject({ ok: true, value: [{ name: 'orchestrator' }, { name: 'worker' }] });
  expect(overview.workers).toEqual({ ok: true, value: expect.any(Array) as unknown });
  expect(overview.failures.ok && overview.failures.value.map(({ id }) => id)).toContain('page-5');
  if (!overview.throughput.ok) throw new Error(overview.throughput.reason);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const { started, failed, sampleSize, partialBeforeMs } = overview.throughput.value;
  expect(sum(started)).toBe(sampleSize);
  expect(sum(failed)).toBeGreaterThanOrEqual(3);
  expect(partialBeforeMs).toBeNull();
});

test('mounted below a path, with and without the path taken off', async () => {
  const below = stage.mount({ basePath: '/ops/flows' });
  for (const path of ['/ops/flows/', '/ops/flows', '/']) {
    const page = await below.fetch(path);
    expect(await page.text()).toContain('src="/ops/flows/assets/app.js"');
  }
  expect((await below.fetch('/ops/flows/api/session')).status).toBe(200);
  expect((await below.fetch('/ops/flowsapi/session')).status).toBe(404);
});
