import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { HEARTBEAT_INTERVAL_MS, type WorkerHeartbeat } from '../../src/provider/workers.js';
import type { RuntimeCore } from '../../src/runtime/core.js';
import { tellOfItself } from '../../src/runtime/heartbeat.js';
import { newMetrics } from '../../src/runtime/metrics.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { waitFor } from '../support/waiting.js';

/** A runtime's heartbeat alone, on a store that answers as the test says. */
function heart(answer: (heartbeat: WorkerHeartbeat) => Promise<boolean>) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const told: WorkerHeartbeat[] = [];
  const core = {
    provider: {
      nowMs: () => clock.nowMs(),
      asManagement: () => ({
        recordWorker: (heartbeat: WorkerHeartbeat) => {
          told.push(heartbeat);
          return answer(heartbeat);
        },
      }),
    },
    clock,
    logger: silentLogger,
    metrics: newMetrics(),
    runtimeId: 'beef',
    stopping: stop.signal,
  } as unknown as RuntimeCore;
  const ended = tellOfItself(core, {
    orchestrationSlots: () => ({ inUse: 1, total: 100 }),
    activitySlots: () => ({ inUse: told.length, total: 32 }),
  });
  return { clock, core, told, ended, stop };
}

const rests = (clock: FakeClock) =>
  waitFor(
    'it sleeps',
    () => clock.sleeping,
    (sleeping) => sleeping === 1,
  );

describe('P:3.4.12 the heartbeat of a runtime', () => {
  test('it tells of itself at start, every 30 s and at the end, and of nothing in between', async () => {
    const { clock, core, told, ended, stop } = heart(async () => true);
    await rests(clock);
    expect(told).toHaveLength(1);
    clock.advance(HEARTBEAT_INTERVAL_MS - 1);
    expect(told).toHaveLength(1);
    core.metrics.orchCompletions = 5;
    clock.advance(1);
    await rests(clock);
    expect(told).toHaveLength(2);
    stop.abort();
    await ended;
    expect(told.map(({ isStopping }) => isStopping)).toEqual([false, false, true]);
    expect(told.map(({ counters }) => counters['orchCompletions'])).toEqual([0, 5, 5]);
    expect(new Set(told.map(({ runtimeId }) => runtimeId)).size).toBe(1);
    expect(told[0]).toMatchObject({ pid: process.pid, orchestrationSlots: { inUse: 1, total: 100 } });
    expect(told[0]?.runtimeId).toMatch(/^beef-[0-9a-f]{12}$/);
  });

  test('a store without the table is asked once', async () => {
    const { told, ended } = heart(async () => false);
    await ended;
    expect(told).toHaveLength(1);
  });

  test('a store that fails is told again after 30 s', async () => {
    const { clock, core, told, ended, stop } = heart(async () => {
      throw new Error('down');
    });
    await rests(clock);
    expect(core.metrics.providerErrors).toBe(1);
    clock.advance(HEARTBEAT_INTERVAL_MS);
    await rests(clock);
    expect(told).toHaveLength(2);
    stop.abort();
    await ended;
  });

  test('a runtime is among the workers while it runs, with its slots, and stopped afterwards', async () => {
    const provider = await DrizzleProvider.embedded({ logger: silentLogger });
    const admin = provider.asManagement();
    const runtime = new Runtime(provider, { orchestrationConcurrency: 7, workerConcurrency: 3, logLevel: 'off' });
    await runtime.start();
    await waitFor(
      'it tells of itself',
      () => admin.workers(),
      (workers) => workers.length === 1,
    );
    expect(await admin.workers()).toMatchObject([
      { state: 'running', orchestrationSlots: { inUse: 0, total: 7 }, activitySlots: { inUse: 0, total: 3 } },
    ]);
    await runtime.shutdown();
    expect(await admin.workers()).toMatchObject([{ state: 'stopped' }]);
    await provider.close();
  });
});
