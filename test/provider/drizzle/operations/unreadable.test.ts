import { describe, expect, test } from '@jest/globals';
import { due } from '../../../../src/provider/drizzle/operations/due.js';
import { enqueueForOrchestrator } from '../../../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { fetchOrchestrationItems } from '../../../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import type { WorkItem } from '../../../../src/wire/work-item.js';
import { benchOfFile, LOCK, raised, startItem } from './support.js';

const bench = await benchOfFile();
const mail = (instance: string): WorkItem => ({ kind: 'QueueMessage', instance, name: 'box', data: '1' });

async function garbage(instance: string): Promise<void> {
  await bench.sql(`insert into orchestrator_queue (instance_id, work_item, visible_at, created_at) values ($1, 'secret garbage', $2, $2)`, [
    instance,
    new Date(bench.clock.nowMs()).toISOString(),
  ]);
}

describe('XR-14 messages that cannot be read', () => {
  test('the readable ones of the instance keep their attempts, and go on at once when the others are set aside', async () => {
    await enqueueForOrchestrator(bench.ctx, [{ item: startItem('x') }]);
    await garbage('x');
    for (let fetches = 1; fetches < 10; fetches++) {
      expect(await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK })).toEqual({ items: [], lost: 0 });
      bench.clock.advance(1_000);
    }
    expect(await bench.sql('select attempt_count as n from orchestrator_queue order by id')).toEqual([{ n: 0 }, { n: 9 }]);
    expect(await bench.sql('select * from instance_locks')).toEqual([]);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    expect(items.map(({ messages, attemptCount }) => [messages, attemptCount])).toEqual([[[startItem('x')], 1]]);
    expect(await bench.sql('select extract(year from visible_at)::int as year, lock_token from orchestrator_queue where attempt_count = 10')).toEqual([
      { year: 9999, lock_token: null },
    ]);
    expect(bench.logged).toHaveLength(10);
    expect(bench.logged.join()).not.toContain('secret');
  });

  test('an instance with nothing else is unlocked, and the search goes on behind it', async () => {
    await garbage('x');
    await enqueueForOrchestrator(bench.ctx, [{ item: startItem('y') }]);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    expect(items.map(({ instance }) => instance)).toEqual(['y']);
    expect(await bench.sql('select instance_id from instance_locks')).toEqual([{ instance_id: 'y' }]);
  });
});

describe('messages for nobody', () => {
  test('QS-8 T-10 orphan mailbox batches are removed without a trace, and the search goes on behind them', async () => {
    await enqueueForOrchestrator(bench.ctx, [{ item: mail('a') }, { item: mail('b') }, { item: mail('b') }, { item: startItem('c') }, { item: raised('d') }]);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 2, ...LOCK });
    expect(items.map(({ instance }) => instance)).toEqual(['c', 'd']);
    expect(await bench.sql('select instance_id from orchestrator_queue order by 1')).toEqual([{ instance_id: 'c' }, { instance_id: 'd' }]);
    expect(await bench.sql('select instance_id from instance_locks order by 1')).toEqual([{ instance_id: 'c' }, { instance_id: 'd' }]);
    expect(await bench.sql('select * from executions')).toEqual([]);
  });

  test('an id that is longer than a token can be is left alone, and its neighbours run', async () => {
    const long = Array.from({ length: 2_650 }, (_, i) => String.fromCharCode(97 + ((i * 7919) % 26))).join('');
    await bench.sql(`insert into orchestrator_queue (instance_id, work_item, visible_at, created_at) values ($1, '{}', '2020-01-01', '2020-01-01')`, [long]);
    await enqueueForOrchestrator(bench.ctx, [{ item: startItem('y') }]);
    for (const limit of [10, 1]) {
      const { items, lost } = await fetchOrchestrationItems(bench.ctx, { limit, lockTimeoutMs: 1 });
      expect([items.map(({ instance }) => instance), lost]).toEqual([['y'], 0]);
      bench.clock.advance(1);
    }
  });
});

describe('the idle probe', () => {
  const probe = () => due(bench.ctx);
  const nothing = { orchestrator: false, worker: false, nextVisibleAtMs: null };

  test('nothing, something, something later', async () => {
    expect(await probe()).toEqual(nothing);
    await enqueueForOrchestrator(bench.ctx, [{ item: raised('x'), delayMs: 5_000 }, { item: raised('x'), delayMs: 7_000 }]);
    const nextVisibleAtMs = bench.clock.nowMs() + 5_000;
    expect(await probe()).toEqual({ ...nothing, nextVisibleAtMs });
    bench.clock.advance(5_000);
    expect(await probe()).toEqual({ ...nothing, orchestrator: true, nextVisibleAtMs: nextVisibleAtMs + 2_000 });
  });

  test('messages of an instance in its turn are nothing to do; those behind them are', async () => {
    await enqueueForOrchestrator(bench.ctx, [{ item: startItem('x') }]);
    await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    await enqueueForOrchestrator(bench.ctx, Array.from({ length: 5 }, () => ({ item: raised('x') })));
    expect(await probe()).toEqual(nothing);
    await enqueueForOrchestrator(bench.ctx, [{ item: raised('y') }]);
    expect(await probe()).toEqual({ ...nothing, orchestrator: true });
  });

  test('an expired lock is something to do', async () => {
    await enqueueForOrchestrator(bench.ctx, [{ item: startItem('x') }]);
    await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    bench.clock.advance(30_000);
    expect(await probe()).toEqual({ ...nothing, orchestrator: true });
  });
});
