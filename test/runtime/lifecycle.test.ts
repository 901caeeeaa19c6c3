import { afterEach, describe, expect, test } from '@jest/globals';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { ProviderError } from '../../src/provider/provider-error.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { register, waitFor } from '../support/runtime-harness.js';

const handlers: Handlers = {
  activities: { Echo: (_ctx, input) => input },
  orchestrations: {
    *Echo(ctx, input) {
      return yield ctx.scheduleActivity('Echo', input);
    },
    *Slow(ctx) {
      return yield ctx.scheduleActivity('Slow');
    },
    *Sleep(ctx, ms) {
      yield ctx.scheduleTimer(ms);
      return 'awake';
    },
  },
};

/** An activity that ends when told, and says how often it began. */
function slow() {
  const runs: { end: (value: unknown) => void; ctx: any }[] = [];
  const run = (ctx: any) => new Promise<unknown>((end) => runs.push({ end, ctx }));
  return { runs, handlers: { ...handlers, activities: { ...handlers.activities, Slow: run } } satisfies Handlers };
}

let started: Runtime[] = [];
afterEach(async () => {
  await Promise.all(started.map((runtime) => runtime.shutdown(0)));
  started = [];
});

function runtimeOn(provider: MemoryProvider, handled: Handlers = handlers, options = {}): Runtime {
  const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off', ...options });
  register(runtime, handled);
  started.push(runtime);
  return runtime;
}

describe('start', () => {
  test('one that fails after a shutdown and another start leaves the later one alone', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const due = provider.due.bind(provider);
    let fail: ((error: Error) => void) | undefined;
    provider.due = () => new Promise((_, reject) => (fail = reject));
    const runtime = runtimeOn(provider);
    const first = runtime.start();
    await waitFor('the first start asks the store', () => fail !== undefined);
    await runtime.shutdown(0);
    provider.due = due;
    await runtime.start();
    fail?.(new Error('down'));
    await expect(first).rejects.toThrow('down');
    expect(runtime.metricsSnapshot()).not.toBeNull();
    await runtime.shutdown(0);
    const client = new Client(provider);
    await client.startOrchestration('i', 'Echo', 1);
    expect(provider.orchestratorQueue).toHaveLength(1);
    expect(runtime.metricsSnapshot()).toBeNull();
  });
});

describe('shutdown (C-37, D-19)', () => {
  test('waits for a running activity, acknowledges it, and resolves before its time-out', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    const { runs, handlers: handled } = slow();
    const runtime = runtimeOn(provider, handled);
    await runtime.start();
    await client.startOrchestration('i', 'Slow');
    await waitFor('the activity begins', () => runs.length === 1);
    const stopped = runtime.shutdown(600_000);
    runs[0]?.end('done');
    await stopped;
    expect(provider.workerQueue).toHaveLength(0);
    expect(provider.orchestratorQueue).toHaveLength(1);
    expect(runtime.metricsSnapshot()).toBeNull();
  });

  test('gives back what has not ended in time, so that another runtime starts it at once', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    const first = slow();
    const runtime = runtimeOn(provider, first.handlers);
    await runtime.start();
    await client.startOrchestration('i', 'Slow');
    await waitFor('the activity begins', () => first.runs.length === 1);
    const { signal } = first.runs[0]?.ctx as { signal: AbortSignal };
    await runtime.shutdown(20);
    expect(signal.aborted).toBe(true);
    expect(provider.workerQueue[0]).toMatchObject({ token: null, attempts: 0 });
    const calls = provider.calls.length;
    first.runs[0]?.end('too late');
    await new Promise((resolve) => setImmediate(resolve));
    expect(provider.calls).toHaveLength(calls);
    const second = slow();
    await runtimeOn(provider, second.handlers).start();
    await waitFor('another runtime takes it', () => second.runs.length === 1);
    second.runs[0]?.end('elsewhere');
    expect(await client.waitForOrchestrationTyped('i')).toBe('elsewhere');
  });

  test('0 gives back at once, and what was fetched ahead never starts', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    const { runs, handlers: handled } = slow();
    const runtime = runtimeOn(provider, handled, { workerConcurrency: 1 });
    await runtime.start();
    for (const id of ['a', 'b', 'c']) await client.startOrchestration(id, 'Slow');
    await waitFor('all are scheduled', () => provider.workerQueue.length === 3 && runs.length === 1);
    await runtime.shutdown(0);
    expect(runs).toHaveLength(1);
    expect(provider.workerQueue.map(({ token }) => token)).toEqual([null, null, null]);
  });

  test('items that a fetch brings during the stop are given back with their attempt', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const runtime = runtimeOn(provider);
    const fetch = provider.fetchOrchestrationItems.bind(provider);
    let release = () => {};
    let fetching = false;
    provider.fetchOrchestrationItems = async (params) => {
      fetching = true;
      await new Promise<void>((resolve) => (release = resolve));
      return fetch(params);
    };
    await runtime.start();
    await waitFor('a fetch is under way', () => fetching);
    await new Client(provider).startOrchestration('i', 'Echo', 1);
    const stopped = runtime.shutdown(60_000);
    release();
    await stopped;
    expect(provider.instances.size).toBe(0);
    expect(provider.orchestratorQueue[0]).toMatchObject({ token: null, attempts: 0 });
  });

  test('before start and repeated it resolves; a wrong time-out is refused', async () => {
    const runtime = runtimeOn(new MemoryProvider(new SystemClock()));
    await runtime.shutdown();
    await runtime.start();
    await Promise.all([runtime.shutdown(), runtime.shutdown(5)]);
    await runtime.shutdown();
    await expect(runtime.shutdown('soon' as unknown as number)).rejects.toMatchObject({ code: 'NumberExpected' });
    await expect(runtime.shutdown(Infinity)).rejects.toMatchObject({ name: 'InvalidInputError' });
  });

  test('C-08 far time-outs and timers neither overflow nor fire', async () => {
    const warnings: string[] = [];
    const listen = (warning: Error) => warnings.push(warning.name);
    process.on('warning', listen);
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    const runtime = runtimeOn(provider);
    await runtime.start();
    await client.startOrchestration('far', 'Sleep', 30 * 86_400_000);
    await waitFor('the timer is set', () => provider.statusOf('far') === 'Running');
    const far = client.waitForOrchestration('far', 2 ** 31 + 5);
    const calls = provider.calls.length;
    await client.startOrchestration('near', 'Echo', 1);
    await client.waitForOrchestration('near');
    expect(provider.statusOf('far')).toBe('Running');
    expect(provider.calls.length - calls).toBeLessThan(200);
    await client.cancelInstance('far');
    expect((await far).status).toBe('Failed');
    await runtime.shutdown(2 ** 31 + 5);
    process.off('warning', listen);
    expect(warnings).not.toContain('TimeoutOverflowWarning');
  });
});

describe('start (C-38)', () => {
  test('rejects while the store is down, works when it is up, and again after a shutdown', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    const due = provider.due.bind(provider);
    provider.due = () => Promise.reject(ProviderError.retryable('due', 'down'));
    const runtime = runtimeOn(provider);
    await expect(runtime.start()).rejects.toThrow('due: down');
    expect(runtime.metricsSnapshot()).toBeNull();
    provider.due = due;
    for (const life of ['one', 'two', 'three']) {
      await runtime.start();
      await client.startOrchestration(life, 'Echo', life);
      expect(await client.waitForOrchestrationTyped(life)).toBe(life);
      expect(runtime.metricsSnapshot()).toMatchObject({ orchCompletions: 1, activitySuccess: 1 });
      await runtime.shutdown();
    }
  });

  test('a second start while it runs rejects and doubles no loop', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const runtime = runtimeOn(provider);
    await runtime.start();
    await expect(runtime.start()).rejects.toThrow('the runtime runs already');
    await new Client(provider).startOrchestration('i', 'Echo', 1);
    await new Client(provider).waitForOrchestration('i');
    expect(runtime.metricsSnapshot()?.orchStarts).toBe(2);
  });

  test('registration after start has no effect until the next start', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    const runtime = runtimeOn(provider);
    await runtime.start();
    runtime.registerActivity('Late', () => 'late');
    register(runtime, {
      orchestrations: {
        *Late() {
          return 'late';
        },
      },
    });
    await client.startOrchestration('late', 'Late');
    await waitFor('it is put off', () => (provider.orchestratorQueue[0]?.visibleAtMs ?? 0) > provider.nowMs());
    expect(provider.instances.size).toBe(0);
  });
});

describe('alive and not deaf (C-39, R:LK-13)', () => {
  const faults: Record<string, () => never | Promise<never>> = {
    'a synchronous throw': () => {
      throw new Error('not even a promise');
    },
    'a retryable rejection': () => Promise.reject(ProviderError.retryable('fetch', 'down')),
    'a permanent rejection': () => Promise.reject(ProviderError.permanent('fetch', 'no')),
  };

  test.each(Object.keys(faults))('both loops go on after %s, many times in a row', async (fault) => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    let failures = 0;
    for (const call of ['fetchOrchestrationItems', 'fetchWorkItems'] as const) {
      const original = provider[call].bind(provider) as (params: never) => Promise<never>;
      let count = 0;
      (provider as any)[call] = (params: never) => {
        if (count++ < 20) {
          failures += 1;
          return faults[fault]?.();
        }
        return original(params);
      };
    }
    // The pauses between the failures are not what this test is about.
    const clock = { nowMs: () => Date.now(), sleep: async () => new Promise<void>((resolve) => setImmediate(resolve)) };
    const runtime = runtimeOn(provider, handlers, { clock });
    await runtime.start();
    await client.startOrchestration('i', 'Echo', 1);
    expect(await client.waitForOrchestrationTyped('i')).toBe(1);
    expect(failures).toBe(40);
    expect(runtime.metricsSnapshot()?.providerErrors).toBe(40);
  });

  test('a fetch that never answers is cut, and what it brings later is given back', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    await client.startOrchestration('i', 'Echo', 1);
    const fetch = provider.fetchOrchestrationItems.bind(provider);
    let hung: (() => void) | undefined;
    let fetches = 0;
    provider.fetchOrchestrationItems = async (params) => {
      fetches += 1;
      const fetched = await fetch(params);
      if (fetches > 1) return fetched;
      await new Promise<void>((resolve) => (hung = resolve));
      return fetched;
    };
    const sleeps: number[] = [];
    const clock = {
      nowMs: () => Date.now(),
      sleep: (ms: number, signal?: AbortSignal) => {
        sleeps.push(ms);
        return new Promise<void>((resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('aborted')));
          // Thirty seconds pass as soon as the fetch hangs.
          setTimeout(resolve, ms === 30_000 && hung ? 20 : Math.min(ms, 50));
        });
      },
    };
    const runtime = runtimeOn(provider, handlers, { clock });
    await runtime.start();
    await waitFor('the hung fetch is given up', () => fetches > 1);
    expect(sleeps).toContain(30_000);
    expect(runtime.metricsSnapshot()?.providerErrors).toBeGreaterThanOrEqual(1);
    hung?.();
    expect(await client.waitForOrchestrationTyped('i')).toBe(1);
    expect(provider.calls).toContain('abandonOrchestrationItems');
  });

  test('C-33 a logger that throws stops nothing', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    const bad = () => {
      throw new Error('the log is full');
    };
    const runtime = runtimeOn(provider, handlers, { logger: { debug: bad, info: bad, warn: bad, error: bad } });
    await runtime.start();
    await client.startOrchestration('nobody', 'Nobody');
    await client.startOrchestration('i', 'Echo', 1);
    expect(await client.waitForOrchestrationTyped('i')).toBe(1);
  });
});

describe('two runtimes in one process (C-34, D-21)', () => {
  test('each has its own functions under one name', async () => {
    const stores = ['A', 'B'].map((name) => ({ name, provider: new MemoryProvider(new SystemClock()) }));
    for (const { name, provider } of stores) {
      const runtime = runtimeOn(provider, {
        orchestrations: {
          *X() {
            return name;
          },
        },
      });
      await runtime.start();
    }
    for (const { name, provider } of stores) {
      const client = new Client(provider);
      await client.startOrchestration('same', 'X');
      expect(await client.waitForOrchestrationTyped('same')).toBe(name);
    }
  });
});
