import {
  declareActivity,
  declareOrchestration,
  orchestration,
  type OrchestrationSteps,
  type Registrable,
} from '../../src/index.js';

const echo = declareActivity<unknown, unknown>('echo');
const add = declareActivity<readonly [unknown, unknown], number>('add');
const fail = declareActivity<unknown, never>('fail');
const flaky = declareActivity<number, string>('flaky');
const where = declareActivity<number, unknown>('where');
const double = declareOrchestration<unknown, number>('double');
const doubles = double.implement(function* (ctx, n) {
  return yield* ctx.call(add, [n, n]);
});

/** Recorded programs of native as typed generators: at least one for every primitive. */
export const stepEquivalents: Readonly<Record<string, readonly Registrable[]>> = {
  'activity-chain': [
    orchestration('chain', function* (ctx) {
      const a = yield* ctx.call(add, [1, 2]);
      const b = yield* ctx.call(add, [a, 3]);
      const nothing = yield* ctx.call(echo);
      return { b, nothing, text: yield* ctx.call(echo, 'naïve – 漢字 🎉 \u0000 "quoted"') };
    }),
  ],
  'activity-failure': [
    orchestration('catches', function* (ctx): OrchestrationSteps<unknown> {
      try {
        return yield* ctx.call(fail, 1);
      } catch (error) {
        return (error as Error).message;
      }
    }),
    orchestration('lets go', function* (ctx) {
      try {
        return yield* ctx.call(fail, 2);
      } catch (error) {
        throw new Error((error as Error).message);
      }
    }),
  ],
  retry: [
    orchestration('retry', function* (ctx) {
      return yield* ctx.call(flaky, 3, { retry: { maxAttempts: 5, backoff: { kind: 'linear', stepMs: 100 } } });
    }),
  ],
  timer: [
    orchestration('sleep', function* (ctx) {
      yield* ctx.sleep(300);
      yield* ctx.sleep(0);
      return null;
    }),
  ],
  'race-untouched-activity': [
    orchestration('race', function* (ctx) {
      const { key, value } = yield* ctx.select({ echo: ctx.call(echo, 'late'), timer: ctx.sleep(50) });
      return { index: key === 'echo' ? 0 : 1, value: value ?? null };
    }),
  ],
  'sessions-tags': [
    orchestration('routed', function* (ctx) {
      const a = yield* ctx.call(where, 1, { session: 's-1' });
      const b = yield* ctx.call(where, 2, { session: 's-1' });
      const c = yield* ctx.call(where, 3, { tag: 'gpu' });
      const d = yield* ctx.call(where, 4, { session: 's-2', retry: { maxAttempts: 2 } });
      return [a, b, c, d];
    }),
  ],
  'system-calls': [
    orchestration('calls', function* (ctx) {
      const guid = yield* ctx.newGuid();
      const now = yield* ctx.now();
      const missing = yield* ctx.getValueFromInstance('nobody', 'k');
      const found = yield* ctx.getValueFromInstance('keeper', 'k');
      return { guid: guid.length, now: typeof now, missing, found };
    }),
    orchestration('keeper', function* (ctx) {
      ctx.kv.setText('k', 'kept "so"');
      yield* ctx.sleep(0);
    }),
  ],
  event: [
    orchestration('waiter', function* (ctx) {
      return [yield* ctx.waitForEvent('go'), yield* ctx.waitForEvent('go')];
    }),
  ],
  queue: [
    orchestration('drain', function* (ctx) {
      const got = [yield* ctx.dequeue('q'), yield* ctx.dequeue('q')];
      yield* ctx.call(echo, 'between');
      got.push(yield* ctx.dequeue('q'), yield* ctx.dequeue('q'));
      return got;
    }),
  ],
  child: [
    orchestration('parent', function* (ctx) {
      const auto = yield* ctx.call(double, 2);
      const named = yield* ctx.call(double, 3, { id: 'named-child' });
      const nested = yield* ctx.call(declareOrchestration<number, unknown>('middle'), 4);
      return { auto, named, nested };
    }),
    orchestration('middle', function* (ctx, input: number) {
      return yield* ctx.call(double, input);
    }),
    doubles,
  ],
  detached: [
    orchestration('starter', function* (ctx) {
      ctx.start(double, 5, { id: 'det-1' });
      yield* ctx.call(echo, 1);
      ctx.start(double, 6, { id: 'det-2', version: '1.0.0' });
      return null;
    }),
    doubles,
  ],
  cancel: [
    orchestration('busy', function* (ctx) {
      return yield* ctx.all([
        ctx.call(echo, 'unseen'),
        ctx.call(declareOrchestration('waits')),
        ctx.sleep(600_000),
        ctx.waitForEvent('e'),
        ctx.dequeue('q'),
      ]);
    }),
    orchestration('waits', function* (ctx) {
      return yield* ctx.waitForEvent('never');
    }),
  ],
  versions: [
    orchestration(
      'v',
      function* (ctx, input: unknown) {
        if (input === 'move on') return yield* ctx.continueAsNew('moved');
        return yield* ctx.call(echo, ['one', input]);
      },
      { version: '1.0.0' },
    ),
    orchestration(
      'v',
      function* (ctx, input: unknown) {
        if (input === 'go back') return yield* ctx.continueAsNew('back', { version: '1.0.0' });
        const child = yield* ctx.call(declareOrchestration<string, unknown>('v', { version: '1.0.0' }), 'child');
        return [ctx.orchestrationVersion, input, child];
      },
      { version: '2.1.0' },
    ),
  ],
  'custom-status': [
    orchestration('status', function* (ctx) {
      ctx.status.setText('first');
      ctx.status.setText('second');
      const one = ctx.status.getText();
      yield* ctx.call(echo, one);
      ctx.status.reset();
      const two = ctx.status.getText() ?? null;
      yield* ctx.call(echo, two);
      ctx.status.setText('[object Object]');
      return [one, two];
    }),
  ],
};
