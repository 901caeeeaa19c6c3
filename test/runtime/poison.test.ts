import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { unregisteredDelayMs } from '../../src/runtime/fetch-errors.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { decodeWorkItem } from '../../src/wire/work-item.js';
import type { Handlers } from '../support/runtime-harness.js';
import { RecordingLogger, SteppedRuntime } from '../support/runtime-harness.js';
import { describeScenarios } from '../support/scenarios.js';

const echo: Handlers = {
  activities: { Echo: (_ctx, input) => input },
  orchestrations: {
    *Echo(ctx, input) {
      return yield ctx.scheduleActivity('Echo', input);
    },
    *Parent(ctx, name) {
      return yield ctx.scheduleSubOrchestration(name, 1);
    },
  },
};

describe('back-off', () => {
  test('R:PO-07 1, 2, 4, 8, 16, 32, 60 s by default; base and cap are honoured', () => {
    const attempts = [1, 2, 3, 4, 5, 6, 7, 8, 50];
    expect(attempts.map((attempt) => unregisteredDelayMs(attempt, 1_000, 60_000) / 1_000)).toEqual([
      1, 2, 4, 8, 16, 32, 60, 60, 60,
    ]);
    expect(attempts.map((attempt) => unregisteredDelayMs(attempt, 10, 50))).toEqual([
      10, 20, 40, 50, 50, 50, 50, 50, 50,
    ]);
  });
});

describeScenarios('poison', {
  'R:PO-03 R:PO-06 R:CA-07 an unknown orchestration waits with back-off, then fails as poison': async ({
    open,
    id,
    clock,
  }) => {
    const runtime = open({});
    const instance = id();
    const startedAtMs = clock.nowMs();
    const status = await runtime.run(instance, 'Nobody', { payload: 'secret' });
    expect(status).toMatchObject({
      status: 'Failed',
      error: `poison: orchestration ${instance} exceeded 11 attempts (max 10)`,
    });
    expect(clock.nowMs() - startedAtMs).toBe((1 + 2 + 4 + 8 + 16 + 32 + 60 * 4) * 1_000);
    expect(await runtime.kinds(instance)).toEqual(['OrchestrationStarted', 'OrchestrationFailed']);
    const info = await runtime.client.getInstanceInfo(instance).catch(() => undefined);
    if (info) expect(info).toMatchObject({ orchestrationName: 'Nobody', orchestrationVersion: 'unknown' });
  },

  'R:PO-04 R:PO-06 R:SO-14 an unknown activity of a child: child and parent fail with the same poison': async ({
    open,
    id,
  }) => {
    const runtime = open(
      { orchestrations: echo.orchestrations ?? {} },
      { maxAttempts: 2, unregisteredBackoff: { baseDelayMs: 10, maxDelayMs: 10 } },
    );
    const instance = id();
    const status = await runtime.run(instance, 'Parent', 'Echo');
    expect(status.error).toBe('poison: activity Echo#2 exceeded 3 attempts (max 2)');
    expect((await runtime.runToEnd(`${instance}::sub::2`)).error).toBe(status.error);
  },

  'R:SO-13 a poisoned child: the parent fails with its details': async ({ open, id }) => {
    const runtime = open(
      { orchestrations: echo.orchestrations ?? {} },
      { maxAttempts: 1, unregisteredBackoff: { baseDelayMs: 10, maxDelayMs: 10 } },
    );
    const instance = id();
    expect((await runtime.run(instance, 'Parent', 'Nobody')).error).toBe(
      `poison: orchestration ${instance}::sub::2 exceeded 2 attempts (max 1)`,
    );
  },

  'R:PO-02 R:PO-05 one poisoned activity among many: that instance fails, the others are well': async ({
    open,
    id,
  }) => {
    const runtime = open(
      {
        ...echo,
        orchestrations: {
          ...echo.orchestrations,
          *Fan(ctx) {
            return yield ctx.all([ctx.scheduleActivity('Echo', 1), ctx.scheduleActivity('Nobody', 2)]);
          },
        },
      },
      { maxAttempts: 2, unregisteredBackoff: { baseDelayMs: 10, maxDelayMs: 10 } },
    );
    const [bad, good] = [id(), id()];
    await runtime.client.startOrchestration(bad, 'Fan');
    await runtime.client.startOrchestration(good, 'Echo', 'well');
    expect((await runtime.runToEnd(good)).output).toBe('well');
    expect((await runtime.runToEnd(bad)).error).toContain('poison: activity Nobody#3 exceeded 3 attempts (max 2)');
  },

  'R:PO-08 rolling deployment: an old node bounces, an upgraded one completes': async ({ open, id }) => {
    const old = open({ orchestrations: echo.orchestrations ?? {} });
    const instance = id();
    await old.client.startOrchestration(instance, 'Echo', 'upgraded');
    await old.settle();
    await old.advance(1_000);
    const upgraded = open(echo);
    expect((await upgraded.runToEnd(instance)).output).toBe('upgraded');
  },

  'D-08 messages that come while a continue-as-new waits for its version are kept': async ({ open, id, clock }) => {
    const first: Handlers = {
      orchestrations: {
        *Hop(ctx) {
          yield ctx.waitForEvent('go');
          return yield ctx.continueAsNewVersioned('next', '2.0.0');
        },
      },
    };
    const old = open(first);
    const instance = id();
    await old.client.startOrchestration(instance, 'Hop');
    await old.settle();
    await old.client.raiseEvent(instance, 'go');
    await old.settle();
    // The next execution is being put off; this message arrives in between.
    await old.client.enqueueEvent(instance, 'box', 'kept');
    await old.settle();
    expect((await old.client.getStatus(instance)).status).toBe('Running');
    const both = open({
      orchestrations: {
        ...first.orchestrations,
        *'Hop@2.0.0'(ctx) {
          return yield ctx.dequeueEvent('box');
        },
      },
    });
    clock.advance(1_000);
    expect((await both.runToEnd(instance)).output).toBe('kept');
  },
});

test('D-08 a continue-as-new that is due a moment later by the clock of another host: messages keep their order', async () => {
  const clock = new FakeClock();
  const provider = new MemoryProvider(clock);
  const runtime = new SteppedRuntime(provider, clock, {
    orchestrations: {
      *Loop(ctx, seen: string[]) {
        const message: string = yield ctx.dequeueEvent('mail');
        const all = [...seen, message];
        return all.length === 3 ? all : yield ctx.continueAsNew(all);
      },
    },
  });
  await runtime.client.startOrchestration('loop', 'Loop', []);
  await runtime.client.enqueueEvent('loop', 'mail', 'x');
  await runtime.step();
  const [next] = provider.orchestratorQueue;
  expect(decodeWorkItem(next?.text ?? '').kind).toBe('ContinueAsNew');
  if (next) next.visibleAtMs += 10;
  await runtime.client.enqueueEvent('loop', 'mail', 'y');
  // Fetched without the item that it has to wait for, and not given back before that is due.
  await runtime.parts.orchestrations.runOnce();
  clock.advance(10);
  await runtime.client.enqueueEvent('loop', 'mail', 'z');
  expect((await runtime.runToEnd('loop')).output).toEqual(['x', 'y', 'z']);
});

describe('suspects run alone', () => {
  /** Instances that are ready, all with so many attempts behind them. */
  async function backlog(count: number, attempts: number, handlers: Handlers = echo, options = {}) {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const logger = new RecordingLogger();
    const runtime = new SteppedRuntime(provider, clock, handlers, { logger, ...options });
    for (let i = 0; i < count; i++) await runtime.client.startOrchestration(`i${i}`, 'Echo', i);
    provider.setAttempts('orchestrator', attempts);
    return { clock, provider, runtime };
  }

  test('of several suspect turns one runs, the others get their attempt back', async () => {
    const { provider, runtime } = await backlog(5, 2);
    await runtime.parts.orchestrations.runOnce();
    expect(provider.orchestratorQueue).toHaveLength(4);
    expect(provider.orchestratorQueue.map(({ attempts }) => attempts)).toEqual([2, 2, 2, 2]);
    expect(provider.instances.size).toBe(1);
    await runtime.settle();
    expect(provider.instances.size).toBe(5);
  });

  test('R:PO-01 a turn that kills the process every time takes none of 50 others along', async () => {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const handlers: Handlers = {
      ...echo,
      orchestrations: {
        ...echo.orchestrations,
        *Killer() {
          throw new Error('the process is gone');
        },
      },
    };
    const client = new SteppedRuntime(provider, clock, handlers).client;
    for (let i = 0; i < 50; i++) await client.startOrchestration(`good${i}`, 'Echo', i);
    await client.startOrchestration('bad', 'Killer');
    for (let life = 0; life < 200; life++) {
      const runtime = new SteppedRuntime(provider, clock, handlers);
      // A process that dies: nothing of what it holds is acknowledged, and its locks run out.
      let dead = false;
      const fetch = provider.fetchOrchestrationItems.bind(provider);
      const run = runtime.parts.orchestrations;
      const processor = (run as unknown as { processor: { runner: { run: (item: { instance: string }) => unknown } } })
        .processor;
      const original = processor.runner.run.bind(processor.runner);
      const acks = provider.ackOrchestrationItems.bind(provider);
      provider.ackOrchestrationItems = async (turns) => (dead ? new Promise(() => {}) : acks(turns));
      processor.runner.run = (item: { instance: string }, ...rest: unknown[]) => {
        if (item.instance === 'bad') dead = true;
        return (original as (...args: unknown[]) => unknown)(item, ...rest);
      };
      for (let steps = 0; steps < 5 && !dead; steps++) {
        await Promise.race([run.runOnce(), new Promise((resolve) => setTimeout(resolve, 20))]);
        if (!dead) await runtime.parts.activities.runOnce();
      }
      provider.fetchOrchestrationItems = fetch;
      provider.ackOrchestrationItems = acks;
      clock.advance(60_000);
      const ended = [...provider.instances.keys()].filter((id) => provider.statusOf(id) !== 'Running');
      if (ended.length === 51) break;
    }
    expect(provider.statusOf('bad')).toBe('Failed');
    expect(provider.outputOf('bad')).toContain('poison: orchestration bad');
    for (let i = 0; i < 50; i++) expect(provider.statusOf(`good${i}`)).toBe('Completed');
  });

  test('an item that would run no code is no suspect: unregistered names hold up nobody', async () => {
    const { provider, runtime } = await backlog(3, 5, {});
    await runtime.parts.orchestrations.runOnce();
    expect(provider.orchestratorQueue.map(({ attempts }) => attempts)).toEqual([6, 6, 6]);
  });

  test('a suspect activity starts when no other runs, and nothing is fetched until then', async () => {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const ends: (() => void)[] = [];
    const started: unknown[] = [];
    const runtime = new SteppedRuntime(provider, clock, {
      activities: {
        Echo: (_ctx, input) => {
          started.push(input);
          return new Promise<void>((resolve) => ends.push(resolve));
        },
      },
      orchestrations: echo.orchestrations ?? {},
    });
    await runtime.client.startOrchestration('first', 'Echo', 'first');
    await runtime.parts.orchestrations.runOnce();
    await runtime.parts.activities.look();
    for (const name of ['a', 'b', 'c']) await runtime.client.startOrchestration(name, 'Echo', name);
    await runtime.parts.orchestrations.runOnce();
    provider.setAttempts('worker', 2);
    await runtime.parts.activities.look();
    await new Promise((resolve) => setImmediate(resolve));
    expect(started).toEqual(['first']);
    expect(runtime.parts.activities.hasRoom()).toBe(false);
    expect(provider.workerQueue.filter(({ token }) => token === null).map(({ attempts }) => attempts)).toEqual([2, 2]);
    ends[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(started).toHaveLength(2);
    expect(runtime.parts.activities.hasRoom()).toBe(false);
    ends[1]?.();
    await runtime.parts.activities.quiet();
    expect(runtime.parts.activities.hasRoom()).toBe(true);
  });

  test('a suspect activity is patient for 30 s only, before its start and while it runs', async () => {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const started: unknown[] = [];
    const runtime = new SteppedRuntime(provider, clock, {
      activities: {
        Echo: (_ctx, input) => {
          started.push(input);
          return new Promise(() => {});
        },
      },
      orchestrations: echo.orchestrations ?? {},
    });
    await runtime.client.startOrchestration('first', 'Echo', 'first');
    await runtime.parts.orchestrations.runOnce();
    await runtime.parts.activities.look();
    await runtime.client.startOrchestration('suspect', 'Echo', 'suspect');
    await runtime.parts.orchestrations.runOnce();
    provider.setAttempts('worker', 2);
    await runtime.parts.activities.look();
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        clock.advance(5_000);
        for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await pass(25_000);
    expect(started).toEqual(['first']);
    await pass(5_000);
    expect(started).toEqual(['first', 'suspect']);
    expect(runtime.parts.activities.hasRoom()).toBe(false);
    await pass(30_000);
    expect(runtime.parts.activities.hasRoom()).toBe(true);
  });
});

test('R:DH-27 R:DH-28 a history that cannot be read: back-off, then one failure under a fixed id', async () => {
  const clock = new FakeClock();
  const provider = new MemoryProvider(clock);
  const runtime = new SteppedRuntime(provider, clock, echo, { maxAttempts: 3 });
  await runtime.client.startOrchestration('i', 'Echo', 1);
  await runtime.parts.orchestrations.runOnce();
  const stored = provider.executions.get('i')?.get(1)?.events;
  stored?.set(2, '{"event_id":2,"type":"FromTheFuture"}');
  await runtime.settle();
  for (let i = 0; i < 5; i++) await runtime.advance(1_000);
  expect(provider.statusOf('i')).toBe('Failed');
  expect(stored?.get(99_999)).toContain('FailedDeserialization');
  expect([...(stored?.keys() ?? [])]).toEqual([1, 2, 99_999]);
});
