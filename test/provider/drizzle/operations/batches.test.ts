import { describe, expect, test } from '@jest/globals';
import { abandonOrchestrationItems } from '../../../../src/provider/drizzle/operations/abandon-orchestration-items.js';
import { ackOrchestrationItems } from '../../../../src/provider/drizzle/operations/ack-orchestration-items.js';
import { enqueueForOrchestrator } from '../../../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { enqueueForWorker } from '../../../../src/provider/drizzle/operations/enqueue-for-worker.js';
import { fetchOrchestrationItems } from '../../../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import { loadHistory } from '../../../../src/provider/drizzle/operations/load-history.js';
import { renewOrchestrationItemLocks } from '../../../../src/provider/drizzle/operations/renew-orchestration-item-locks.js';
import type { LockedOrchestrationItem } from '../../../../src/provider/provider.js';
import { activity, benchOfFile, event, helloMetadata, LOCK, outcomes, raised, started, startItem, turnOf } from './support.js';

const bench = await benchOfFile();

/** So many started instances, locked. */
async function taken(count: number): Promise<readonly LockedOrchestrationItem[]> {
  const elements = Array.from({ length: count }, (_, i) => ({ item: startItem(`order-${String(i).padStart(3, '0')}`) }));
  await enqueueForOrchestrator(bench.ctx, elements);
  const { items } = await fetchOrchestrationItems(bench.ctx, { limit: count, ...LOCK });
  expect(items).toHaveLength(count);
  return items;
}

const firstTurn = (item: LockedOrchestrationItem) =>
  turnOf(item, { historyDelta: [started(item.instance)], metadata: helloMetadata });

describe('XR-9 bad elements in a batch', () => {
  test('46 of 50 turns are good: they are stored, and each result stands in its place', async () => {
    const items = await taken(50);
    const turns = items.map(firstTurn);
    const replace = (index: number, with_: (typeof turns)[number]) => turns.splice(index, 1, with_);
    const at = (index: number) => items[index] as LockedOrchestrationItem;
    replace(7, turnOf(at(7), { historyDelta: [started(at(7).instance), started(at(7).instance)], metadata: helloMetadata }));
    replace(20, { ...firstTurn(at(20)), lockToken: `${at(20).lockToken}!` });
    replace(33, turnOf(at(33), { historyDelta: [started(at(33).instance)], workerItems: [activity('x'.repeat(10_000), 2)] }));
    replace(49, turnOf(at(49), { historyDelta: [{ ...started(at(49).instance), eventId: 0 }] }));
    const results = outcomes(await ackOrchestrationItems(bench.ctx, turns));
    expect(results.flatMap((outcome, index) => (outcome === 'ok' ? [] : [[index, outcome.replace(/ \(SQLSTATE.*/, '')]]))).toEqual([
      [7, expect.stringContaining('Duplicate detected')],
      [20, 'Invalid lock token'],
      [33, 'the instance id has 10000 bytes of UTF-8, the limit is 2048'],
      [49, 'event_id must be set by runtime'],
    ]);
    expect(await bench.sql('select count(*)::int as n from history')).toEqual([{ n: 46 }]);
    expect(await bench.sql('select count(*)::int as n from instance_locks')).toEqual([{ n: 4 }]);
  });

  test('one bad turn among 200 is found by halving: about 2 · log2 transactions', async () => {
    const items = await taken(200);
    const turns = items.map(firstTurn);
    const bad = items[137] as LockedOrchestrationItem;
    await bench.sql("insert into history values ($1, 1, 1, 'Event', '{}', now())", [bad.instance]);
    const statements = await bench.counted(async () => {
      const results = outcomes(await ackOrchestrationItems(bench.ctx, turns));
      expect(results.filter((outcome) => outcome !== 'ok')).toHaveLength(1);
      expect(results[137]).toContain('Duplicate detected');
    });
    const transactions = statements.filter((text) => text.includes('1 / (case'));
    expect(transactions.length).toBeLessThanOrEqual(18);
  });

  test('a turn of 10 MB travels alone and after the others: they are committed while it waits', async () => {
    const items = await taken(20);
    const large = items[0] as LockedOrchestrationItem;
    const turns = items.map((item) =>
      item === large
        ? turnOf(item, {
            historyDelta: [started(item.instance), event(item.instance, 2, { kind: 'ExternalEvent', name: 'n', data: 'x'.repeat(10_000_000) })],
            metadata: helloMetadata,
          })
        : firstTurn(item),
    );
    const holder = await bench.client();
    await holder.query('begin');
    await holder.query('select lock_token from instance_locks where instance_id = $1 for update', [large.instance]);
    const acking = ackOrchestrationItems(bench.another(), turns);
    await bench.untilWaiting(1);
    expect(await bench.sql('select count(*)::int as n from history')).toEqual([{ n: 19 }]);
    await holder.query('rollback');
    expect(new Set(outcomes(await acking))).toEqual(new Set(['ok']));
  });

  test('a batch is cut where it would send more than 8 MiB', async () => {
    const items = await taken(12);
    const turns = items.map((item) =>
      turnOf(item, {
        historyDelta: [event(item.instance, 1, { kind: 'ExternalEvent', name: 'n', data: 'x'.repeat(1_000_000) })],
        metadata: helloMetadata,
      }),
    );
    const statements = await bench.counted(async () => {
      expect(new Set(outcomes(await ackOrchestrationItems(bench.ctx, turns)))).toEqual(new Set(['ok']));
    });
    expect(statements.filter((text) => text.includes('1 / (case'))).toHaveLength(2);
  });

  test('a token counts once', async () => {
    const [item] = await taken(1);
    const turn = firstTurn(item as LockedOrchestrationItem);
    expect(outcomes(await ackOrchestrationItems(bench.ctx, [turn, { ...turn }, turn]))).toEqual([
      'ok',
      'Invalid lock token',
      'Invalid lock token',
    ]);
  });

  test('enqueues: refused elements in their places, the others in order', async () => {
    const results = await enqueueForOrchestrator(bench.ctx, [
      { item: raised('b', '1') },
      { item: raised('') },
      { item: activity('a', 1) },
      { item: raised('a\u0000') },
      { item: raised('é/%20"🎈', '2') },
      { item: raised('b', '3'), delayMs: 5_000 },
    ]);
    expect(outcomes(results)).toEqual([
      'ok',
      'the instance id must not be empty',
      'ActivityExecute belongs to the worker queue',
      'the instance id must not contain U+0000 or an unpaired surrogate',
      'ok',
      'ok',
    ]);
    const at = bench.clock.nowMs();
    expect(
      await bench.sql(`select instance_id, (extract(epoch from visible_at) * 1000)::bigint::text as at from orchestrator_queue order by id`),
    ).toEqual([
      { instance_id: 'b', at: String(at) },
      { instance_id: 'é/%20"🎈', at: String(at) },
      { instance_id: 'b', at: String(at + 5_000) },
    ]);
    expect(outcomes(await enqueueForWorker(bench.ctx, [activity('a', 1, { tag: 't'.repeat(257) }), activity('a', 2, { sessionId: '' })]))).toEqual([
      'the tag has 257 bytes of UTF-8, the limit is 256',
      'the session id must not be empty',
    ]);
  });
});

describe('locks', () => {
  test('pairs that were mixed up hold nothing', async () => {
    const [a, b] = (await taken(2)) as [LockedOrchestrationItem, LockedOrchestrationItem];
    const mixed = [
      { ...firstTurn(a), lockToken: b.lockToken },
      { ...firstTurn(b), lockToken: a.lockToken },
    ];
    expect(outcomes(await ackOrchestrationItems(bench.ctx, mixed))).toEqual(['Invalid lock token', 'Invalid lock token']);
    expect(outcomes(await ackOrchestrationItems(bench.ctx, [firstTurn(a), firstTurn(b)]))).toEqual(['ok', 'ok']);
  });

  test('a token of another form, without its instance, is looked up', async () => {
    const items = (await taken(3)) as [LockedOrchestrationItem, LockedOrchestrationItem, LockedOrchestrationItem];
    for (const [index, { instance, lockToken }] of items.entries()) {
      await bench.sql('update instance_locks set lock_token = $2 where instance_id = $1', [instance, `lock_native-${index}`]);
      await bench.sql('update orchestrator_queue set lock_token = $2 where lock_token = $1', [lockToken, `lock_native-${index}`]);
    }
    const lockOf = (index: number) => ({ instance: '', lockToken: `lock_native-${index}` });
    expect(outcomes(await renewOrchestrationItemLocks(bench.ctx, [{ ...lockOf(0), extendMs: 60_000 }]))).toEqual(['ok']);
    expect(outcomes(await abandonOrchestrationItems(bench.ctx, [lockOf(1), lockOf(7)]))).toEqual(['ok', 'Invalid lock token']);
    expect((await loadHistory(bench.ctx, lockOf(2))).events).toEqual([]);
    expect(outcomes(await ackOrchestrationItems(bench.ctx, [turnOf(lockOf(2)), turnOf(lockOf(7))]))).toEqual(['ok', 'Invalid lock token']);
    expect(await bench.sql('select instance_id, locked_until::text from instance_locks')).toEqual([
      { instance_id: items[0].instance, locked_until: String(bench.clock.nowMs() + 60_000) },
    ]);
  });

  test('renewals and abandons of different kinds in one call', async () => {
    const items = (await taken(4)) as [LockedOrchestrationItem, LockedOrchestrationItem, LockedOrchestrationItem, LockedOrchestrationItem];
    const renewed = await renewOrchestrationItemLocks(bench.ctx, [
      { ...items[0], extendMs: 100 },
      { ...items[1], extendMs: 900 },
      { instance: items[2].instance, lockToken: 'lock_other', extendMs: 900 },
    ]);
    expect(outcomes(renewed)).toEqual(['ok', 'ok', 'Lock token invalid, expired, or already released']);
    const now = bench.clock.nowMs();
    expect(await bench.sql('select locked_until::text as until from orchestrator_queue order by id limit 2')).toEqual([
      { until: String(now + 100) },
      { until: String(now + 900) },
    ]);
    bench.clock.advance(500);
    const given = await abandonOrchestrationItems(bench.ctx, [
      { ...items[0] },
      { ...items[1], delayMs: 2_000 },
      { ...items[2], delayMs: 2_000, ignoreAttempt: true },
      { ...items[3], ignoreAttempt: true },
    ]);
    expect(outcomes(given)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(
      await bench.sql(`select attempt_count as attempts, lock_token as token,
          ((extract(epoch from visible_at) * 1000)::bigint - $1::bigint)::int as "inMs" from orchestrator_queue order by id`, [bench.clock.nowMs()]),
    ).toEqual([
      { attempts: 1, token: null, inMs: -500 },
      { attempts: 1, token: null, inMs: 2_000 },
      { attempts: 0, token: null, inMs: 2_000 },
      { attempts: 0, token: null, inMs: -500 },
    ]);
    expect(await bench.sql('select count(*)::int as n from instance_locks')).toEqual([{ n: 0 }]);
  });

  test('the full history is loaded under a live lock only', async () => {
    const [item] = (await taken(1)) as [LockedOrchestrationItem];
    await bench.sql("insert into history values ($1, 1, 1, 'Event', 'not JSON', now())", [item.instance]);
    expect(await loadHistory(bench.ctx, item)).toMatchObject({ events: [], historyError: expect.stringMatching(/^Failed to deserialize history: /) as unknown });
    bench.clock.advance(30_000);
    await expect(loadHistory(bench.ctx, item)).rejects.toMatchObject({ reason: 'Invalid lock token', retryable: false });
  });
});

describe('what a turn stores', () => {
  test('T-10 late messages of an instance that never existed leave nothing behind', async () => {
    await enqueueForOrchestrator(bench.ctx, [{ item: raised('ghost') }]);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    expect(outcomes(await ackOrchestrationItems(bench.ctx, items.map((item) => turnOf(item))))).toEqual(['ok']);
    for (const table of ['executions', 'instances', 'orchestrator_queue', 'instance_locks']) {
      expect(await bench.sql(`select * from ${table}`)).toEqual([]);
    }
  });

  test('KV: each key once, a clear-all covers what is stored and what the turn set before it', async () => {
    const [item] = (await taken(1)) as [LockedOrchestrationItem];
    const { instance } = item;
    await bench.sql("insert into kv_store values ($1, 'stored', 'old', 1, 5), ($1, 'kept', 'old', 1, 5), ('other', 'stored', 'theirs', 1, 5)", [instance]);
    await bench.sql("insert into kv_delta values ($1, 'delta', 'old', 5)", [instance]);
    const set = (eventId: number, key: string, value: string) =>
      event(instance, eventId, { kind: 'KeyValueSet', key, value, lastUpdatedAtMs: 7 });
    const turn = turnOf(item, {
      historyDelta: [
        started(instance),
        set(2, 'a', '1'),
        set(3, 'a', '2'),
        event(instance, 4, { kind: 'KeyValuesCleared' }),
        set(5, 'kept', 'new'),
        set(6, 'gone', '1'),
        event(instance, 7, { kind: 'KeyValueCleared', key: 'gone' }),
      ],
      metadata: helloMetadata,
    });
    expect(outcomes(await ackOrchestrationItems(bench.ctx, [turn]))).toEqual(['ok']);
    const now = String(bench.clock.nowMs());
    expect(await bench.sql(`select key, value, last_updated_at_ms::text as at from kv_delta order by key`)).toEqual([
      { key: 'a', value: null, at: now },
      { key: 'delta', value: null, at: now },
      { key: 'gone', value: null, at: now },
      { key: 'kept', value: 'new', at: '7' },
      { key: 'stored', value: null, at: now },
    ]);

    await enqueueForOrchestrator(bench.ctx, [{ item: raised(instance) }]);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    const last = items.map((one) => turnOf(one, { executionId: 1, metadata: { status: 'Completed' as const } }));
    expect(outcomes(await ackOrchestrationItems(bench.ctx, last))).toEqual(['ok']);
    expect(await bench.sql('select * from kv_delta')).toEqual([]);
    expect(await bench.sql('select instance_id as i, key, value from kv_store order by 1, 2')).toEqual([
      { i: instance, key: 'kept', value: 'new' },
      { i: 'other', key: 'stored', value: 'theirs' },
    ]);
  });

  test('keys of two columns that look alike when they are joined are told apart', async () => {
    await enqueueForOrchestrator(bench.ctx, [{ item: startItem('a') }, { item: startItem('ab') }]);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 2, ...LOCK });
    await bench.sql("insert into kv_store values ('a', 'bc', '1', 1, 1), ('ab', 'c', '2', 1, 1)");
    await bench.sql("insert into kv_delta values ('a', 'bc', null, 1)");
    const turns = items.map((item) => turnOf(item, { metadata: { ...helloMetadata, status: 'Completed' } }));
    expect(outcomes(await ackOrchestrationItems(bench.ctx, turns))).toEqual(['ok', 'ok']);
    expect(await bench.sql('select instance_id as i, key from kv_store')).toEqual([{ i: 'ab', key: 'c' }]);
  });

  test('wake-ups: for rows that are due now, once for the batch, and for nothing that is delayed', async () => {
    const items = await taken(3);
    bench.wakes.length = 0;
    await ackOrchestrationItems(bench.ctx, items.slice(0, 1).map((item) =>
      turnOf(item, { orchestratorItems: [{ kind: 'TimerFired', instance: 'x', executionId: 1, id: 1, fireAtMs: bench.clock.nowMs() + 1 }] }),
    ));
    expect(bench.wakes).toEqual([]);
    await ackOrchestrationItems(bench.ctx, items.slice(1).map((item) => turnOf(item, { orchestratorItems: [raised('x')], workerItems: [activity('x', 1)] })));
    expect(bench.wakes).toEqual(['orchestrator', 'worker']);
  });

  test('C-08 timers beyond the year 9999 and beyond what a Date can hold stay pending', async () => {
    const results = await enqueueForOrchestrator(bench.ctx, [2 ** 48, 2 ** 53 - 1].map((fireAtMs) => ({ item: { kind: 'TimerFired', instance: 'x', executionId: 1, id: 1, fireAtMs } as const })));
    expect(outcomes(results)).toEqual(['ok', 'ok']);
    expect(await bench.sql('select extract(year from visible_at)::int as year from orchestrator_queue order by id')).toEqual([{ year: 10_889 }, { year: 275_760 }]);
  });
});
