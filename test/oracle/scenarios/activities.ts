import { plays, playsInHalves, type Scenario } from './scenario.js';

const failure = (text: string) => `Activity 'fail' JS execution failed: GenericFailure, Error: failed: ${text}`;

/** Activities, retries, timers, joins and races. */
export const activityScenarios: readonly Scenario[] = [
  {
    name: 'activity',
    about: 'one activity',
    orchestrations: () => [
      {
        name: 'hello',
        fn: function* (ctx, input) {
          return yield ctx.scheduleActivity('echo', input);
        },
      },
    ],
    play: playsInHalves('activity', 'hello', { who: 'Ann' }, 'ActivityScheduled'),
    expected: { activity: { status: 'Completed', output: { who: 'Ann' } } },
  },
  {
    name: 'activity-chain',
    about: 'three activities one after the other, each fed by the one before; undefined and text payloads',
    orchestrations: () => [
      {
        name: 'chain',
        fn: function* (ctx) {
          const a = yield ctx.scheduleActivity('add', [1, 2]);
          const b = yield ctx.scheduleActivity('add', [a, 3]);
          const nothing = yield ctx.scheduleActivity('echo');
          return { b, nothing, text: yield ctx.scheduleActivity('echo', 'naïve – 漢字 🎉 \u0000 "quoted"') };
        },
      },
    ],
    play: playsInHalves('activity-chain', 'chain', undefined, 'ActivityScheduled'),
    expected: {
      'activity-chain': {
        status: 'Completed',
        output: { b: 6, nothing: null, text: 'naïve – 漢字 🎉 \u0000 "quoted"' },
      },
    },
  },
  {
    name: 'activity-failure',
    about: 'a failed activity is thrown into the generator, once caught, once not',
    orchestrations: () => [
      {
        name: 'catches',
        fn: function* (ctx) {
          try {
            return yield ctx.scheduleActivity('fail', 1);
          } catch (error) {
            return (error as Error).message;
          }
        },
      },
      {
        name: 'lets go',
        fn: function* (ctx) {
          return yield ctx.scheduleActivity('fail', 2);
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('caught', 'catches');
      await world.client.startOrchestration('uncaught', 'lets go');
      await world.phase(
        async () => {
          await world.untilEvent('caught', 'ActivityScheduled');
          await world.untilEvent('uncaught', 'ActivityScheduled');
        },
        { workerTagFilter: 'none' },
      );
      await world.phase(async () => {
        await world.untilDone('caught');
        await world.untilDone('uncaught');
      });
    },
    expected: {
      caught: { status: 'Completed', output: failure('1') },
      uncaught: { status: 'Failed', error: `Error: ${failure('2')}` },
    },
  },
  {
    name: 'retry',
    about: 'an activity with retries succeeds at the third attempt; timers between the attempts',
    orchestrations: () => [
      {
        name: 'retry',
        fn: function* (ctx) {
          return yield ctx.scheduleActivityWithRetry('flaky', 3, { maxAttempts: 5, backoff: 'linear' });
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('retry', 'retry');
      await world.phase(() => world.untilEvent('retry', 'TimerCreated'));
      await world.phase(() => world.untilDone('retry'));
    },
    expected: { retry: { status: 'Completed', output: 'done at 3' } },
  },
  {
    name: 'retry-exhausted',
    about: 'the last failure is thrown when the attempts are used up',
    orchestrations: () => [
      {
        name: 'retry',
        fn: function* (ctx) {
          try {
            return yield ctx.scheduleActivityWithRetry('fail', 'x', { maxAttempts: 2 });
          } catch (error) {
            return `gave up: ${(error as Error).message}`;
          }
        },
      },
    ],
    play: playsInHalves('retry-exhausted', 'retry', undefined, 'ActivityScheduled'),
    expected: { 'retry-exhausted': { status: 'Completed', output: `gave up: ${failure('x')}` } },
  },
  {
    name: 'retry-timeout',
    about: 'an attempt over its limit is cancelled and not repeated',
    orchestrations: () => [
      {
        name: 'retry',
        fn: function* (ctx) {
          try {
            return yield ctx.scheduleActivityWithRetry('nap', 400, { maxAttempts: 3, timeoutMs: 50 });
          } catch (error) {
            return (error as Error).message;
          }
        },
      },
    ],
    play: playsInHalves('retry-timeout', 'retry', undefined, 'TimerCreated'),
    expected: { 'retry-timeout': { status: 'Completed', output: 'timeout: activity timed out' } },
  },
  {
    name: 'timer',
    about: 'two timers in a row, one of them zero',
    orchestrations: () => [
      {
        name: 'sleep',
        fn: function* (ctx) {
          const first = yield ctx.scheduleTimer(300);
          yield ctx.scheduleTimer(0);
          return first;
        },
      },
    ],
    play: playsInHalves('timer', 'sleep', undefined, 'TimerCreated'),
    expected: { timer: { status: 'Completed', output: null } },
  },
  {
    name: 'join',
    about: 'all: activities, a failure, a timer, an event and a child; values pass through the JSON of the join',
    orchestrations: () => [
      {
        name: 'join',
        fn: function* (ctx) {
          const empty = yield ctx.all([]);
          const results = yield ctx.all([
            ctx.scheduleActivity('echo', { b: 1, a: { z: 9.5e-300, y: 0.1 } }),
            ctx.scheduleActivity('fail', 'j'),
            ctx.scheduleTimer(20),
            ctx.waitForEvent('go'),
            ctx.scheduleSubOrchestration('child', 7),
          ]);
          // The changed values become an input, so replay compares them.
          return { empty, results, again: yield ctx.scheduleActivity('echo', results) };
        },
      },
      {
        name: 'child',
        fn: function* (ctx, input) {
          return yield ctx.scheduleActivity('add', [input, 1]);
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('join', 'join');
      await world.phase(() => world.untilEvent('join', 'SubOrchestrationScheduled'), { workerTagFilter: 'none' });
      await world.client.raiseEvent('join', 'go', { ok: true });
      await world.phase(() => world.untilEvent('join', 'SubOrchestrationCompleted'));
      await world.phase(() => world.untilDone('join'));
    },
    expected: { join: { status: 'Completed' }, 'join::sub::6': { status: 'Completed', output: 8 } },
  },
  {
    name: 'race-activities',
    about: 'the first of two activities wins, the other one is cancelled; a failure can win',
    orchestrations: () => [
      {
        name: 'race',
        fn: function* (ctx) {
          const first = yield ctx.race(ctx.scheduleActivity('nap', 600), ctx.scheduleActivity('echo', 'fast'));
          const second = yield ctx.race(ctx.scheduleActivity('fail', 'r'), ctx.scheduleTimer(60_000));
          return { first, second };
        },
      },
    ],
    play: playsInHalves('race-activities', 'race', undefined, 'ActivityScheduled', 2),
    expected: {
      'race-activities': {
        status: 'Completed',
        output: { first: { index: 1, value: 'fast' }, second: { index: 0, value: failure('r') } },
      },
    },
  },
  {
    name: 'race-untouched-activity',
    about: 'a timer wins against an activity that nobody has fetched: its row is removed',
    orchestrations: () => [
      {
        name: 'race',
        fn: function* (ctx) {
          return yield ctx.race(ctx.scheduleActivity('echo', 'late'), ctx.scheduleTimer(50));
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('race-untouched', 'race');
      await world.phase(() => world.untilEvent('race-untouched', 'TimerCreated'), { workerTagFilter: 'none' });
      await world.phase(() => world.untilDone('race-untouched'), { workerTagFilter: 'none' });
    },
    expected: { 'race-untouched': { status: 'Completed', output: { index: 1, value: null } } },
  },
  {
    name: 'race-misuse',
    about: 'races of other than two, nesting, and tasks that cannot stand in a join',
    orchestrations: () => [
      {
        name: 'misuse',
        fn: function* (ctx) {
          const texts: string[] = [];
          const wrong = [
            () => ctx.race(ctx.scheduleTimer(1), ctx.scheduleTimer(1), ctx.scheduleTimer(1)),
            () => ctx.all([ctx.all([])]),
            () => ctx.race(ctx.scheduleTimer(1), ctx.all([])),
          ];
          for (const make of wrong) {
            try {
              yield make();
            } catch (error) {
              texts.push((error as Error).message);
            }
          }
          return {
            texts,
            join: yield ctx.all([ctx.newGuid(), ctx.scheduleTimer(0)]),
            race: yield ctx.race(ctx.utcNow(), ctx.scheduleTimer(1)),
          };
        },
      },
    ],
    play: plays('race-misuse', 'misuse'),
    expected: {
      'race-misuse': {
        status: 'Completed',
        output: {
          texts: [
            'select currently supports exactly 2 tasks',
            'nested join/select inside join is not supported',
            'nested join/select inside select is not supported',
          ],
          join: [{ err: 'unsupported task in join' }, { ok: null }],
          race: { index: 0, value: 'unsupported task in select' },
        },
      },
    },
  },
  {
    name: 'sessions-tags',
    about: 'activities on a session, with a tag, and a retry on a session',
    orchestrations: () => [
      {
        name: 'routed',
        fn: function* (ctx) {
          const a = yield ctx.scheduleActivity('where', 1, { sessionId: 's-1' });
          const b = yield ctx.scheduleActivityOnSession('where', 2, 's-1');
          const c = yield ctx.scheduleActivity('where', 3).withTag('gpu');
          const d = yield ctx.scheduleActivityWithRetryOnSession('where', 4, { maxAttempts: 2 }, 's-2');
          return [a, b, c, d];
        },
      },
    ],
    activities: { where: (ctx, input) => [input, ctx.sessionId, ctx.tag()] },
    play: playsInHalves('sessions-tags', 'routed', undefined, 'ActivityScheduled', 1, {
      workerTagFilter: { defaultAnd: ['gpu'] },
    }),
    expected: {
      'sessions-tags': {
        status: 'Completed',
        output: [
          [1, 's-1', null],
          [2, 's-1', null],
          [3, null, 'gpu'],
          [4, 's-2', null],
        ],
      },
    },
  },
  {
    name: 'system-calls',
    about: 'new GUID, UTC now and a value of another instance',
    orchestrations: () => [
      {
        name: 'calls',
        fn: function* (ctx) {
          const guid = yield ctx.newGuid();
          const now = yield ctx.utcNow();
          const missing = yield ctx.getValueFromInstance('nobody', 'k');
          const found = yield ctx.getValueFromInstance('keeper', 'k');
          return { guid: String(guid).length, now: typeof now, missing, found };
        },
      },
      {
        name: 'keeper',
        fn: function* (ctx) {
          ctx.setValue('k', 'kept "so"');
          yield ctx.scheduleTimer(0);
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('keeper', 'keeper');
      await world.phase(() => world.untilDone('keeper'));
      await playsInHalves('system-calls', 'calls', undefined, 'ActivityScheduled')(world, []);
    },
    expected: {
      keeper: { status: 'Completed' },
      'system-calls': { status: 'Completed', output: { guid: 36, now: 'number', missing: null, found: 'kept "so"' } },
    },
  },
];
