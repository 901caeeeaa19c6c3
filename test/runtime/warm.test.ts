import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { ProviderError } from '../../src/provider/provider-error.js';
import { WarmCache } from '../../src/runtime/warm-cache.js';
import type { LiveExecution } from '../../src/runtime/replay/turn.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { SteppedRuntime } from '../support/runtime-harness.js';
import { describeScenarios } from '../support/scenarios.js';

let runs: string[] = [];
const handlers: Handlers = {
  activities: { Echo: (_ctx, input) => input },
  orchestrations: {
    *Steps(ctx, n) {
      runs.push(ctx.instanceId);
      const taken = [];
      for (let i = 0; i < n; i++) taken.push(yield ctx.dequeueEvent('box'));
      return taken;
    },
    *Other(ctx) {
      runs.push(ctx.instanceId);
      return ['other', yield ctx.dequeueEvent('box')];
    },
  },
};
/** Without the second run that the comparing mode makes. */
const plain = { verifyWarm: false };

describeScenarios('live executions', {
  'a live execution goes on where it stopped: the code is not run again': async ({ open, id }) => {
    const runtime = open(handlers, plain);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Steps', 3);
    await runtime.settle();
    runs = [];
    for (const data of ['a', 'b', 'c']) {
      await runtime.client.enqueueEvent(instance, 'box', data);
      await runtime.settle();
    }
    expect((await runtime.runToEnd(instance)).output).toEqual(['a', 'b', 'c']);
    const isWarm = runtime.core.options.warmInstances > 0;
    expect(runs).toHaveLength(isWarm ? 0 : 3);
    expect(runtime.core.metrics.warmTurns).toBe(isWarm ? 3 : 0);
  },

  'deleted and created again under the same id between two turns: the history of a cold replay': async ({
    open,
    id,
    clock,
  }) => {
    const runtime = open(handlers, plain);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Steps', 2);
    await runtime.settle();
    await runtime.client.enqueueEvent(instance, 'box', 'of the first life');
    await runtime.settle();
    await runtime.client.deleteInstance(instance, true);
    // Another process runs the new life up to the same number of events.
    clock.advance(1);
    const other = open(handlers, plain);
    await other.client.startOrchestration(instance, 'Steps', 2);
    await other.settle();
    await other.client.enqueueEvent(instance, 'box', 'x');
    await other.settle();
    await other.client.enqueueEvent(instance, 'box', 'y');
    expect((await runtime.runToEnd(instance)).output).toEqual(['x', 'y']);
  },

  'another worker ran a turn in between: the history of a cold replay': async ({ open, id }) => {
    const runtime = open(handlers, plain);
    const other = open(handlers, plain);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Steps', 3);
    await runtime.settle();
    for (const [data, worker] of [
      ['a', runtime],
      ['b', other],
      ['c', runtime],
    ] as const) {
      await runtime.client.enqueueEvent(instance, 'box', data);
      await worker.settle();
    }
    expect((await runtime.runToEnd(instance)).output).toEqual(['a', 'b', 'c']);
    expect((await runtime.kinds(instance)).filter((kind) => kind === 'ExternalEventPersistent')).toHaveLength(3);
  },

  'an acknowledgement fails after a turn: the turn is run again from the start': async ({
    open,
    id,
    provider,
    clock,
  }) => {
    const runtime = open(handlers, plain);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Steps', 2);
    await runtime.settle();
    const ack = provider.ackOrchestrationItems.bind(provider);
    provider.ackOrchestrationItems = async (turns) =>
      turns.map(() => ({ ok: false, error: ProviderError.retryable('ack_orchestration_item', 'down') }));
    await runtime.client.enqueueEvent(instance, 'box', 'a');
    await runtime.parts.orchestrations.runOnce();
    provider.ackOrchestrationItems = ack;
    clock.advance(50);
    await runtime.settle();
    await runtime.client.enqueueEvent(instance, 'box', 'b');
    expect((await runtime.runToEnd(instance)).output).toEqual(['a', 'b']);
  },

  'the outcome of an acknowledgement is unknown, and it was committed: nothing happens twice': async ({
    open,
    id,
    provider,
  }) => {
    const runtime = open(handlers, plain);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Steps', 2);
    await runtime.settle();
    const ack = provider.ackOrchestrationItems.bind(provider);
    provider.ackOrchestrationItems = async (turns) => {
      await ack(turns);
      return turns.map(() => ({
        ok: false,
        error: ProviderError.retryable('ack_orchestration_item', 'cut', { outcome: 'unknown' }),
      }));
    };
    await runtime.client.enqueueEvent(instance, 'box', 'a');
    await runtime.parts.orchestrations.runOnce();
    provider.ackOrchestrationItems = ack;
    await runtime.client.enqueueEvent(instance, 'box', 'b');
    expect((await runtime.runToEnd(instance)).output).toEqual(['a', 'b']);
    expect(await runtime.kinds(instance)).toHaveLength(6);
  },
});

describe('what is kept', () => {
  async function withWaiting(options = {}) {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const runtime = new SteppedRuntime(provider, clock, handlers, options);
    for (const id of ['a', 'b', 'c']) {
      await runtime.client.startOrchestration(id, 'Steps', 2);
      await runtime.settle();
    }
    runs = [];
    const send = async (id: string) => {
      await runtime.client.enqueueEvent(id, 'box', 1);
      await runtime.settle();
    };
    return { runtime, provider, clock, send };
  }

  test('the least recently used execution leaves first', async () => {
    const { send } = await withWaiting({ warmInstances: 2 });
    await send('b');
    await send('c');
    expect(runs).toEqual([]);
    await send('a');
    expect(runs).toEqual(['a']);
  });

  test('a deletion through the same provider voids everything: the new life may look the same', async () => {
    const { runtime, provider } = await withWaiting();
    runtime.startLoops();
    await runtime.client.deleteInstance('a', true);
    expect((runtime.parts as unknown as { cache: WarmCache }).cache.size).toBe(0);
    expect(provider.instances.has('a')).toBe(false);
    await runtime.stop();
  });

  test('the bytes are bounded, too', async () => {
    const { runtime, send } = await withWaiting({ warmBytes: 1 });
    await send('a');
    expect(runs).toEqual(['a']);
    expect(runtime.core.metrics.warmTurns).toBe(0);
  });

  test('a provider that knows no tails: the replay is spared all the same when the last event and the count fit', async () => {
    const { provider, runtime, send } = await withWaiting();
    provider.tailLoads = false;
    await send('a');
    expect(runs).toEqual([]);
    expect(runtime.core.metrics.warmTurns).toBe(1);
    expect(provider.calls).not.toContain('loadHistory');
  });

  test('an execution that ended is not kept, and a shutdown forgets all', async () => {
    const cache = new WarmCache({ entries: 10, bytes: 1_000_000 });
    const { runtime, send } = await withWaiting();
    await send('a');
    await send('a');
    expect(runtime.core.metrics.orchCompletions).toBe(1);
    const kept = (runtime.parts as unknown as { cache: WarmCache }).cache;
    expect(kept.held('a')).toBeUndefined();
    expect(kept.held('b')).toBeDefined();
    expect(kept.size).toBe(2);
    expect(cache.size).toBe(0);
  });

  test('an entry is out of the cache while its turn runs', () => {
    const cache = new WarmCache({ entries: 10, bytes: 1_000_000 });
    const execution = { executionId: 1, approximateBytes: () => 10 } as LiveExecution;
    const lastEvent = { eventId: 7 } as never;
    cache.put('i', { execution, lastEvent, eventCount: 7, parent: undefined, name: 'N', version: '1.0.0' });
    expect(cache.held('i')).toEqual({ executionId: 1, lastEventId: 7 });
    expect(cache.take('i')?.eventCount).toBe(7);
    expect(cache.held('i')).toBeUndefined();
    expect(cache.size).toBe(0);
  });
});
