import { playsInHalves, type Registration, type Scenario } from './scenario.js';

const double: Registration = {
  name: 'double',
  fn: function* (ctx, input) {
    return yield ctx.scheduleActivity('add', [input, input]);
  },
};
const waits: Registration = {
  name: 'waits',
  fn: function* (ctx) {
    return yield ctx.waitForEvent('never');
  },
};

/** Sub-orchestrations, detached starts, cancellation, versions and continue-as-new. */
export const childScenarios: readonly Scenario[] = [
  {
    name: 'child',
    about: 'children under an id of their own and under a derived one, and a grandchild',
    orchestrations: () => [
      {
        name: 'parent',
        fn: function* (ctx) {
          const auto = yield ctx.scheduleSubOrchestration('double', 2);
          const named = yield ctx.scheduleSubOrchestrationWithId('double', 'named-child', 3);
          const nested = yield ctx.scheduleSubOrchestration('middle', 4);
          return { auto, named, nested };
        },
      },
      {
        name: 'middle',
        fn: function* (ctx, input) {
          return yield ctx.scheduleSubOrchestration('double', input);
        },
      },
      double,
    ],
    play: playsInHalves('child', 'parent', undefined, 'SubOrchestrationScheduled'),
    expected: {
      child: { status: 'Completed', output: { auto: 4, named: 6, nested: 8 } },
      'child::sub::2': { status: 'Completed', output: 4 },
      'named-child': { status: 'Completed', output: 6 },
    },
  },
  {
    name: 'child-failure',
    about: 'a failed child is thrown into its parent, and so is a child that was cancelled; a finished id is refused',
    orchestrations: () => [
      {
        name: 'parent',
        fn: function* (ctx) {
          const caught: string[] = [];
          for (const [name, id] of [
            ['throws', 'cf-throws'],
            ['waits', 'cf-waits'],
            ['throws', 'cf-throws'],
          ] as const) {
            try {
              yield ctx.scheduleSubOrchestrationWithId(name, id);
            } catch (error) {
              caught.push((error as Error).message.split('\n')[0] ?? '');
            }
          }
          return caught;
        },
      },
      {
        name: 'throws',
        fn: function* (ctx) {
          yield ctx.scheduleTimer(0);
          throw new Error('bad child');
        },
      },
      waits,
    ],
    play: async (world) => {
      await world.client.startOrchestration('child-failure', 'parent');
      await world.phase(() => world.untilEvent('cf-waits', 'ExternalSubscribed'));
      await world.client.cancelInstance('cf-waits', 'not wanted');
      await world.phase(() => world.untilDone('child-failure'));
    },
    expected: {
      'child-failure': {
        status: 'Completed',
        output: [
          'Error: bad child',
          'canceled: not wanted',
          "sub-orchestration instance id 'cf-throws' already exists and is terminal",
        ],
      },
      'cf-throws': { status: 'Failed', error: 'Error: bad child' },
      'cf-waits': { status: 'Failed', error: 'canceled: not wanted' },
    },
  },
  {
    name: 'child-race',
    about: 'a child that loses a race is cancelled',
    orchestrations: () => [
      {
        name: 'parent',
        fn: function* (ctx) {
          const race = yield ctx.race(ctx.scheduleSubOrchestration('waits'), ctx.scheduleActivity('echo', 'won'));
          yield ctx.waitForEvent('end');
          return race;
        },
      },
      waits,
    ],
    play: async (world) => {
      await world.client.startOrchestration('child-race', 'parent');
      await world.phase(() => world.untilEvent('child-race::sub::2', 'ExternalSubscribed'), {
        workerTagFilter: 'none',
      });
      await world.phase(() => world.untilDone('child-race::sub::2'));
      await world.client.raiseEvent('child-race', 'end');
      await world.phase(() => world.untilDone('child-race'));
    },
    expected: {
      'child-race': { status: 'Completed', output: { index: 1, value: 'won' } },
      'child-race::sub::2': { status: 'Failed', error: 'canceled: parent dropped sub-orchestration future' },
    },
  },
  {
    name: 'detached',
    about: 'detached starts, with and without version, in the middle and in the last turn',
    orchestrations: () => [
      {
        name: 'starter',
        fn: function* (ctx) {
          const first = yield ctx.startOrchestration('double', 'det-1', 5);
          yield ctx.scheduleActivity('echo', 1);
          yield ctx.startOrchestrationVersioned('double', '1.0.0', 'det-2', 6);
          return first;
        },
      },
      double,
    ],
    play: async (world) => {
      await playsInHalves('detached', 'starter', undefined, 'ActivityScheduled')(world, []);
      await world.phase(async () => {
        await world.untilDone('det-1');
        await world.untilDone('det-2');
      });
    },
    expected: {
      detached: { status: 'Completed', output: null },
      'det-1': { status: 'Completed', output: 10 },
      'det-2': { status: 'Completed', output: 12 },
    },
  },
  {
    name: 'cancel',
    about: 'cancelling an instance with an activity, a child, a timer and both kinds of subscriptions open',
    orchestrations: () => [
      {
        name: 'busy',
        fn: function* (ctx) {
          return yield ctx.all([
            ctx.scheduleActivity('echo', 'unseen'),
            ctx.scheduleSubOrchestration('waits'),
            ctx.scheduleTimer(600_000),
            ctx.waitForEvent('e'),
            ctx.dequeueEvent('q'),
          ]);
        },
      },
      waits,
    ],
    play: async (world) => {
      await world.client.startOrchestration('cancel', 'busy');
      await world.phase(() => world.untilEvent('cancel::sub::3', 'ExternalSubscribed'), { workerTagFilter: 'none' });
      await world.client.cancelInstance('cancel', 'stop it');
      await world.phase(async () => {
        await world.untilDone('cancel');
        await world.untilDone('cancel::sub::3');
      });
    },
    expected: {
      cancel: { status: 'Failed', error: 'canceled: stop it' },
      'cancel::sub::3': { status: 'Failed', error: 'canceled: parent canceled' },
    },
  },
  {
    name: 'cancel-at-start',
    about: 'start and cancellation in one batch: user code schedules, nothing of it is enqueued',
    orchestrations: () => [
      {
        name: 'busy',
        fn: function* (ctx) {
          return yield ctx.all([ctx.scheduleActivity('echo', 1), ctx.waitForEvent('e')]);
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('cancel-at-start', 'busy');
      await world.client.cancelInstance('cancel-at-start');
      await world.phase(() => world.untilDone('cancel-at-start'));
    },
    expected: { 'cancel-at-start': { status: 'Failed', error: 'canceled: ' } },
  },
  {
    name: 'versions',
    about:
      'the latest version, a version named, a child of a version, continue-as-new to the latest and to a named one',
    orchestrations: () => [
      {
        name: 'v',
        version: '1.0.0',
        fn: function* (ctx, input) {
          if (input === 'move on') return yield ctx.continueAsNew('moved');
          return yield ctx.scheduleActivity('echo', ['one', input]);
        },
      },
      {
        name: 'v',
        version: '2.1.0',
        fn: function* (ctx, input) {
          if (input === 'go back') return yield ctx.continueAsNewVersioned('back', '1.0.0');
          const child = yield ctx.scheduleSubOrchestrationVersioned('v', '1.0.0', 'child');
          return [ctx.orchestrationVersion, input, child];
        },
      },
    ],
    play: async (world) => {
      const { client } = world;
      await client.startOrchestration('v-latest', 'v', 1);
      await client.startOrchestrationVersioned('v-one', 'v', 2, '1.0.0');
      await client.startOrchestrationVersioned('v-moves', 'v', 'move on', '1.0.0');
      await client.startOrchestration('v-back', 'v', 'go back');
      await world.phase(
        async () => {
          await world.untilEvent('v-one', 'ActivityScheduled');
          await world.untilEvent('v-back', 'ActivityScheduled');
        },
        { workerTagFilter: 'none' },
      );
      await world.phase(async () => {
        for (const id of ['v-latest', 'v-one', 'v-moves', 'v-back']) await world.untilDone(id);
      });
    },
    expected: {
      'v-latest': { status: 'Completed', output: ['2.1.0', 1, ['one', 'child']] },
      'v-one': { status: 'Completed', output: ['one', 2] },
      'v-moves': { status: 'Completed', output: ['2.1.0', 'moved', ['one', 'child']] },
      'v-back': { status: 'Completed', output: ['one', 'back'] },
    },
  },
  {
    name: 'continue-as-new',
    about: 'queue messages, custom status and KV are carried; a child goes on and reports; open waits end',
    orchestrations: () => [
      {
        name: 'parent',
        fn: function* (ctx) {
          return yield ctx.scheduleSubOrchestrationWithId('rounds', 'rounds', 0);
        },
      },
      {
        name: 'rounds',
        fn: function* (ctx, input) {
          const round = Number(input);
          const seen = ctx.getValue('seen') ?? '';
          const got = yield ctx.dequeueEvent('q');
          ctx.setValue('seen', `${seen}${String(got)}`);
          ctx.setCustomStatus(`round ${round}`);
          if (round < 2) {
            yield ctx.race(ctx.waitForEvent('never'), ctx.scheduleActivity('echo', round));
            // A loser of the turn that continues as new is another story (D-07).
            yield ctx.scheduleTimer(0);
            return yield ctx.continueAsNew(round + 1);
          }
          return { execution: ctx.executionId, seen: ctx.getValue('seen'), status: ctx.getCustomStatus() };
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('can', 'parent');
      await world.phase(() => world.untilEvent('rounds', 'ExternalSubscribedPersistent'));
      for (const message of ['a', 'b', 'c', 'd']) await world.client.enqueueEvent('rounds', 'q', message);
      await world.client.enqueueEvent('rounds', 'other', 'left');
      await world.phase(() => world.untilEvent('rounds', 'ActivityScheduled'), { workerTagFilter: 'none' });
      await world.phase(() => world.untilDone('can'));
    },
    expected: {
      can: { status: 'Completed', output: { execution: 3, seen: 'abc', status: 'round 2' } },
      rounds: { status: 'Completed', customStatus: 'round 2' },
    },
  },
  {
    name: 'continue-as-new-child',
    about: 'a derived child id in the second execution, and a result for the first that comes too late',
    orchestrations: () => [
      {
        name: 'again',
        fn: function* (ctx, input) {
          if (input === 1) return yield ctx.scheduleSubOrchestration('double', 21);
          yield ctx.race(ctx.scheduleSubOrchestration('waits'), ctx.scheduleTimer(30));
          return yield ctx.continueAsNew(1);
        },
      },
      double,
      waits,
    ],
    play: async (world) => {
      await world.client.startOrchestration('again', 'again', 0);
      await world.phase(() => world.untilEvent('again::sub::2', 'ExternalSubscribed'), { workerTagFilter: 'none' });
      await world.phase(() => world.untilEvent('again', 'SubOrchestrationScheduled', 2), { workerTagFilter: 'none' });
      await world.client.cancelInstance('again::sub::2', 'late');
      await world.phase(() => world.untilDone('again'));
    },
    expected: {
      again: { status: 'Completed', output: 42 },
      'again::sub::2_2': { status: 'Completed', output: 42 },
      'again::sub::2': { status: 'Failed', error: 'canceled: late' },
    },
    nativeOnly: 'ours records the loser of the race and cancels the child in that turn (D-07)',
  },
];
