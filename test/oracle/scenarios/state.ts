import { plays, type Scenario } from './scenario.js';

/** Key-value store and custom status. */
export const stateScenarios: readonly Scenario[] = [
  {
    name: 'kv',
    about: 'set, read, clear one and all, within a turn, across turns and across continue-as-new',
    orchestrations: () => [
      {
        name: 'kv',
        fn: function* (ctx, input) {
          if (input === 1) {
            const before = { a: ctx.getValue('a'), n: ctx.getKvLength(), keys: ctx.getKvAllKeys().sort() };
            ctx.clearAllValues();
            ctx.setValue('z', 'last');
            yield ctx.scheduleTimer(0);
            return { before, all: ctx.getKvAllValues() };
          }
          ctx.setValue('a', 1);
          ctx.setValue('b', 'two');
          ctx.setValue('b', 'zwei');
          ctx.clearValue('never there');
          const here = ctx.getValue('b');
          yield ctx.scheduleActivity('echo', here);
          ctx.clearValue('b');
          ctx.setValue('c', 'with "quotes" and 漢字');
          yield ctx.scheduleActivity('echo', [ctx.getValue('a'), ctx.getValue('b'), ctx.getKvLength()]);
          return yield ctx.continueAsNew(1);
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('kv', 'kv', 0);
      await world.phase(() => world.untilEvent('kv', 'ActivityScheduled'), { workerTagFilter: 'none' });
      await world.phase(() => world.untilDone('kv'));
    },
    expected: {
      kv: {
        status: 'Completed',
        output: { before: { a: '1', n: 2, keys: ['a', 'c'] }, all: { z: 'last' } },
      },
    },
  },
  {
    name: 'kv-prune',
    about: 'pruning a key of an earlier execution by its stamp',
    orchestrations: () => [
      {
        name: 'prune',
        fn: function* (ctx, input) {
          if (input === 1) {
            const removed = ctx.pruneKvValuesUpdatedBefore(Number.MAX_SAFE_INTEGER);
            yield ctx.scheduleTimer(0);
            return { removed, left: ctx.getKvLength() };
          }
          ctx.setValue('old', 1);
          return yield ctx.continueAsNew(1);
        },
      },
    ],
    play: plays('kv-prune', 'prune', 0),
    expected: { 'kv-prune': { status: 'Completed', output: { removed: 1, left: 0 } } },
  },
  {
    name: 'custom-status',
    about: 'set twice in a turn, read back, reset, set again at the end',
    orchestrations: () => [
      {
        name: 'status',
        fn: function* (ctx) {
          ctx.setCustomStatus('first');
          ctx.setCustomStatus('second');
          const one = ctx.getCustomStatus();
          yield ctx.scheduleActivity('echo', one);
          ctx.resetCustomStatus();
          const two = ctx.getCustomStatus();
          yield ctx.scheduleActivity('echo', two);
          ctx.setCustomStatus({ done: true });
          return [one, two];
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('custom-status', 'status');
      await world.phase(() => world.untilEvent('custom-status', 'ActivityScheduled'), { workerTagFilter: 'none' });
      await world.phase(() => world.untilDone('custom-status'));
    },
    expected: {
      'custom-status': { status: 'Completed', output: ['second', null], customStatus: '[object Object]' },
    },
  },
  {
    name: 'limits',
    recorded: false,
    about: 'a value over its limit fails the instance, and so does a status over its limit in the last turn',
    orchestrations: () => [
      {
        name: 'big value',
        fn: function* (ctx) {
          ctx.setValue('k', 'x'.repeat(65_537));
          yield ctx.scheduleActivity('echo', 1);
        },
      },
      {
        name: 'big status',
        // eslint-disable-next-line require-yield -- the first turn is the last
        fn: function* (ctx) {
          ctx.setCustomStatus('x'.repeat(262_145));
          return 1;
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('big-value', 'big value');
      await world.client.startOrchestration('big-status', 'big status');
      await world.phase(async () => {
        await world.untilDone('big-value');
        await world.untilDone('big-status');
      });
    },
    expected: {
      'big-value': { status: 'Failed', error: "KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)" },
      'big-status': { status: 'Failed', error: 'Custom status size (262145 bytes) exceeds limit (262144 bytes)' },
    },
  },
];
