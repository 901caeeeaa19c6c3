import { afterEach, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { activityItem } from '../../src/conformance/records.js';
import { ackOf } from '../../src/conformance/trial.js';
import type { Abandon, WorkItemLock } from '../../src/provider/provider.js';
import { FetchAhead } from '../../src/runtime/fetch-ahead.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { SteppedRuntime, waitFor } from '../support/runtime-harness.js';

describe('how many rows a process may hold', () => {
  const stopping = new AbortController().signal;
  const ahead = (concurrency: number) =>
    new FetchAhead({ clock: new FakeClock(), stopping }, concurrency, () => ({ givenBack: 0, waiting: 0 }));
  const after = (concurrency: number, ...durationsMs: number[]) => {
    const rows = ahead(concurrency);
    for (const ms of durationsMs) rows.handlerEnded(ms);
    return rows.limit;
  };
  const times = (n: number, ms: number) => Array.from({ length: n }, () => ms);

  test('as many as handlers may run, until they are known to be quick', () => {
    expect(ahead(10).limit).toBe(10);
    expect(after(10, ...times(50, 100))).toBe(10);
    expect(after(10, ...times(50, 5_000))).toBe(10);
  });

  test('what the slots get done in 100 ms, at most 500 rows', () => {
    expect(after(10, ...times(200, 10))).toBeCloseTo(100, -1);
    expect(after(10, ...times(200, 0))).toBe(500);
    expect(after(1_000, ...times(200, 0))).toBe(1_000);
  });

  test('a slow handler among quick ones makes it careful at once', () => {
    expect(after(10, ...times(200, 0), 10_000)).toBe(10);
  });
});

describe('rows that a process holds', () => {
  let letGo = (): void => {};
  afterEach(() => letGo());

  function runtimeWithGate(workerConcurrency: number) {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    const activities = { quick: () => null, slow: () => gate };
    const runtime = new SteppedRuntime(provider, clock, { activities }, { workerConcurrency });
    const abandoned: (WorkItemLock & Abandon)[] = [];
    const abandon = provider.abandonWorkItems.bind(provider);
    provider.abandonWorkItems = (elements) => {
      abandoned.push(...elements);
      return abandon(elements);
    };
    return { clock, provider, runtime, abandoned, letGo, worker: runtime.parts.activities };
  }

  const items = (name: string, count: number, more: { sessionId?: string } = {}) =>
    Array.from({ length: count }, (_, n) => activityItem('x', n, { name, ...more }));

  test('rows fetched ahead that find no slot for a second are given back, as if never tried', async () => {
    const { clock, provider, runtime, abandoned, worker } = runtimeWithGate(2);
    await provider.enqueueForWorker(items('quick', 200));
    await runtime.settle();
    await provider.enqueueForWorker(items('slow', 30));
    // Thirty rows for two slots, because handlers were quick so far.
    expect(await worker.look()).toMatchObject({ fetched: 30 });
    clock.advance(999);
    await waitFor('two run', () => worker.runningCount === 2);
    expect(abandoned).toEqual([]);
    clock.advance(1);
    await waitFor('rows are given back', () => abandoned.length > 0);
    expect(abandoned).toHaveLength(28);
    expect(abandoned.every(({ ignoreAttempt }) => ignoreAttempt)).toBe(true);
    // It was wrong about them, and does not take them again.
    expect(worker.hasRoom()).toBe(false);
    letGo();
    await worker.quiet();
    await runtime.settle();
    expect(await provider.asManagement().getQueueDepths()).toMatchObject({ workerQueue: 0 });
  });

  test('rows of a session stay with the process that has the session', async () => {
    const { clock, provider, runtime, abandoned, worker } = runtimeWithGate(2);
    await provider.enqueueForWorker(items('quick', 200));
    await runtime.settle();
    await provider.enqueueForWorker([...items('slow', 4, { sessionId: 's' }), ...items('slow', 6)]);
    const sessionOf = new Map<string, string | undefined>();
    const fetch = provider.fetchWorkItems.bind(provider);
    provider.fetchWorkItems = async (params) => {
      const rows = await fetch(params);
      for (const { lockToken, item } of rows)
        sessionOf.set(lockToken, 'sessionId' in item ? item.sessionId : undefined);
      return rows;
    };
    expect(await worker.look()).toMatchObject({ fetched: 10 });
    clock.advance(1_000);
    await waitFor('rows are given back', () => abandoned.length > 0);
    expect(abandoned.map(({ lockToken }) => sessionOf.get(lockToken))).not.toContain('s');
    expect(sessionOf.size - abandoned.length - worker.runningCount).toBeGreaterThan(0);
    letGo();
    await worker.quiet();
  });

  test('older work in the queue keeps half of the rows; the other half may be of own turns', () => {
    const { provider, worker } = runtimeWithGate(10);
    Object.assign(provider, { locksOwnWork: true });
    const turnOf = (ids: readonly number[]) =>
      ackOf(
        { instance: 'x', lockToken: 'turn' },
        { workerItems: ids.map((id) => activityItem('x', id, { name: 'quick' })) },
      );
    // Nobody has seen the end of the queue.
    const claim = worker.ownWork.claim(turnOf([1, 2, 3, 4, 5, 6, 7]));
    expect(claim?.locks.tokens.map((token) => token !== null)).toEqual([true, true, true, true, true, false, false]);
    expect(worker.ownWork.claim(turnOf([8]))).toBeUndefined();
    claim?.failed(true);
    expect(worker.ownWork.claim(turnOf([9]))).toBeDefined();
  });
});
