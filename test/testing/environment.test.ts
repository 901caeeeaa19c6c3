import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { z } from 'zod';
import { silentLogger } from '../../src/base/logger.js';
import { activity, declareActivity, event, orchestration } from '../../src/typed/definitions.js';
import { replay, TestEnvironment } from '../../src/testing/index.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const charge = activity('charge', (_ctx, cents: number) => `charged ${cents}`);
const remind = declareActivity<string, void>('remind');
const paid = event<{ readonly cents: number }>('paid');

/** Waits for a payment for an hour, and for the money for 30 days. */
const checkout = orchestration('checkout', async (ctx, cents: number) => {
  const first = await ctx.select({ paid: ctx.dequeue(paid), late: ctx.sleep(HOUR) });
  if (first.key === 'late') {
    await ctx.call(remind, 'late');
    return 'not paid';
  }
  await ctx.sleep(30 * DAY);
  return ctx.call(charge, cents);
});
const settle = orchestration('settle', async (ctx, cents: number) => ctx.call(charge, cents));

/** Fails twice for each start, and is tried again after an hour. */
const checked = activity('checked', (_ctx, n: number) => n, {
  output: z.number().max(10),
  retry: { maxAttempts: 3, backoff: { kind: 'fixed', delayMs: HOUR } },
});
const callChecked = orchestration('callChecked', async (ctx, n: number) => ctx.call(checked, n));
let turns = 0;
const unsteady = orchestration('unsteady', async (ctx) => {
  await ctx.call(charge, ++turns);
  await ctx.sleep(1);
});

describe.each(['pglite', 'pg-mem'] as const)('a test environment on %s', (store) => {
  let env: TestEnvironment;
  let beganAtMs: number;
  beforeAll(async () => {
    env = await TestEnvironment.create({
      store,
      definitions: [checkout, settle, charge, checked, callChecked, unsteady],
      activities: { Greet: (_ctx, name) => `Hello, ${String(name)}` },
      orchestrations: {
        *Hello(ctx, name) {
          yield ctx.scheduleTimer(30 * DAY);
          return yield ctx.scheduleActivity('Greet', name);
        },
      },
      logger: silentLogger,
    });
  }, 60_000);
  afterAll(() => env.close());
  beforeEach(() => {
    env.restoreMocks();
    beganAtMs = env.clock.nowMs();
  });
  const passedMs = () => env.clock.nowMs() - beganAtMs;

  test('a timer of 30 days needs no waiting: no real timer above 100 ms', async () => {
    // What counts is what fires: guards against a database that does not answer are taken back.
    const fired: number[] = [];
    const real = globalThis.setTimeout;
    const timers = jest.spyOn(globalThis, 'setTimeout').mockImplementation(((
      callback: (...args: unknown[]) => void,
      delay?: number,
      ...args: unknown[]
    ) => {
      const fire = () => {
        fired.push(delay ?? 0);
        callback(...args);
      };
      return real(fire, delay);
    }) as typeof setTimeout);
    const handle = await env.client.start(checkout, 5, { id: 'long' });
    await handle.events.enqueue(paid, { cents: 5 });
    expect(await handle.result()).toBe('charged 5');
    timers.mockRestore();
    expect(fired.length).toBeGreaterThan(0);
    expect(fired.filter((delay) => delay > 100)).toEqual([]);
    expect(passedMs()).toBe(30 * DAY);
  });

  test('time stands still while the test does not wait, and goes on while it does', async () => {
    const reminded: string[] = [];
    env.mock(remind, (_ctx, why) => void reminded.push(why));
    const inTime = await env.client.start(checkout, 5, { id: 'in-time' });
    // A test that is busy with something else, with the event loop free to run.
    for (let lap = 0; lap < 50; lap++) await new Promise((resolve) => setImmediate(resolve));
    expect(passedMs()).toBe(0);
    await inTime.events.enqueue(paid, { cents: 5 });
    expect(await inTime.result()).toBe('charged 5');
    const late = await env.client.start(checkout, 5, { id: 'late' });
    expect(await late.result()).toBe('not paid');
    expect(reminded).toEqual(['late']);
  });

  test('sleep lets time pass, with what happens in it', async () => {
    env.mock(remind, () => {});
    const handle = await env.client.start(checkout, 5, { id: 'slept' });
    await env.sleep(HOUR - 1);
    expect((await handle.status()).status).toBe('Running');
    await env.sleep(2);
    expect(await handle.result()).toBe('not paid');
    expect(passedMs()).toBe(HOUR + 1);
  });

  test('mocks replace the code of an activity, and not what its definition says of it', async () => {
    const seen: number[] = [];
    const restore = env.mock(checked, async (ctx, n) => {
      seen.push(n);
      if (seen.length < 3) throw new Error(`busy, ${ctx.activityName}`);
      return n + 1;
    });
    expect(await env.run(callChecked, 1)).toBe(2);
    expect(seen).toEqual([1, 1, 1]);
    expect(passedMs()).toBe(2 * HOUR);
    restore();
    expect(await env.run(callChecked, 7)).toBe(7);
    env.mock(checked, () => 11);
    await expect(env.run(callChecked, 1)).rejects.toThrow('the output of activity');
    // @ts-expect-error a mock has the types of its definition
    env.mock(checked, (ctx, text: string) => `${text} of ${ctx.instanceId} is no number`);
    env.restoreMocks();
    expect(await env.run(callChecked, 8)).toBe(8);
  });

  test('an activity that is only declared says that it needs a mock', async () => {
    env.mock('remind', () => {});
    env.restoreMocks();
    await expect(env.run(checkout, 5)).rejects.toThrow("activity 'remind' has no code in this environment");
  });

  test('an activity may take time: of the virtual clock by sleep, or real time', async () => {
    env.mock(charge, async () => {
      await env.sleep(HOUR / 4);
      await new Promise((resolve) => setTimeout(resolve, 60));
      return 'slowly';
    });
    expect(await env.run(settle, 1)).toBe('slowly');
    expect(passedMs()).toBeGreaterThanOrEqual(HOUR / 4);
    expect(passedMs()).toBeLessThan(HOUR);
    expect(env.metrics()).toMatchObject({ locksLost: 0 });
  });

  test('start queues: rates and ends let starts in, without waiting; pg-mem has none', async () => {
    const { client } = env;
    if (store === 'pg-mem') {
      await expect(client.startQueues.list()).rejects.toThrow(/keeps no start queues/);
      return;
    }
    await client.startQueues.create({ id: 'hourly', concurrency: 1, rate: { limit: 2, periodMs: HOUR } });
    const starts = [1, 2, 3, 4, 5].map((cents) => client.start(settle, cents, { queue: 'hourly' }));
    const results = await Promise.all(starts.map(async (handle) => (await handle).result()));
    expect(results).toEqual([1, 2, 3, 4, 5].map((cents) => `charged ${cents}`));
    // Two at once, two after an hour, one after two; and no more than some pauses of the runtime.
    expect(passedMs()).toBeGreaterThanOrEqual(2 * HOUR);
    expect(passedMs()).toBeLessThan(2 * HOUR + 5_000);
  });

  test('schedules fire at their times on the way, and are waited for', async () => {
    const { client } = env;
    const daily = { orchestration: 'settle', input: 7, cron: '0 3 * * *', timeZone: 'UTC', catchUp: 'all' } as const;
    await client.schedules.create({ id: 'daily', ...daily });
    await client.schedules.create({ id: 'resting', ...daily, paused: true });
    await env.sleep(3 * DAY);
    expect(passedMs()).toBe(3 * DAY);
    expect(await client.schedules.get('daily')).toMatchObject({ firedCount: 3, problem: null });
    const next = (await client.schedules.get('daily')).nextFireAt;
    const status = await client.waitForOrchestration(`daily@${next?.toISOString()}`, 20_000);
    expect(status).toMatchObject({ status: 'Completed', output: 'charged 7' });
    expect(env.clock.nowMs()).toBe(next?.getTime());
    // Nothing moves time any more.
    await client.schedules.delete('daily');
    await client.schedules.delete('resting');
    await env.run(settle, 1);
    expect(env.clock.nowMs()).toBe(next?.getTime());
  });

  test('histories can be kept and replayed', async () => {
    const handle = await env.client.start(checkout, 5, { id: 'kept' });
    await handle.events.enqueue(paid, { cents: 5 });
    await handle.result();
    const kept = JSON.stringify(await env.history('kept'));
    expect(await replay(checkout, kept)).toMatchObject({ orchestration: 'checkout', state: 'completed' });
    await expect(env.history('nobody')).rejects.toThrow('there is no such instance');
  });

  test('a restart, as by a deploy, brings new definitions; what runs goes on', async () => {
    const handle = await env.client.start(checkout, 5, { id: 'deployed' });
    await handle.events.enqueue(paid, { cents: 5 });
    const other = orchestration('other', async () => 'other');
    await env.register(other);
    expect(await env.run(other)).toBe('other');
    expect(await handle.result()).toBe('charged 5');
  });

  describe('crashes', () => {
    let charges: number;
    let crashesBefore: number;
    beforeEach(() => {
      charges = 0;
      crashesBefore = env.crashCount;
      env.mock(charge, () => `charged ${++charges}`);
    });

    const crashes = [
      ['before the result of an activity is stored: it runs again', 'before', charge, {}, 2],
      ['after the result of an activity is stored: it does not', 'after', charge, {}, 1],
      ['before an activity starts', 'before', charge, { at: 'start' }, 1],
      ['before the first turn is stored', 'before', settle, {}, 1],
      ['after the first turn is stored', 'after', settle, {}, 1],
      ['before the second turn is stored', 'before', settle, { nth: 2 }, 1],
      ['before a turn starts', 'before', settle, { at: 'start', nth: 2 }, 1],
    ] as const;
    // What the stores do differently is commit and roll back: one of each shows it.
    const isShort = store === 'pg-mem' && process.env['STORES'] !== 'all';
    test.each(isShort ? crashes.slice(0, 2) : crashes)('%s', async (_title, side, definition, at, expected) => {
      const crash = side === 'before' ? env.crashBefore(definition, at) : env.crashAfter(definition, at);
      expect(crash.happened).toBe(false);
      const id = `crash-${crashesBefore}-${side}`;
      expect(await env.run(settle, 1, { id })).toBe(`charged ${expected}`);
      expect(crash.happened).toBe(true);
      expect(env.crashCount - crashesBefore).toBe(1);
      expect(charges).toBe(expected);
      // Whatever crashed, the history is that of a run without a crash.
      const { events } = await env.history(id);
      expect(events.map((each) => (each as { type: string }).type)).toEqual([
        'OrchestrationStarted',
        'ActivityScheduled',
        'ActivityCompleted',
        'OrchestrationCompleted',
      ]);
    });

    test('only for one instance, and by hand', async () => {
      env.crashBefore(charge, { instance: 's-2' });
      expect(await env.run(settle, 1, { id: 's-1' })).toBe('charged 1');
      expect(env.crashCount - crashesBefore).toBe(0);
      expect(await env.run(settle, 1, { id: 's-2' })).toBe('charged 3');
      expect(env.crashCount - crashesBefore).toBe(1);
      env.crash();
      expect(await env.run(settle, 1, { id: 's-3' })).toBe('charged 4');
      expect(env.crashCount - crashesBefore).toBe(2);
      expect(() => env.crashBefore(charge, { nth: 0 })).toThrow('nth must be a whole number from 1, got 0');
    });
  });

  test('code that is not deterministic fails in the test, because every turn replays', async () => {
    await expect(env.run(unsteady)).rejects.toThrow('nondeterministic');
  });

  test('arguments that cannot be meant are refused with what was given', async () => {
    const circle = 'got undefined; modules that import each other in a circle';
    expect(() => env.mock(undefined as never, () => 1)).toThrow(circle);
    expect(() => env.mock(settle as never, () => 1)).toThrow(
      "env.mock: expected what activity(…) or declareActivity(…) returns, got orchestration 'settle'",
    );
    expect(() => env.mock('Greet', undefined as never)).toThrow("handler of activity 'Greet', got undefined");
    expect(() => env.crashBefore(undefined as never)).toThrow(circle);
    expect(() => env.crashAfter(paid as never)).toThrow("got event 'paid'");
    expect(() => env.crashBefore(charge, { at: 'x' as never })).toThrow("at must be 'start' or 'commit', got 'x'");
    for (const ms of ['x', '1000', NaN, Infinity, undefined, -1]) {
      await expect(env.sleep(ms as never)).rejects.toThrow('env.sleep: expected a finite number of milliseconds');
    }
    expect(passedMs()).toBe(0);
  });

  test('functions of the drop-in API', async () => {
    await env.client.startOrchestration('h-1', 'Hello', 'Ada');
    expect(await env.client.waitForOrchestration('h-1')).toMatchObject({ output: 'Hello, Ada' });
    env.mock('Greet', () => 'mocked');
    await env.client.startOrchestration('h-2', 'Hello', 'Ada');
    expect(await env.client.waitForOrchestrationTyped('h-2')).toBe('mocked');
  });
});

test('definitions that are no array are refused', async () => {
  const single = TestEnvironment.create({ definitions: charge as never });
  await expect(single).rejects.toThrow("definitions: expected an array of definitions, got activity 'charge'");
});

test('an unknown store is refused', async () => {
  const unknown = TestEnvironment.create({ store: 'mysql' as 'auto' });
  await expect(unknown).rejects.toThrow("store must be 'auto', 'pglite', 'pg-mem' or a function that opens a provider");
});
