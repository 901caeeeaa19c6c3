import type { OrchestrationFunction } from '../sdk.js';
import type { Registration, Scenario } from './scenario.js';

/** Orchestrations that fail: by themselves, by changing their mind, by nobody knowing them. */
export const failureScenarios: readonly Scenario[] = [
  {
    name: 'throws',
    about: 'an error, a string, and something that is no task',
    orchestrations: () => [
      {
        name: 'error',
        fn: function* (ctx) {
          yield ctx.scheduleTimer(0);
          throw new Error('boom');
        },
      },
      {
        name: 'text',
        fn: function* (ctx) {
          yield ctx.scheduleTimer(0);
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- user code may throw anything
          throw 'just text';
        },
      },
      {
        name: 'no task',
        fn: function* (ctx) {
          yield ctx.scheduleTimer(0);
          yield 42;
        },
      },
    ],
    play: async (world) => {
      for (const [id, name] of [
        ['throws-error', 'error'],
        ['throws-text', 'text'],
        ['throws-no-task', 'no task'],
      ] as const) {
        await world.client.startOrchestration(id, name);
      }
      await world.phase(async () => {
        for (const id of ['throws-error', 'throws-text', 'throws-no-task']) await world.untilDone(id);
      });
    },
    expected: {
      'throws-error': { status: 'Failed', error: 'Error: boom' },
      'throws-text': { status: 'Failed', error: 'just text' },
      'throws-no-task': { status: 'Failed', error: 'Invalid generator step result: ' },
    },
  },
  {
    name: 'nondeterminism',
    about: 'the code schedules something else, less, another status, and less by ending early',
    orchestrations: () => changingTheirMind(),
    play: async (world, registrations) => {
      const minds = registrations as readonly ChangingRegistration[];
      const ids = minds.map((registration) => [`nd-${registration.name}`, registration] as const);
      for (const [id, registration] of ids) await world.client.startOrchestration(id, registration.name);
      await world.phase(
        async () => {
          for (const [id] of ids) await world.untilEvent(id, 'ActivityScheduled');
        },
        { workerTagFilter: 'none' },
      );
      for (const registration of minds) registration.change();
      await world.phase(async () => {
        for (const [id] of ids) await world.untilDone(id);
      });
    },
    expected: {
      'nd-input': { status: 'Failed', error: 'nondeterministic: schedule mismatch: ' },
      'nd-kind': { status: 'Failed', error: 'nondeterministic: schedule mismatch: ' },
      'nd-less': { status: 'Failed', error: 'nondeterministic: history schedule but no emitted action' },
      'nd-status': { status: 'Failed', error: 'nondeterministic: custom status mismatch: ' },
      'nd-kv': { status: 'Failed', error: 'nondeterministic: kv set mismatch: ' },
      'nd-early': { status: 'Completed', output: 'early' },
      'nd-more': { status: 'Completed', output: ['a', 'more'] },
    },
  },
  {
    name: 'poison',
    about: 'orchestrations, an activity and a child that nobody has registered, at the last attempt',
    orchestrations: () => [
      {
        name: 'calls nobody',
        fn: function* (ctx) {
          return yield ctx.scheduleActivity('nobody', 'input');
        },
      },
      {
        name: 'parent of nobody',
        fn: function* (ctx) {
          try {
            return yield ctx.scheduleSubOrchestration('nobody', 'input');
          } catch {
            return 'never caught';
          }
        },
      },
    ],
    play: async (world) => {
      const { client } = world;
      await client.startOrchestration('poison-start', 'nobody', { a: 1 });
      await client.startOrchestration('poison-activity', 'calls nobody');
      await client.startOrchestration('poison-parent', 'parent of nobody');
      await world.phase(
        async () => {
          await world.untilEvent('poison-activity', 'ActivityScheduled');
          await world.untilEvent('poison-parent', 'SubOrchestrationScheduled');
        },
        { workerTagFilter: 'none' },
      );
      // Ten attempts take minutes of back-off.
      const used =
        "set attempt_count = 10, visible_at = now() - interval '1 second', lock_token = null, locked_until = null";
      await world.sql(`delete from instance_locks`);
      await world.sql(`update orchestrator_queue ${used}`);
      await world.sql(`update worker_queue ${used}`);
      await world.phase(async () => {
        for (const id of ['poison-start', 'poison-activity', 'poison-parent']) await world.untilDone(id);
      });
    },
    expected: {
      'poison-start': { status: 'Failed', error: 'poison: orchestration poison-start exceeded 11 attempts (max 10)' },
      'poison-activity': { status: 'Failed', error: 'poison: activity nobody#2 exceeded 11 attempts (max 10)' },
      'poison-parent': {
        status: 'Failed',
        error: 'poison: orchestration poison-parent::sub::2 exceeded 11 attempts (max 10)',
      },
    },
  },
  {
    name: 'poison-history',
    about: 'a history that cannot be read, at the last attempt: event 99999',
    orchestrations: () => [
      {
        name: 'waits',
        fn: function* (ctx) {
          return yield ctx.waitForEvent('go');
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('poison-history', 'waits');
      await world.phase(() => world.untilEvent('poison-history', 'ExternalSubscribed'));
      await world.sql(
        `update history set event_data = replace(event_data, '"ExternalSubscribed"', '"FromTheFuture"')
          where instance_id = 'poison-history'`,
      );
      await world.client.raiseEvent('poison-history', 'go');
      await world.sql(`update orchestrator_queue set attempt_count = 10 where instance_id = 'poison-history'`);
      await world.phase(() => world.untilDone('poison-history'));
    },
    expected: {
      'poison-history': {
        status: 'Failed',
        error: 'poison: orchestration poison-history history deserialization failed after 11 attempts (max 10): ',
      },
    },
  },
];

interface ChangingRegistration extends Registration {
  change(): void;
}

/** Each runs one way until it is told to change, then another way, as after a careless deploy. */
function changingTheirMind(): ChangingRegistration[] {
  const changing = (
    name: string,
    before: OrchestrationFunction,
    after: OrchestrationFunction,
  ): ChangingRegistration => {
    let changed = false;
    return {
      name,
      fn: (ctx, input) => (changed ? after : before)(ctx, input),
      change: () => {
        changed = true;
      },
    };
  };
  const echoA: OrchestrationFunction = function* (ctx) {
    return yield ctx.scheduleActivity('echo', 'a');
  };
  return [
    changing('input', echoA, function* (ctx) {
      return yield ctx.scheduleActivity('echo', 'b');
    }),
    changing('kind', echoA, function* (ctx) {
      return yield ctx.scheduleTimer(0);
    }),
    changing(
      'less',
      function* (ctx) {
        return yield ctx.all([ctx.waitForEvent('x'), ctx.scheduleActivity('echo', 'a')]);
      },
      function* (ctx) {
        return yield ctx.waitForEvent('x');
      },
    ),
    changing(
      'status',
      function* (ctx) {
        ctx.setCustomStatus('s');
        return yield ctx.scheduleActivity('echo', 'a');
      },
      function* (ctx) {
        ctx.setValue('s', 's');
        return yield ctx.scheduleActivity('echo', 'a');
      },
    ),
    changing(
      'kv',
      function* (ctx) {
        ctx.setValue('k', 'v');
        return yield ctx.scheduleActivity('echo', 'a');
      },
      function* (ctx) {
        ctx.setValue('k', 'w');
        return yield ctx.scheduleActivity('echo', 'a');
      },
    ),
    // eslint-disable-next-line require-yield -- it ends before its first decision
    changing('early', echoA, function* () {
      return 'early';
    }),
    changing('more', echoA, function* (ctx) {
      return [yield ctx.scheduleActivity('echo', 'a'), yield ctx.scheduleActivity('echo', 'more')];
    }),
  ];
}
