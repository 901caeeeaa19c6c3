import { activity, declareActivity, declareOrchestration, orchestration } from '../../src/index.js';
import type { Registrable, TypedOrchestrationContext } from '../../src/index.js';
import { joinElement } from '../../src/runtime/generator/payload.js';

const echo = declareActivity<unknown, unknown>('echo');
const add = declareActivity<readonly [unknown, unknown], number>('add');
const fail = declareActivity<unknown, never>('fail');
const flaky = declareActivity<number, string>('flaky');
const nap = declareActivity<number, string>('nap');
const where = declareActivity<number, unknown>('where');

const double = declareOrchestration<unknown, number>('double');
const doubles = double.implement(async (ctx, n) => ctx.call(add, [n, n]));
const waits = declareOrchestration<void, unknown>('waits');
const waiting = waits.implement(async (ctx) => ctx.waitForEvent('never'));

type Task = Promise<unknown>;

/** A race as the drop-in API has it: which of two, and the text of a failure as its value. */
async function race(ctx: TypedOrchestrationContext, ...tasks: readonly [Task, Task]) {
  let index = -1;
  tasks.forEach((task, i) => {
    const note = () => void (index = index < 0 ? i : index);
    task.then(note, note);
  });
  try {
    const value = (await ctx.race(tasks)) ?? null;
    return { index, value };
  } catch (error) {
    return { index, value: (error as Error).message };
  }
}

const outcome = (settled: PromiseSettledResult<unknown>) =>
  settled.status === 'fulfilled'
    ? joinElement({ ok: true, text: JSON.stringify(settled.value ?? null) })
    : joinElement({ ok: false, text: (settled.reason as Error).message });

/**
 * The recorded programs of native, written as async functions: the same decisions in the
 * same order. A text in place of the code says why there is none.
 */
export const asyncEquivalents: Readonly<Record<string, readonly Registrable[] | string>> = {
  activity: [orchestration('hello', async (ctx, input: unknown) => ctx.call(echo, input))],
  'activity-chain': [
    orchestration('chain', async (ctx) => {
      const a = await ctx.call(add, [1, 2]);
      const b = await ctx.call(add, [a, 3]);
      const nothing = await ctx.call(echo);
      return { b, nothing, text: await ctx.call(echo, 'naïve – 漢字 🎉 \u0000 "quoted"') };
    }),
  ],
  'activity-failure': [
    orchestration('catches', async (ctx): Promise<unknown> => {
      try {
        return await ctx.call(fail, 1);
      } catch (error) {
        return (error as Error).message;
      }
    }),
    orchestration('lets go', async (ctx) => {
      try {
        return await ctx.call(fail, 2);
      } catch (error) {
        // The drop-in API throws a plain error of the same text.
        throw new Error((error as Error).message);
      }
    }),
  ],
  retry: [
    orchestration('retry', async (ctx) =>
      ctx.call(flaky, 3, { retry: { maxAttempts: 5, backoff: { kind: 'linear', stepMs: 100 } } }),
    ),
  ],
  'retry-exhausted': [
    orchestration('retry', async (ctx): Promise<unknown> => {
      try {
        return await ctx.call(fail, 'x', { retry: { maxAttempts: 2 } });
      } catch (error) {
        return `gave up: ${(error as Error).message}`;
      }
    }),
  ],
  'retry-timeout': [
    orchestration('retry', async (ctx) => {
      try {
        return await ctx.call(nap, 400, { retry: { maxAttempts: 3 }, timeoutMs: 50 });
      } catch {
        return 'timeout: activity timed out';
      }
    }),
  ],
  timer: [
    orchestration('sleep', async (ctx) => {
      await ctx.sleep(300);
      await ctx.sleep(0);
      return null;
    }),
  ],
  join: [
    orchestration('join', async (ctx) => {
      const empty = await Promise.all([]);
      const settled = await Promise.allSettled([
        ctx.call(echo, { b: 1, a: { z: 9.5e-300, y: 0.1 } }),
        ctx.call(fail, 'j'),
        ctx.sleep(20),
        ctx.waitForEvent('go'),
        ctx.call(declareOrchestration<number, unknown>('child'), 7),
      ]);
      const results = settled.map(outcome);
      return { empty, results, again: await ctx.call(echo, results) };
    }),
    orchestration('child', async (ctx, n: number) => ctx.call(add, [n, 1])),
  ],
  'race-activities': [
    orchestration('race', async (ctx) => {
      const first = await race(ctx, ctx.call(nap, 600), ctx.call(echo, 'fast'));
      const second = await race(ctx, ctx.call(fail, 'r'), ctx.sleep(60_000));
      return { first, second };
    }),
  ],
  'race-untouched-activity': [orchestration('race', async (ctx) => race(ctx, ctx.call(echo, 'late'), ctx.sleep(50)))],
  'race-misuse': 'what the generator API refuses or misreads has no counterpart: races take any number and nest',
  'sessions-tags': [
    orchestration('routed', async (ctx) => {
      const a = await ctx.call(where, 1, { session: 's-1' });
      const b = await ctx.call(where, 2, { session: 's-1' });
      const c = await ctx.call(where, 3, { tag: 'gpu' });
      const d = await ctx.call(where, 4, { session: 's-2', retry: { maxAttempts: 2 } });
      return [a, b, c, d];
    }),
  ],
  'system-calls': [
    orchestration('calls', async (ctx) => {
      const guid = await ctx.newGuid();
      const now = await ctx.now();
      const missing = await ctx.getValueFromInstance('nobody', 'k');
      const found = await ctx.getValueFromInstance('keeper', 'k');
      return { guid: guid.length, now: typeof now, missing, found };
    }),
    orchestration('keeper', async (ctx) => {
      ctx.kv.setText('k', 'kept "so"');
      await ctx.sleep(0);
    }),
  ],
  event: [orchestration('waiter', async (ctx) => [await ctx.waitForEvent('go'), await ctx.waitForEvent('go')])],
  'event-batch': [orchestration('waiter', async (ctx) => [await ctx.waitForEvent('go'), await ctx.waitForEvent('go')])],
  'event-time-out': [
    orchestration('approval', async (ctx) => {
      const first = await race(ctx, ctx.waitForEvent('approve'), ctx.sleep(60));
      return { first, second: await ctx.waitForEvent('approve') };
    }),
  ],
  'event-open-at-end': [
    orchestration('leaves', async (ctx) => {
      await race(ctx, ctx.waitForEvent('a'), ctx.dequeue('q'));
      return race(ctx, ctx.waitForEvent('a'), ctx.waitForEvent('b'));
    }),
  ],
  queue: [
    orchestration('drain', async (ctx) => {
      const got = [await ctx.dequeue('q'), await ctx.dequeue('q')];
      await ctx.call(echo, 'between');
      got.push(await ctx.dequeue('q'), await ctx.dequeue('q'));
      return got;
    }),
  ],
  'queue-time-out': [
    orchestration('worker', async (ctx) => {
      const first = await race(ctx, ctx.dequeue('q'), ctx.sleep(60));
      return { first, second: await ctx.dequeue('q') };
    }),
  ],
  'late-messages': [
    orchestration('short', async (ctx, input: unknown) => {
      await ctx.sleep(0);
      return input;
    }),
  ],
  child: [
    orchestration('parent', async (ctx) => {
      const auto = await ctx.call(double, 2);
      const named = await ctx.call(double, 3, { id: 'named-child' });
      const nested = await ctx.call(declareOrchestration<number, unknown>('middle'), 4);
      return { auto, named, nested };
    }),
    orchestration('middle', async (ctx, input: number) => ctx.call(double, input)),
    doubles,
  ],
  'child-failure': [
    orchestration('parent', async (ctx) => {
      const caught: string[] = [];
      for (const [name, id] of [
        ['throws', 'cf-throws'],
        ['waits', 'cf-waits'],
        ['throws', 'cf-throws'],
      ] as const) {
        try {
          await ctx.call(declareOrchestration(name), undefined, { id });
        } catch (error) {
          caught.push((error as Error).message.split('\n')[0] ?? '');
        }
      }
      return caught;
    }),
    orchestration('throws', async (ctx) => {
      await ctx.sleep(0);
      throw new Error('bad child');
    }),
    waiting,
  ],
  'child-race': [
    orchestration('parent', async (ctx) => {
      const first = await race(ctx, ctx.call(waits), ctx.call(echo, 'won'));
      await ctx.waitForEvent('end');
      return first;
    }),
    waiting,
  ],
  detached: [
    orchestration('starter', async (ctx) => {
      ctx.start(double, 5, { id: 'det-1' });
      await ctx.call(echo, 1);
      ctx.start(double, 6, { id: 'det-2', version: '1.0.0' });
      return null;
    }),
    doubles,
  ],
  cancel: [
    orchestration('busy', async (ctx) =>
      Promise.all([
        ctx.call(echo, 'unseen'),
        ctx.call(waits),
        ctx.sleep(600_000),
        ctx.waitForEvent('e'),
        ctx.dequeue('q'),
      ]),
    ),
    waiting,
  ],
  'cancel-at-start': [orchestration('busy', async (ctx) => Promise.all([ctx.call(echo, 1), ctx.waitForEvent('e')]))],
  versions: [
    orchestration(
      'v',
      async (ctx, input: unknown) => {
        if (input === 'move on') return ctx.continueAsNew('moved');
        return ctx.call(echo, ['one', input]);
      },
      { version: '1.0.0' },
    ),
    orchestration(
      'v',
      async (ctx, input: unknown) => {
        if (input === 'go back') return ctx.continueAsNew('back', { version: '1.0.0' });
        const child = await ctx.call(declareOrchestration<string, unknown>('v', { version: '1.0.0' }), 'child');
        return [ctx.orchestrationVersion, input, child];
      },
      { version: '2.1.0' },
    ),
  ],
  'continue-as-new': [
    orchestration('parent', async (ctx) =>
      ctx.call(declareOrchestration<number, unknown>('rounds'), 0, { id: 'rounds' }),
    ),
    orchestration('rounds', async (ctx, round: number): Promise<unknown> => {
      const seen = ctx.kv.getText('seen') ?? '';
      const got = await ctx.dequeue<string>('q');
      ctx.kv.setText('seen', `${seen}${got}`);
      ctx.status.setText(`round ${round}`);
      if (round < 2) {
        await race(ctx, ctx.waitForEvent('never'), ctx.call(echo, round));
        await ctx.sleep(0);
        return ctx.continueAsNew(round + 1);
      }
      return { execution: ctx.executionId, seen: ctx.kv.getText('seen'), status: ctx.status.getText() };
    }),
  ],
  kv: [
    orchestration('kv', async (ctx, input: number): Promise<unknown> => {
      if (input === 1) {
        const before = { a: ctx.kv.getText('a'), n: ctx.kv.size, keys: ctx.kv.keys() };
        ctx.kv.clear();
        ctx.kv.setText('z', 'last');
        await ctx.sleep(0);
        return { before, all: Object.fromEntries(ctx.kv.keys().map((key) => [key, ctx.kv.getText(key)])) };
      }
      ctx.kv.set('a', 1);
      ctx.kv.setText('b', 'two');
      ctx.kv.setText('b', 'zwei');
      ctx.kv.delete('never there');
      await ctx.call(echo, ctx.kv.getText('b'));
      ctx.kv.delete('b');
      ctx.kv.setText('c', 'with "quotes" and 漢字');
      await ctx.call(echo, [ctx.kv.getText('a'), ctx.kv.getText('b') ?? null, ctx.kv.size]);
      return ctx.continueAsNew(1);
    }),
  ],
  'kv-prune': [
    orchestration('prune', async (ctx, input: number): Promise<unknown> => {
      if (input === 1) {
        const removed = ctx.kv.pruneUpdatedBefore(Number.MAX_SAFE_INTEGER);
        await ctx.sleep(0);
        return { removed, left: ctx.kv.size };
      }
      ctx.kv.set('old', 1);
      return ctx.continueAsNew(1);
    }),
  ],
  'custom-status': [
    orchestration('status', async (ctx) => {
      ctx.status.setText('first');
      ctx.status.setText('second');
      const one = ctx.status.getText();
      await ctx.call(echo, one);
      ctx.status.reset();
      const two = ctx.status.getText() ?? null;
      await ctx.call(echo, two);
      ctx.status.setText('[object Object]');
      return [one, two];
    }),
  ],
  throws: [
    orchestration('error', async (ctx) => {
      await ctx.sleep(0);
      throw new Error('boom');
    }),
    orchestration('text', async (ctx) => {
      await ctx.sleep(0);
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- user code may throw anything
      throw 'just text';
    }),
    // 'no task' yields something that is no task, which no async function can do.
  ],
  nondeterminism: 'its code changes between the turns; what is reported then is the engine’s, in both styles',
  poison: [
    orchestration('calls nobody', async (ctx) =>
      ctx.call(
        activity('nobody', async (_ctx, input: string) => input),
        'input',
      ),
    ),
    orchestration('parent of nobody', async (ctx) => {
      try {
        return await ctx.call(declareOrchestration<string, unknown>('nobody'), 'input');
      } catch {
        return 'never caught';
      }
    }),
  ],
  'poison-history': [orchestration('waits', async (ctx) => ctx.waitForEvent('go'))],
};

/** Orchestrations of the recordings that no async function can be. */
export const withoutEquivalent: ReadonlySet<string> = new Set(['no task']);
