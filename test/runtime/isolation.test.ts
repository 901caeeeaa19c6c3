import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import type { RuntimeCore } from '../../src/runtime/core.js';
import type { Neighbours, SuspectKind } from '../../src/runtime/isolation.js';
import { Isolation } from '../../src/runtime/isolation.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { SteppedRuntime } from '../support/runtime-harness.js';

/** Lets everything happen that waits for no clock. */
async function calm(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('one suspect at a time', () => {
  function isolation(random = 0) {
    const clock = new FakeClock();
    const stop = new AbortController();
    const neighbours = { turns: false, idle: false, running: false };
    const happened: string[] = [];
    const parts: Neighbours = {
      hasTurns: () => neighbours.turns,
      hasIdleActivities: () => neighbours.idle,
      hasRunningActivities: () => neighbours.running,
      giveBackActivities: () => {},
      turnsMayGoOn: () => {},
      activitiesMayGoOn: () => {},
    };
    const isolation = new Isolation({ clock, random: () => random, stopping: stop.signal }, parts);
    const isolate = (kind: SuspectKind, name: string = kind) => {
      const suspect = {
        kind,
        begin: () => happened.push(`${name} begins`),
        giveBack: (delayMs: number) => happened.push(`${name} goes back for ${delayMs} ms`),
        over: () => happened.push(`${name} is over`),
      };
      isolation.isolate(suspect);
      return suspect;
    };
    const pass = async (ms: number) => {
      clock.advance(ms);
      await calm();
    };
    return { isolation, isolate, neighbours, happened, pass, stop: () => stop.abort() };
  }

  test.each([
    { first: 'turn', second: 'activity' },
    { first: 'activity', second: 'turn' },
    { first: 'activity', second: 'activity' },
  ] as const)('a second one goes back for a moment: $first before $second', ({ first, second }) => {
    const { isolate, happened } = isolation();
    isolate(first, 'first');
    isolate(second, 'second');
    expect(happened).toEqual(['first begins', 'second goes back for 500 ms']);
  });

  test.each([
    { random: 0.49, winner: 'turn', loser: 'activity' },
    { random: 0.5, winner: 'activity', loser: 'turn' },
  ])('of a turn and an activity neither of which has begun, chance decides: $winner', ({ random, winner, loser }) => {
    const { isolation: one, isolate, neighbours, happened } = isolation(random);
    neighbours.running = true;
    isolate('activity');
    isolate('turn');
    const delayMs = 500 + random * 1_000;
    expect(happened).toEqual([`${loser} goes back for ${delayMs} ms`]);
    // It had its chance: a stream of others does not put it off for ever.
    isolate(loser as SuspectKind, 'another');
    expect(happened.at(-1)).toBe(`another goes back for ${delayMs} ms`);
    neighbours.running = false;
    one.check();
    expect(happened.at(-1)).toBe(`${winner} begins`);
  });

  test('whoever was put off comes first for a while: many of the other kind do not shut it out', async () => {
    const { isolation: one, isolate, happened, pass } = isolation();
    const activity = isolate('activity', 'first');
    isolate('turn');
    one.ended(activity);
    isolate('activity', 'second');
    isolate('turn');
    expect(happened.slice(2)).toEqual(['first is over', 'second goes back for 500 ms', 'turn begins']);
    isolate('activity', 'third');
    await pass(2_000);
    await pass(28_000);
    isolate('turn', 'next');
    expect(happened.slice(5)).toEqual(['third goes back for 500 ms', 'turn is over', 'next begins']);
  });

  test.each([
    { kind: 'turn', runningMs: 1_000 },
    { kind: 'activity', runningMs: 30_000 },
  ] as const)('no wait is without bound: a suspect $kind', async ({ kind, runningMs }) => {
    const { isolation: one, isolate, neighbours, happened, pass } = isolation();
    Object.assign(neighbours, { turns: true, idle: true, running: true });
    isolate(kind);
    await pass(runningMs - 1);
    expect(one.keepsTurnsAway).toBe(false);
    await pass(1);
    expect(one.keepsTurnsAway).toBe(true);
    await pass(29_999);
    expect(happened).toEqual([]);
    await pass(1);
    expect(happened).toEqual([`${kind} begins`]);
    await pass(1_000);
    expect(one.keepsTurnsAway).toBe(false);
    expect(one.isPresent).toBe(true);
    await pass(29_000);
    expect(happened).toEqual([`${kind} begins`, `${kind} is over`]);
    expect(one.isPresent).toBe(false);
  });

  test('a stop gives back what has not begun, at once, and keeps no timer', async () => {
    const { isolation: one, isolate, neighbours, happened, stop } = isolation();
    neighbours.turns = true;
    isolate('turn');
    stop();
    isolate('activity');
    expect(happened).toEqual(['turn goes back for 0 ms', 'activity goes back for 0 ms']);
    expect(one.isPresent).toBe(false);
  });
});

describe('a suspect takes nothing of the other queue along', () => {
  /** Activities run until the test ends them; acknowledgements of turns wait while `holdAcks`. */
  function stage(options = {}) {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const begun: unknown[] = [];
    const ends = new Map<unknown, () => void>();
    const handlers: Handlers = {
      activities: {
        Wait: (_ctx, input) => {
          begun.push(input);
          return new Promise<void>((resolve) => ends.set(input, resolve));
        },
      },
      orchestrations: {
        *Wait(ctx, input) {
          begun.push(`turn of ${input}`);
          yield ctx.scheduleActivity('Wait', input);
        },
        *OnSession(ctx, input) {
          yield ctx.all([1, 2].map((n) => ctx.scheduleActivityOnSession('Wait', `${input} ${n}`, 'session')));
        },
        *Nothing(_ctx, input) {
          begun.push(`turn of ${input}`);
        },
      },
    };
    const runtime = new SteppedRuntime(provider, clock, handlers, options);
    (runtime.core as { random: RuntimeCore['random'] }).random = () => 0.9;
    const held: (() => void)[] = [];
    const acks = { areHeld: false };
    const ack = provider.ackOrchestrationItems.bind(provider);
    provider.ackOrchestrationItems = async (turns) => {
      if (acks.areHeld) await new Promise<void>((resolve) => held.push(resolve));
      return ack(turns);
    };
    const letAcksGo = async () => {
      acks.areHeld = false;
      for (const resolve of held.splice(0)) resolve();
      await calm();
    };
    const { orchestrations, activities } = runtime.parts;
    const start = (name: string, instance: string) => runtime.client.startOrchestration(instance, name, instance);
    const lookForTurns = async () => {
      void orchestrations.look();
      await calm();
    };
    const lookForActivities = async () => {
      await activities.look();
      await calm();
    };
    const pass = async (ms: number) => {
      clock.advance(ms);
      await calm();
    };
    const end = async (input: string) => {
      ends.get(input)?.();
      await calm();
    };
    return {
      ...{ provider, runtime, begun, acks, letAcksGo, orchestrations, activities },
      ...{ start, lookForTurns, lookForActivities, pass, end },
    };
  }

  test('an activity begins when turns are answered, and no turn is fetched until it has run for a second', async () => {
    const { provider, begun, acks, letAcksGo, orchestrations, activities, ...act } = stage();
    await act.start('Wait', 'suspect');
    await act.lookForTurns();
    provider.setAttempts('worker', 2);
    acks.areHeld = true;
    await act.start('Nothing', 'good');
    await act.lookForTurns();
    await act.lookForActivities();
    expect(begun).toEqual(['turn of suspect', 'turn of good']);
    expect(orchestrations.hasRoom()).toBe(false);
    await letAcksGo();
    expect(begun.at(-1)).toBe('suspect');
    await act.pass(999);
    expect(orchestrations.hasRoom()).toBe(false);
    await act.pass(1);
    expect(orchestrations.hasRoom()).toBe(true);
    expect(activities.hasRoom()).toBe(false);
    await act.end('suspect');
    expect(activities.hasRoom()).toBe(true);
  });

  test('an activity waits also for a fetch of turns that is under way, and for what it brings', async () => {
    const { provider, begun, letAcksGo, acks, ...act } = stage();
    await act.start('Wait', 'suspect');
    await act.lookForTurns();
    provider.setAttempts('worker', 2);
    await act.start('Nothing', 'good');
    acks.areHeld = true;
    const fetch = provider.fetchOrchestrationItems.bind(provider);
    let answer = (): void => {};
    provider.fetchOrchestrationItems = async (params) => {
      const fetched = await fetch(params);
      await new Promise<void>((resolve) => (answer = resolve));
      return fetched;
    };
    await act.lookForTurns();
    await act.lookForActivities();
    expect(begun).toEqual(['turn of suspect']);
    answer();
    await calm();
    expect(begun).toEqual(['turn of suspect', 'turn of good']);
    await letAcksGo();
    expect(begun).toEqual(['turn of suspect', 'turn of good', 'suspect']);
  });

  test('a turn begins when activities have ended, or after a second; none is fetched, and those that wait go back', async () => {
    const { provider, begun, activities, ...act } = stage();
    await act.start('OnSession', 'good');
    await act.lookForTurns();
    await act.lookForActivities();
    expect(begun).toEqual(['good 1']);
    await act.start('Nothing', 'suspect');
    provider.setAttempts('orchestrator', 2);
    await act.lookForTurns();
    expect(begun).toEqual(['good 1']);
    expect(activities.hasRoom()).toBe(false);
    expect(provider.workerQueue.map(({ token, attempts }) => [token !== null, attempts])).toEqual([
      [true, 1],
      [false, 0],
    ]);
    await act.pass(999);
    expect(begun).toEqual(['good 1']);
    await act.pass(1);
    expect(begun).toEqual(['good 1', 'turn of suspect']);
    expect(activities.hasRoom()).toBe(true);
    await act.lookForActivities();
    await act.end('good 1');
    expect(begun.at(-1)).toBe('good 2');
  });

  test('a turn waits for acknowledgements of activities, longer than for activities that run', async () => {
    const { provider, begun, ...act } = stage();
    await act.start('Wait', 'good');
    await act.lookForTurns();
    await act.lookForActivities();
    const ack = provider.ackWorkItems.bind(provider);
    let answer = (): void => {};
    provider.ackWorkItems = async (elements) => {
      await new Promise<void>((resolve) => (answer = resolve));
      return ack(elements);
    };
    await act.end('good');
    await act.start('Nothing', 'suspect');
    provider.setAttempts('orchestrator', 2);
    await act.lookForTurns();
    await act.pass(1_000);
    await act.pass(1_000);
    expect(begun).toEqual(['turn of good', 'good']);
    answer();
    await calm();
    expect(begun).toEqual(['turn of good', 'good', 'turn of suspect']);
  });

  test('a suspect turn beside a suspect activity goes back for a moment, without its attempt', async () => {
    const { provider, runtime, begun, ...act } = stage();
    await act.start('Wait', 'activity');
    await act.lookForTurns();
    provider.setAttempts('worker', 2);
    await act.lookForActivities();
    await act.start('Nothing', 'turn');
    await act.start('Nothing', 'other');
    provider.setAttempts('orchestrator', 2);
    await act.lookForTurns();
    expect(begun).toEqual(['turn of activity', 'activity']);
    // All of them: or they would be fetched, and be in the way, again and again.
    expect(provider.orchestratorQueue.map(({ attempts }) => attempts)).toEqual([2, 2]);
    const pauses = provider.orchestratorQueue.map(({ visibleAtMs }) => visibleAtMs - runtime.clock.nowMs());
    expect(pauses).toEqual([1_400, 1_400]);
    await act.end('activity');
    await act.pass(1_400);
    await act.lookForTurns();
    expect(begun.slice(2)).toEqual(['turn of other']);
  });

  test('a lock that is lost while the suspect waits ends its isolation', async () => {
    const { provider, runtime, begun, acks, orchestrations, activities, ...act } = stage();
    acks.areHeld = true;
    await act.start('Nothing', 'good');
    await act.lookForTurns();
    await act.start('Nothing', 'suspect');
    for (const row of provider.orchestratorQueue) if (row.instance === 'suspect') row.attempts = 2;
    await act.lookForTurns();
    expect(activities.hasRoom()).toBe(false);
    provider.locks.delete('suspect');
    await act.pass(runtime.core.options.orchestratorLockTimeoutMs - 1);
    expect(activities.hasRoom()).toBe(true);
    expect(orchestrations.hasRoom()).toBe(true);
    expect(begun).toEqual(['turn of good']);
  });

  test('a stop gives back a suspect turn that waits', async () => {
    const { provider, runtime, begun, ...act } = stage();
    await act.start('Wait', 'good');
    await act.lookForTurns();
    await act.lookForActivities();
    await act.start('Nothing', 'suspect');
    provider.setAttempts('orchestrator', 2);
    await act.lookForTurns();
    await runtime.stop();
    expect(begun).toEqual(['turn of good', 'good']);
    expect(provider.orchestratorQueue.map(({ attempts, token }) => [attempts, token])).toEqual([[2, null]]);
  });
});
