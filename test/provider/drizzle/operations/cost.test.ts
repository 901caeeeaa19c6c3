import { describe, expect, test } from '@jest/globals';
import { ackOrchestrationItems } from '../../../../src/provider/drizzle/operations/ack-orchestration-items.js';
import { ackWorkItems } from '../../../../src/provider/drizzle/operations/ack-work-items.js';
import { due } from '../../../../src/provider/drizzle/operations/due.js';
import { enqueueForOrchestrator } from '../../../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { fetchOrchestrationItems } from '../../../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import { fetchWorkItems } from '../../../../src/provider/drizzle/operations/fetch-work-items.js';
import type { LockedOrchestrationItem, LockedWorkItem } from '../../../../src/provider/provider.js';
import { activity, benchOfFile, completed, event, helloMetadata, LOCK, outcomes, raised, started, startItem, turnOf } from './support.js';

const bench = await benchOfFile();
const ids = (count: number) => Array.from({ length: count }, (_, i) => `order-${String(i).padStart(3, '0')}`);

async function take(limit: number): Promise<readonly LockedOrchestrationItem[]> {
  return (await fetchOrchestrationItems(bench.ctx, { limit, ...LOCK })).items;
}

async function start(instances: readonly string[]): Promise<void> {
  await enqueueForOrchestrator(bench.ctx, instances.map((instance) => ({ item: startItem(instance) })));
}

describe('cost budget (design 4.4): statements of a batch of any size', () => {
  test.each([1, 50])('start %i orchestrations: 1', async (count) => {
    expect(await bench.counted(() => start(ids(count)))).toHaveLength(1);
  });

  test.each([1, 10, 50])('fetch %i instances: at most 4', async (count) => {
    await start(ids(count));
    const statements = await bench.counted(async () => expect(await take(count)).toHaveLength(count));
    expect(statements).toHaveLength(2);
  });

  test('a fetch of one instance whose 120 messages fill the first window: 3 more, for the look behind it', async () => {
    await start(['busy']);
    await enqueueForOrchestrator(bench.ctx, Array.from({ length: 120 }, () => ({ item: raised('busy') })));
    await start(ids(3));
    const statements = await bench.counted(async () => expect(await take(50)).toHaveLength(4));
    expect(statements).toHaveLength(5);
  });

  test('a fetch from an empty queue: 3, one of them to tell empty from held by others', async () => {
    expect(await bench.counted(() => take(10))).toHaveLength(3);
  });

  test('the turns of 50 hellos: at most 6 each', async () => {
    await start(ids(50));
    const first = (await take(50)).map((item) =>
      turnOf(item, {
        historyDelta: [started(item.instance), event(item.instance, 2, { kind: 'ActivityScheduled', name: 'Greet', input: '"x"' })],
        workerItems: [activity(item.instance, 2)],
        metadata: { ...helloMetadata, pinnedDuroxideVersion: { major: 0, minor: 1, patch: 30 } },
      }),
    );
    const acked = await bench.counted(async () => {
      expect(new Set(outcomes(await ackOrchestrationItems(bench.ctx, first)))).toEqual(new Set(['ok']));
    });
    expect(acked.length).toBeLessThanOrEqual(6);

    let work: LockedWorkItem[] = [];
    const fetched = await bench.counted(async () => {
      work = await fetchWorkItems(bench.ctx, { limit: 50, ...LOCK, tagFilter: { kind: 'defaultOnly' } });
    });
    expect(work).toHaveLength(50);
    expect(fetched.length).toBeLessThanOrEqual(2);

    const finished = await bench.counted(async () => {
      const done = await ackWorkItems(
        bench.ctx,
        work.map(({ instance, lockToken }) => ({ instance, lockToken, completion: completed(instance ?? '', 2) })),
      );
      expect(new Set(outcomes(done))).toEqual(new Set(['ok']));
    });
    expect(finished.length).toBeLessThanOrEqual(3);

    const last = (await take(50)).map((item) =>
      turnOf(item, {
        historyDelta: [
          event(item.instance, 3, { kind: 'ActivityCompleted', result: '"done"' }),
          event(item.instance, 4, { kind: 'OrchestrationCompleted', output: '"done"' }),
        ],
        metadata: { status: 'Completed', output: '"done"' },
      }),
    );
    const ended = await bench.counted(async () => {
      expect(new Set(outcomes(await ackOrchestrationItems(bench.ctx, last)))).toEqual(new Set(['ok']));
    });
    expect(ended.length).toBeLessThanOrEqual(6);
    expect(await bench.sql(`select status, count(*)::int as n from executions group by status`)).toEqual([{ status: 'Completed', n: 50 }]);
    expect(await bench.sql(`select (select count(*) from orchestrator_queue)::int as queue, (select count(*) from instance_locks)::int as locks`)).toEqual([
      { queue: 0, locks: 0 },
    ]);
  });

  test('turns with everything in them: at most 10, and 1 more for a clear-all', async () => {
    await start(ids(20));
    const turns = (await take(20)).map((item, index) =>
      turnOf(item, {
        historyDelta: [
          started(item.instance),
          event(item.instance, 2, { kind: 'KeyValueSet', key: 'k', value: 'v', lastUpdatedAtMs: 1 }),
          event(item.instance, 3, { kind: 'CustomStatusUpdated', status: 's' }),
          ...(index === 0 ? [event(item.instance, 4, { kind: 'KeyValuesCleared' })] : []),
        ],
        workerItems: [activity(item.instance, 2)],
        orchestratorItems: [raised(item.instance)],
        metadata: { ...helloMetadata, ...(index % 2 === 0 ? { status: 'Completed' as const, output: 'o' } : {}) },
        cancelledActivities: [{ instance: item.instance, executionId: 1, activityId: 9 }],
      }),
    );
    const acked = await bench.counted(async () => {
      expect(new Set(outcomes(await ackOrchestrationItems(bench.ctx, turns)))).toEqual(new Set(['ok']));
    });
    expect(acked.length).toBeLessThanOrEqual(11);
  });

  test('fetching sessions: 2; the idle probe: 1', async () => {
    const { enqueueForWorker } = await import('../../../../src/provider/drizzle/operations/enqueue-for-worker.js');
    await enqueueForWorker(bench.ctx, [activity('a', 2, { sessionId: 's1' }), activity('a', 3, { sessionId: 's2' })]);
    const session = { ownerId: 'me', lockTimeoutMs: 1_000 };
    const statements = await bench.counted(() =>
      fetchWorkItems(bench.ctx, { limit: 10, ...LOCK, session, tagFilter: { kind: 'any' } }),
    );
    expect(statements).toHaveLength(2);
    expect(await bench.counted(() => due(bench.ctx))).toHaveLength(1);
  });
});
