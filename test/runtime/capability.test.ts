import { describe, expect, test } from '@jest/globals';
import type { RuntimeOptions } from '../../src/runtime/options.js';
import { resolveRuntimeOptions } from '../../src/runtime/options.js';
import { encodeEvent } from '../../src/wire/event.js';
import { COMPAT_VERSION } from '../../src/wire/compat-version.js';
import { FakeClock, SystemClock } from '../../src/base/clock.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { RecordingLogger, SteppedRuntime } from '../support/runtime-harness.js';
import { describeScenarios } from '../support/scenarios.js';

const waits: Handlers = {
  orchestrations: {
    *Wait(ctx) {
      return yield ctx.waitForEvent('go');
    },
    *Hop(ctx, n) {
      if (n > 0) return yield ctx.continueAsNew(n - 1);
      return yield ctx.scheduleSubOrchestration('Leaf');
    },
    *Leaf() {
      return 'leaf';
    },
  },
};
const range = (min: string, max: string): RuntimeOptions => ({ supportedReplayVersions: { min, max } });

describeScenarios('capability', {
  'R:CP-01 R:CP-02 R:CP-05 a pin outside the range is left alone, one inside is processed': async ({ open, id }) => {
    const own = open(waits);
    const instance = id();
    await own.client.startOrchestration(instance, 'Wait');
    await own.settle();
    await own.client.raiseEvent(instance, 'go', 1);
    const narrow = open(waits, range('0.0.0', '0.1.29'));
    expect((await narrow.parts.orchestrations.runOnce()).fetched).toBe(0);
    expect((await own.client.getStatus(instance)).status).toBe('Running');
    const wide = open(waits, range('0.1.30', '1.0.0'));
    expect((await wide.runToEnd(instance)).output).toBe(1);
  },

  'R:CP-03 an instance without a pin is for everybody': async ({ open, id }) => {
    const narrow = open(waits, range('0.0.1', '0.0.2'));
    const instance = id();
    await narrow.client.startOrchestration(instance, 'Leaf');
    await narrow.settle();
    expect((await narrow.client.getStatus(instance)).status).toBe('Completed');
  },

  'R:CP-07 R:CP-08 children and new executions get their own pin, from their first event': async ({ open, id }) => {
    const runtime = open(waits);
    const instance = id();
    expect((await runtime.run(instance, 'Hop', 1)).output).toBe('leaf');
    for (const [of, execution] of [
      [instance, 1],
      [instance, 2],
      [`${instance}::sub::2_2`, 1],
    ] as const) {
      const [first] = await runtime.history(of, execution);
      expect(first).toMatchObject({ kind: 'OrchestrationStarted', duroxideVersion: '0.1.30' });
    }
  },

  'R:CP-06 overlapping ranges do not process twice': async ({ open, id }) => {
    const a = open(waits);
    const b = open(waits, range('0.1.0', '0.2.0'));
    const instances = Array.from({ length: 5 }, () => id());
    for (const instance of instances) await a.client.startOrchestration(instance, 'Wait');
    await a.settle();
    for (const instance of instances) await a.client.raiseEvent(instance, 'go', instance);
    await Promise.all([a.settle(), b.settle()]);
    for (const instance of instances) {
      expect((await a.runToEnd(instance)).output).toBe(instance);
      expect(await a.kinds(instance)).toHaveLength(4);
    }
  },
});

describe('capability of a runtime', () => {
  test('R:CP-04 the default range ends at the level that we write, and begins at nothing', () => {
    expect(resolveRuntimeOptions({}).supportedReplayVersions).toEqual({
      min: { major: 0, minor: 0, patch: 0 },
      max: COMPAT_VERSION,
    });
  });

  test('R:CP-09 an item that slips past the filter is given back after a second, with a warning', async () => {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const logger = new RecordingLogger();
    const runtime = new SteppedRuntime(provider, clock, waits, { logger, warmInstances: 0 });
    await runtime.client.startOrchestration('i', 'Wait');
    await runtime.settle();
    await runtime.client.raiseEvent('i', 'go');
    const events = provider.executions.get('i')?.get(1)?.events;
    const [first] = provider.eventsOf('i');
    if (first) events?.set(1, encodeEvent({ ...first, duroxideVersion: '9.9.9' }));
    const fetch = provider.fetchOrchestrationItems.bind(provider);
    provider.fetchOrchestrationItems = (params) => fetch({ ...params, filter: undefined });
    await runtime.parts.orchestrations.runOnce();
    expect(logger.matching('duroxide 9.9.9 is not supported by this runtime')).toHaveLength(1);
    clock.advance(999);
    expect((await runtime.parts.orchestrations.runOnce()).fetched).toBe(0);
    clock.advance(1);
    expect((await runtime.parts.orchestrations.runOnce()).fetched).toBe(1);
  });

  test('R:CP-11 the range is logged at start', async () => {
    const logger = new RecordingLogger();
    const runtime = new Runtime(new MemoryProvider(new SystemClock()), { logger });
    await runtime.start();
    await runtime.shutdown();
    expect(logger.lines.find(({ message }) => message === 'the runtime starts')?.fields).toMatchObject({
      max: COMPAT_VERSION,
    });
  });
});
