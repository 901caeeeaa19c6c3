import type { Scenario } from './scenario.js';

/** Positional events and queues. */
export const eventScenarios: readonly Scenario[] = [
  {
    name: 'event',
    about: 'an early event is lost, one that finds its subscription is delivered; another name does not matter',
    orchestrations: () => [
      {
        name: 'waiter',
        fn: function* (ctx) {
          return [yield ctx.waitForEvent('go'), yield ctx.waitForEvent('go')];
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('event', 'waiter');
      await world.client.raiseEvent('event', 'go', 'early');
      await world.phase(() => world.untilEvent('event', 'ExternalSubscribed'));
      await world.client.raiseEvent('event', 'other', 0);
      await world.client.raiseEvent('event', 'go', { n: 1 });
      await world.phase(() => world.untilEvent('event', 'ExternalSubscribed', 2));
      await world.client.raiseEvent('event', 'go');
      await world.phase(() => world.untilDone('event'));
    },
    expected: { event: { status: 'Completed', output: [{ n: 1 }, null] } },
  },
  {
    name: 'event-batch',
    about: 'two events in one batch for two waits in a row: the second one is lost (D-03)',
    orchestrations: () => [
      {
        name: 'waiter',
        fn: function* (ctx) {
          return [yield ctx.waitForEvent('go'), yield ctx.waitForEvent('go')];
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('event-batch', 'waiter');
      await world.phase(() => world.untilEvent('event-batch', 'ExternalSubscribed'));
      await world.client.raiseEvent('event-batch', 'go', 1);
      await world.client.raiseEvent('event-batch', 'go', 2);
      await world.phase(() => world.untilEvent('event-batch', 'ExternalSubscribed', 2));
      await world.client.raiseEvent('event-batch', 'go', 3);
      await world.phase(() => world.untilDone('event-batch'));
    },
    expected: { 'event-batch': { status: 'Completed', output: [1, 3] } },
  },
  {
    name: 'event-time-out',
    about: 'a wait loses against a timer and is withdrawn; a later wait of the name gets the next event',
    orchestrations: () => [
      {
        name: 'approval',
        fn: function* (ctx) {
          const first = yield ctx.race(ctx.waitForEvent('approve'), ctx.scheduleTimer(60));
          return { first, second: yield ctx.waitForEvent('approve') };
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('event-time-out', 'approval');
      await world.phase(() => world.untilEvent('event-time-out', 'TimerCreated'));
      await world.phase(() => world.untilEvent('event-time-out', 'ExternalSubscribed', 2));
      await world.client.raiseEvent('event-time-out', 'approve', 'late');
      await world.phase(() => world.untilDone('event-time-out'));
    },
    expected: {
      'event-time-out': { status: 'Completed', output: { first: { index: 1, value: null }, second: 'late' } },
    },
  },
  {
    name: 'event-open-at-end',
    about: 'subscriptions that are open when the orchestration ends get their breadcrumb',
    orchestrations: () => [
      {
        name: 'leaves',
        fn: function* (ctx) {
          yield ctx.race(ctx.waitForEvent('a'), ctx.dequeueEvent('q'));
          return yield ctx.race(ctx.waitForEvent('a'), ctx.waitForEvent('b'));
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('open-at-end', 'leaves');
      await world.phase(() => world.untilEvent('open-at-end', 'ExternalSubscribedPersistent'));
      await world.client.enqueueEvent('open-at-end', 'q', 'm');
      await world.phase(() => world.untilEvent('open-at-end', 'ExternalSubscribed', 3));
      await world.client.raiseEvent('open-at-end', 'b', 'bee');
      await world.phase(() => world.untilDone('open-at-end'));
    },
    expected: { 'open-at-end': { status: 'Completed', output: { index: 1, value: 'bee' } } },
  },
  {
    name: 'queue',
    about: 'queue messages are kept until somebody asks, first in, first out; also those sent before the first turn',
    orchestrations: () => [
      {
        name: 'drain',
        fn: function* (ctx) {
          const got = [yield ctx.dequeueEvent('q'), yield ctx.dequeueEvent('q')];
          yield ctx.scheduleActivity('echo', 'between');
          got.push(yield ctx.dequeueEvent('q'), yield ctx.dequeueEvent('q'));
          return got;
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('queue', 'drain');
      for (const message of [1, { two: 2 }, 'three']) await world.client.enqueueEvent('queue', 'q', message);
      await world.client.enqueueEvent('queue', 'elsewhere', 'unread');
      await world.phase(() => world.untilEvent('queue', 'ActivityScheduled'), { workerTagFilter: 'none' });
      await world.phase(() => world.untilEvent('queue', 'ExternalSubscribedPersistent', 4));
      await world.client.enqueueEvent('queue', 'q', 'four');
      await world.phase(() => world.untilDone('queue'));
    },
    expected: { queue: { status: 'Completed', output: [1, { two: 2 }, 'three', 'four'] } },
  },
  {
    name: 'queue-time-out',
    about: 'a queue wait that lost consumes nothing: the next wait gets the message',
    orchestrations: () => [
      {
        name: 'worker',
        fn: function* (ctx) {
          const first = yield ctx.race(ctx.dequeueEvent('q'), ctx.scheduleTimer(60));
          return { first, second: yield ctx.dequeueEvent('q') };
        },
      },
    ],
    play: async (world) => {
      await world.client.startOrchestration('queue-time-out', 'worker');
      await world.phase(() => world.untilEvent('queue-time-out', 'TimerCreated'));
      await world.phase(() => world.untilEvent('queue-time-out', 'ExternalSubscribedPersistent', 2));
      await world.client.enqueueEvent('queue-time-out', 'q', 'message');
      await world.phase(() => world.untilDone('queue-time-out'));
    },
    expected: {
      'queue-time-out': { status: 'Completed', output: { first: { index: 1, value: null }, second: 'message' } },
    },
  },
  {
    name: 'late-messages',
    about: 'messages to finished and to unknown instances vanish; a second start is ignored',
    orchestrations: () => [
      {
        name: 'short',
        fn: function* (ctx, input) {
          yield ctx.scheduleTimer(0);
          return input;
        },
      },
    ],
    play: async (world) => {
      const { client } = world;
      await client.startOrchestration('late', 'short', 1);
      await world.phase(() => world.untilDone('late'));
      await client.startOrchestration('late', 'short', 2);
      await client.raiseEvent('late', 'go', 1);
      await client.enqueueEvent('late', 'q', 1);
      await client.cancelInstance('late', 'too late');
      await client.raiseEvent('unknown', 'go', 1);
      await client.cancelInstance('unknown');
      await client.enqueueEvent('unknown-queue', 'q', 1);
      await world.phase(async () => {
        for (const id of ['late', 'unknown', 'unknown-queue']) await world.untilConsumed(id);
      });
    },
    expected: { late: { status: 'Completed', output: 1 }, unknown: { status: 'NotFound' } },
  },
];
