import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import type { OrchestrationLock, Result } from '../../src/provider/provider.js';
import { ProviderError } from '../../src/provider/provider-error.js';
import { LockKeeper, renewEveryMs } from '../../src/provider/lock-keeper.js';
import { newMetrics } from '../../src/runtime/metrics.js';
import { resolveRuntimeOptions } from '../../src/runtime/options.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { RecordingLogger, SteppedRuntime } from '../support/runtime-harness.js';

/** Lets everything happen that needs no time to pass. */
async function ticks(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('renewal interval', () => {
  test('R:LK-01 D-20 defaults: 5 s and 30 s, renewed at a third; a buffer only makes it earlier', () => {
    const options = resolveRuntimeOptions({});
    expect(options).toMatchObject({
      orchestratorLockTimeoutMs: 5_000,
      orchestratorLockRenewalBufferMs: 2_000,
      workerLockTimeoutMs: 30_000,
      workerLockRenewalBufferMs: 5_000,
    });
    expect(renewEveryMs(30_000, 5_000)).toBe(10_000);
    expect(renewEveryMs(5_000, 2_000)).toBe(1_666);
    expect(renewEveryMs(30_000, 25_000)).toBe(5_000);
    expect(renewEveryMs(30_000, 40_000)).toBe(10_000);
    expect(renewEveryMs(1_000, 0)).toBe(333);
    expect(renewEveryMs(60, 0)).toBe(50);
  });
});

describe('lock keeper', () => {
  const failure = (retryable: boolean): Result => ({
    ok: false,
    error: retryable ? ProviderError.retryable('renew', 'down') : ProviderError.permanent('renew', 'lost'),
  });

  function keeperOn(
    clock: FakeClock,
    answer: (lock: OrchestrationLock) => Result = () => ({ ok: true, value: undefined }),
  ) {
    const batches: string[][] = [];
    const logger = new RecordingLogger();
    const metrics = newMetrics();
    const keeper = new LockKeeper<OrchestrationLock>({
      what: 'test',
      lockTimeoutMs: 3_000,
      renewalBufferMs: 0,
      clock,
      logger,
      metrics: () => metrics,
      renew: async (locks) => {
        batches.push(locks.map(({ instance }) => instance));
        return locks.map(answer);
      },
    });
    const lost: string[] = [];
    const hold = (instance: string) => {
      const lock = { instance, lockToken: instance };
      keeper.hold(lock, clock.nowMs(), () => lost.push(instance));
      return lock;
    };
    return { keeper, hold, batches, lost, logger, metrics };
  }

  test('R:LK-03 what is released before a third of its lock is never renewed, and no timer stays', async () => {
    const clock = new FakeClock();
    const { keeper, hold, batches } = keeperOn(clock);
    const lock = hold('short');
    await ticks();
    clock.advance(900);
    keeper.release(lock);
    await ticks();
    clock.advance(10_000);
    await ticks();
    expect(batches).toEqual([]);
    expect(clock.sleeping).toBe(0);
  });

  test('renewals of one interval travel in one batch, again and again', async () => {
    const clock = new FakeClock();
    const { hold, batches } = keeperOn(clock);
    hold('a');
    clock.advance(100);
    hold('b');
    await ticks();
    for (let i = 0; i < 3; i++) {
      clock.advance(1_000);
      await ticks();
    }
    expect(batches).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });

  test('a refused renewal tells the holder once and ends the renewing', async () => {
    const clock = new FakeClock();
    const { hold, batches, lost, metrics } = keeperOn(clock, ({ instance }) =>
      instance === 'gone' ? failure(false) : { ok: true, value: undefined },
    );
    hold('gone');
    hold('kept');
    await ticks();
    clock.advance(1_000);
    await ticks();
    clock.advance(1_000);
    await ticks();
    expect(lost).toEqual(['gone']);
    expect(batches).toEqual([['gone', 'kept'], ['kept']]);
    expect(metrics.locksLost).toBe(1);
  });

  test('while the store is down it tries again, and gives the lock up when it has run out', async () => {
    const clock = new FakeClock();
    const { hold, batches, lost } = keeperOn(clock, () => failure(true));
    hold('a');
    await ticks();
    for (let i = 0; i < 40 && lost.length === 0; i++) {
      clock.advance(100);
      await ticks();
    }
    expect(lost).toEqual(['a']);
    expect(batches.length).toBeGreaterThan(2);
    expect(clock.nowMs() - 1_800_000_000_000).toBeGreaterThanOrEqual(3_000);
  });

  test('a loop that was blocked is reported', async () => {
    const clock = new FakeClock();
    const { hold, logger, metrics } = keeperOn(clock);
    hold('a');
    await ticks();
    clock.advance(2_500);
    await ticks();
    expect(metrics.lateRenewals).toBe(1);
    expect(logger.matching('event loop was blocked')).toHaveLength(1);
  });
});

describe('activities and their locks', () => {
  /** An activity that ends when the test says so. */
  function longActivity() {
    let end: (value: unknown) => void = () => {};
    const contexts: any[] = [];
    return {
      contexts,
      run: (ctx: any) => {
        contexts.push(ctx);
        return new Promise((resolve) => (end = resolve));
      },
      end: (value: unknown) => end(value),
    };
  }

  const orchestrations: NonNullable<Handlers['orchestrations']> = {
    *Long(ctx) {
      return yield ctx.scheduleActivity('Long');
    },
    *Race(ctx) {
      return yield ctx.race(ctx.scheduleActivity('Long'), ctx.waitForEvent('go'));
    },
  };

  async function begin(name: string, options = {}) {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const long = longActivity();
    const runtime = new SteppedRuntime(provider, clock, { activities: { Long: long.run }, orchestrations }, options);
    await runtime.client.startOrchestration('i', name);
    await runtime.parts.orchestrations.runOnce();
    const worked = runtime.parts.activities.runOnce();
    await ticks();
    return { clock, provider, long, runtime, worked };
  }

  test('R:LK-02 C-05 an activity longer than its lock runs once: nobody else gets its row', async () => {
    const { clock, provider, long, runtime, worked } = await begin('Long', { workerLockTimeoutMs: 1_000 });
    const other = new SteppedRuntime(provider, clock, { activities: { Long: long.run }, orchestrations });
    for (let i = 0; i < 50; i++) {
      clock.advance(100);
      await ticks();
      expect((await other.parts.activities.look()).fetched).toBe(0);
    }
    long.end('done');
    await worked;
    expect((await runtime.runToEnd('i')).output).toBe('done');
    expect(long.contexts).toHaveLength(1);
  });

  test('R:LK-05 R:LK-03 short work under a short lock needs no renewal', async () => {
    const { provider, long, runtime, worked } = await begin('Long', { workerLockTimeoutMs: 1_000 });
    long.end('quick');
    await worked;
    expect((await runtime.runToEnd('i')).output).toBe('quick');
    expect(provider.calls).not.toContain('renewWorkItemLocks');
  });

  test('R:CN-14 R:CN-19 an activity of this process hears of its cancellation at the acknowledgement', async () => {
    const { long, runtime, worked } = await begin('Race');
    const { signal } = long.contexts[0];
    await runtime.client.raiseEvent('i', 'go', 'enough');
    await runtime.parts.orchestrations.runOnce();
    expect(long.contexts[0].isCancelled()).toBe(true);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ name: 'ActivityCancelledError', reason: 'cancelled' });
    long.end('too late');
    await worked;
    expect(runtime.core.metrics).toMatchObject({ activityDiscarded: 1, activityInfraErrors: 0, providerErrors: 0 });
    expect((await runtime.runToEnd('i')).output).toEqual({ index: 1, value: 'enough' });
  });

  test('R:CN-18 R:CN-20 an activity that does not listen loses its slot after the grace period', async () => {
    const { clock, long, runtime, worked } = await begin('Race', {
      workerConcurrency: 1,
      activityCancellationGracePeriodMs: 2_000,
    });
    await runtime.client.raiseEvent('i', 'go');
    await runtime.parts.orchestrations.runOnce();
    clock.advance(1_999);
    await ticks();
    expect(runtime.parts.activities.hasRoom()).toBe(false);
    clock.advance(1);
    await worked;
    expect(runtime.parts.activities.hasRoom()).toBe(true);
    expect(long.contexts[0].isCancelled()).toBe(false);
    expect(long.contexts[0].getClient()).toBeNull();
    await runtime.client.startOrchestration('j', 'Long');
    await runtime.parts.orchestrations.runOnce();
    const again = runtime.parts.activities.runOnce();
    await ticks();
    long.end('second');
    await again;
    expect((await runtime.runToEnd('j')).output).toBe('second');
  });

  test('R:CN-16 a cancellation by another process is noticed at the next renewal', async () => {
    const { clock, provider, long, runtime, worked } = await begin('Race', { workerLockTimeoutMs: 3_000 });
    const other = new SteppedRuntime(provider, clock, { orchestrations });
    await other.client.raiseEvent('i', 'go');
    await other.parts.orchestrations.runOnce();
    expect(long.contexts[0].isCancelled()).toBe(false);
    clock.advance(1_000);
    await ticks();
    expect(long.contexts[0].isCancelled()).toBe(true);
    long.end('unwanted');
    await worked;
    expect(await runtime.kinds('i')).not.toContain('ActivityCompleted');
  });

  test('R:LK-06 a worker that dies before it acknowledges: the activity runs again, one result in history', async () => {
    const { clock, provider, long, runtime, worked } = await begin('Long');
    // The process is gone: nobody renews, and nobody answers.
    runtime.parts.activities.abandonRunning = () => {};
    provider.renewWorkItemLocks = async (elements) =>
      elements.map(() => ({ ok: false, error: ProviderError.permanent('renew_work_item_lock', 'gone') }));
    clock.advance(60_000);
    await ticks();
    const runs: number[] = [];
    const other = new SteppedRuntime(provider, clock, { activities: { Long: () => runs.push(1) }, orchestrations });
    await other.settle();
    expect((await other.runToEnd('i')).status).toBe('Completed');
    expect((await other.kinds('i')).filter((kind) => kind === 'ActivityCompleted')).toHaveLength(1);
    long.end('late');
    await worked;
  });

  test('R:LK-07 a failed acknowledgement gives the row back after 100 ms', async () => {
    const { clock, provider, long, runtime, worked } = await begin('Long');
    const ack = provider.ackWorkItems.bind(provider);
    provider.ackWorkItems = async () => {
      throw ProviderError.retryable('ack_worker', 'down');
    };
    long.end(1);
    await worked;
    expect(runtime.core.metrics.activityInfraErrors).toBe(1);
    provider.ackWorkItems = ack;
    expect((await runtime.parts.activities.look()).fetched).toBe(0);
    clock.advance(100);
    const again = runtime.parts.activities.runOnce();
    await ticks();
    long.end(2);
    await again;
    expect((await runtime.runToEnd('i')).output).toBe(2);
  });
});

describe('turns and their locks', () => {
  const handlers: Handlers = {
    orchestrations: {
      *Wait(ctx) {
        return yield ctx.waitForEvent('go');
      },
    },
  };

  async function locked() {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const runtime = new SteppedRuntime(provider, clock, handlers);
    await runtime.client.startOrchestration('i', 'Wait');
    await runtime.settle();
    await runtime.client.raiseEvent('i', 'go', 1);
    return { clock, provider, runtime };
  }

  test.each([
    [
      'R:LK-08 D-18 retryable: given back, and fetched again after 50 ms',
      ProviderError.retryable('ack_orchestration_item', 'down'),
      50,
    ],
    [
      'unknown outcome: nothing is written; the lock runs out',
      ProviderError.retryable('ack_orchestration_item', 'cut', { outcome: 'unknown' }),
      5_000,
    ],
  ])('%s', async (_title, error, afterMs) => {
    const { clock, provider, runtime } = await locked();
    const ack = provider.ackOrchestrationItems.bind(provider);
    provider.ackOrchestrationItems = async (turns) => turns.map(() => ({ ok: false, error }));
    await runtime.parts.orchestrations.runOnce();
    provider.ackOrchestrationItems = ack;
    clock.advance(afterMs - 1);
    expect((await runtime.parts.orchestrations.look()).fetched).toBe(0);
    clock.advance(1);
    expect((await runtime.runToEnd('i')).output).toBe(1);
    expect(await runtime.kinds('i')).toHaveLength(4);
  });

  test('R:FF-16 a permanent refusal fails the instance with its reason, under the same lock', async () => {
    const { provider, runtime } = await locked();
    const ack = provider.ackOrchestrationItems.bind(provider);
    let refused = 0;
    provider.ackOrchestrationItems = async (turns) => {
      if (refused++ > 0) return ack(turns);
      return turns.map(() => ({ ok: false, error: ProviderError.permanent('ack_orchestration_item', 'no room') }));
    };
    await runtime.parts.orchestrations.runOnce();
    expect(await runtime.client.getStatus('i')).toMatchObject({
      status: 'Failed',
      error: 'infrastructure:ack_orchestration_item: no room',
    });
    expect(await runtime.kinds('i')).toEqual(['OrchestrationStarted', 'ExternalSubscribed', 'OrchestrationFailed']);
  });

  test('R:FF-16 the same for an instance that has no history yet: it begins and fails', async () => {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const runtime = new SteppedRuntime(provider, clock, handlers);
    await runtime.client.startOrchestration('new', 'Wait');
    const ack = provider.ackOrchestrationItems.bind(provider);
    let refused = 0;
    provider.ackOrchestrationItems = async (turns) => {
      if (refused++ > 0) return ack(turns);
      return turns.map(() => ({ ok: false, error: ProviderError.permanent('ack_orchestration_item', 'no room') }));
    };
    await runtime.parts.orchestrations.runOnce();
    expect(await runtime.kinds('new')).toEqual(['OrchestrationStarted', 'OrchestrationFailed']);
  });

  test('R:LK-04 a turn that waits longer than its lock keeps it by renewal', async () => {
    const { clock, provider, runtime } = await locked();
    const load = provider.loadHistory.bind(provider);
    let go = () => {};
    provider.loadHistory = async (lock) => {
      await new Promise<void>((resolve) => (go = resolve));
      return load(lock);
    };
    // The tail does not fit, so the turn has to wait for the whole history.
    provider.fetchOrchestrationItems = ((fetch) => async (params) => {
      const fetched = await fetch(params);
      return {
        ...fetched,
        items: fetched.items.map((item) => ({
          ...item,
          history: { kind: 'tail' as const, heldText: 'other', events: [] },
        })),
      };
    })(provider.fetchOrchestrationItems.bind(provider));
    const turn = runtime.parts.orchestrations.runOnce();
    await ticks();
    for (let i = 0; i < 12; i++) {
      clock.advance(1_000);
      await ticks();
    }
    go();
    await turn;
    expect((await runtime.client.getStatus('i')).status).toBe('Completed');
    expect(provider.calls.filter((call) => call === 'renewOrchestrationItemLocks').length).toBeGreaterThan(3);
  });

  test('R:LK-09 R:LK-10 a restart after the commit repeats nothing', async () => {
    const { clock, provider, runtime } = await locked();
    await runtime.parts.orchestrations.runOnce();
    const events = await runtime.kinds('i');
    const next = new SteppedRuntime(provider, clock, handlers);
    await next.settle();
    expect(await next.kinds('i')).toEqual(events);
  });
});
