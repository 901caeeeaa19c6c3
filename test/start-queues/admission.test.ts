import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { dropSchema, uniqueSchema } from '../support/database.js';
import { echo, held, openProcess, type Process } from './support.js';

const NOON = Date.parse('2026-03-28T12:00:00Z');

// On PGlite the program of docs/guides/flow-control.md does the same.
describe('admission', () => {
  const schema = uniqueSchema('starts');
  const clock = new FakeClock(NOON);
  let p: Process;

  beforeAll(async () => {
    p = await openProcess(schema, clock);
  });
  afterEach(async () => {
    for (const { id } of await p.client.startQueues.list())
      await p.client.startQueues.delete(id, { waiting: 'discard' });
    for (const id of await p.client.listAllInstances()) await p.client.deleteInstance(id, true);
    await p.settle();
  });
  afterAll(async () => {
    await p.provider.close();
    await dropSchema(schema);
  });

  /** What was admitted, in the order of the messages. */
  async function admitted(): Promise<string[]> {
    const before = new Set(await p.client.listAllInstances());
    await p.loop.look();
    const order: string[] = [];
    for (;;) {
      const { items } = await p.provider.fetchOrchestrationItems({ limit: 1, lockTimeoutMs: 60_000 });
      const [item] = items;
      if (!item) break;
      order.push(item.instance);
    }
    expect(order.filter((id) => before.has(id))).toEqual([]);
    // Given back, and run.
    clock.advance(60_001);
    await p.settle();
    return order;
  }

  const start = (id: string, options: object = {}) => p.client.start(held, undefined, { id, queue: 'q', ...options });
  const end = async (...ids: string[]) => {
    for (const id of ids) await p.client.raiseEvent(id, 'go', 'on');
    await p.settle();
    clock.advance(1_000);
  };

  test('concurrency: as many as it says, the next one when one has ended; and when one was deleted', async () => {
    await p.client.startQueues.create({ id: 'q', concurrency: 2 });
    for (const id of ['a', 'b', 'c', 'd']) await start(id);
    expect(await admitted()).toEqual(['a', 'b']);
    expect(await admitted()).toEqual([]);
    expect(await p.client.startQueues.get('q')).toMatchObject({
      concurrency: 2,
      concurrencyPerKey: null,
      waiting: 2,
      running: 2,
      oldestWaitingAt: new Date(NOON),
      isPaused: false,
    });
    await end('a');
    expect(await admitted()).toEqual(['c']);
    await p.client.deleteInstance('b', true);
    expect(await admitted()).toEqual(['d']);
    await end('c', 'd');
    expect(await admitted()).toEqual([]);
    expect(await p.client.startQueues.get('q')).toMatchObject({ waiting: 0, running: 0, oldestWaitingAt: null });
  });

  test('concurrency per key: a key at its limit blocks no other key, and none without a key', async () => {
    await p.client.startQueues.create({ id: 'q', concurrency: 4, concurrencyPerKey: 1 });
    await start('a1', { key: 'a' });
    await start('a2', { key: 'a' });
    await start('b1', { key: 'b' });
    await start('n1');
    await start('n2');
    await start('n3');
    expect(await admitted()).toEqual(['a1', 'b1', 'n1', 'n2']);
    await end('b1');
    expect(await admitted()).toEqual(['n3']);
    await end('n1');
    expect(await admitted()).toEqual([]);
    await end('a1');
    expect(await admitted()).toEqual(['a2']);
  });

  test('rate per key: each by itself, none without a key, and the moment of the next one is known', async () => {
    await p.client.startQueues.create({ id: 'q', ratePerKey: { limit: 1, periodMs: 600_000 } });
    const at = clock.nowMs();
    await start('a1', { key: 'a' });
    await start('a2', { key: 'a' });
    await start('b1', { key: 'b' });
    await start('n1');
    await start('n2');
    expect(await admitted()).toEqual(['a1', 'b1', 'n1', 'n2']);
    expect((await p.loop.look()).nextMs).toBe(at + 600_000);
    // Its end changes nothing: it was started in this period.
    await end('a1');
    expect(await admitted()).toEqual([]);
    clock.set(at + 600_000);
    expect(await admitted()).toEqual(['a2']);
  });

  test('priority: higher first, of equal ones the first; and 0 without one', async () => {
    await p.client.startQueues.create({ id: 'q' });
    await start('none');
    await start('low', { priority: -1 });
    await start('high-1', { priority: 10 });
    await start('zero', { priority: 0 });
    await start('high-2', { priority: 10 });
    expect(await admitted()).toEqual(['high-1', 'high-2', 'none', 'zero', 'low']);
  });

  test('rate: at most so many in any period, and the moment of the next one is known', async () => {
    await p.client.startQueues.create({ id: 'q', rate: { limit: 2, periodMs: 600_000 } });
    const at = clock.nowMs();
    for (let i = 0; i < 6; i++) await p.client.start(echo, 'x', { id: `r${i}`, queue: 'q' });
    expect(await admitted()).toEqual(['r0', 'r1']);
    const { nextMs, blocked, again } = await p.loop.look();
    expect({ nextMs, blocked, again }).toEqual({ nextMs: at + 600_000, blocked: false, again: false });
    clock.set(at + 599_999);
    expect((await p.loop.look()).admitted).toBe(0);
    clock.set(at + 600_000);
    expect((await p.loop.look()).admitted).toBe(2);
    clock.set(at + 1_199_999);
    expect((await p.loop.look()).admitted).toBe(0);
    clock.set(at + 1_200_000);
    await p.loop.look();
    await p.settle();
    expect(await p.client.startQueues.get('q')).toMatchObject({ waiting: 0 });
  });

  test('rate: the window slides, so that no two halves of it make more than the limit', async () => {
    await p.client.startQueues.create({ id: 'q', rate: { limit: 3, periodMs: 1_000 } });
    const at = clock.nowMs();
    const look = async (ms: number, starts: number) => {
      clock.set(at + ms);
      for (let i = 0; i < starts; i++) await p.client.start(echo, 'x', { queue: 'q' });
      const { admitted: count, nextMs } = await p.loop.look();
      return [count, nextMs === null ? null : nextMs - at];
    };
    expect(await look(0, 1)).toEqual([1, null]);
    expect(await look(900, 3)).toEqual([2, 1_000]);
    expect(await look(1_000, 0)).toEqual([1, null]);
    expect(await look(1_100, 2)).toEqual([0, 1_900]);
    expect(await look(1_899, 0)).toEqual([0, 1_900]);
    expect(await look(1_900, 0)).toEqual([2, null]);
  });

  test('pause and resume; limits that change count from the next admission on', async () => {
    const { startQueues } = p.client;
    await startQueues.create({ id: 'q', concurrency: 1, rate: { limit: 50, periodMs: 1_000 }, paused: true });
    for (const id of ['a', 'b', 'c']) await start(id);
    expect(await admitted()).toEqual([]);
    await startQueues.resume('q');
    expect(await admitted()).toEqual(['a']);
    expect(await startQueues.update('q', { concurrency: 2 })).toMatchObject({
      concurrency: 2,
      rate: { limit: 50, periodMs: 1_000 },
    });
    expect(await admitted()).toEqual(['b']);
    await startQueues.pause('q');
    await startQueues.update('q', { concurrency: null, rate: null });
    expect(await admitted()).toEqual([]);
    await startQueues.resume('q');
    expect(await admitted()).toEqual(['c']);
    expect(await startQueues.get('q')).toMatchObject({ concurrency: null, rate: null, running: 3 });
  });

  test('figures: waiting, running, the oldest whatever its priority, and the keys with most', async () => {
    await p.client.startQueues.create({ id: 'q', concurrency: 2, concurrencyPerKey: 1 });
    await p.client.startQueues.create({ id: 'r', paused: true });
    await start('old', { key: 'ann', priority: -7 });
    const oldestWaitingMs = p.provider.nowMs();
    clock.advance(5_000);
    for (const [id, key] of Object.entries({ a1: 'ann', a2: 'ann', a3: 'ann', b1: '"bob"', none: undefined }))
      await start(id, { key });
    expect(await admitted()).toEqual(['a1', 'b1']);
    await end('b1');
    const [q, r, ...others] = await p.store.figures(10);
    expect(others).toEqual([]);
    expect(q).toMatchObject({
      ...{ id: 'q', concurrency: 2, isPaused: false, isPartOfKeys: false, oldestWaitingMs },
      // b1 has ended, whoever notices it.
      waiting: { count: 4, isAtLeast: false },
      running: { count: 1, isAtLeast: false },
      keys: [{ key: 'ann', waiting: 3, running: 1, oldestWaitingMs }],
    });
    expect(r).toMatchObject({ id: 'r', isPaused: true, waiting: { count: 0 }, oldestWaitingMs: null, keys: [] });
    for (let n = 0; n < 25; n++) await start(`k${n}`, { queue: 'r', key: `k${n}` });
    await start('k24 again', { queue: 'r', key: 'k24' });
    const [, many] = await p.store.figures(10);
    expect(many?.keys.slice(0, 2)).toMatchObject([{ key: 'k24', waiting: 2 }, { key: 'k0' }]);
    expect(many).toMatchObject({ keys: { length: 20 }, isPartOfKeys: true, waiting: { count: 26 } });
    expect(await p.store.figures(1)).toMatchObject([{ id: 'q' }]);
  });

  test('queues know nothing of each other; what ended is forgotten once no rate counts it', async () => {
    const { startQueues } = p.client;
    await startQueues.create({ id: 'q', concurrency: 1 });
    await startQueues.create({ id: 'other', concurrency: 1, rate: { limit: 1, periodMs: 5_000 } });
    await start('a');
    await p.client.start(echo, 'x', { id: 'b', queue: 'other' });
    expect(await admitted()).toEqual(expect.arrayContaining(['a', 'b']));
    expect((await startQueues.list()).map(({ id, running }) => [id, running])).toEqual([
      ['other', 0],
      ['q', 1],
    ]);
    clock.advance(60_000);
    expect((await p.loop.look()).inUse).toBe(true);
    await end('a');
    clock.advance(60_000);
    await p.loop.look();
    expect((await p.loop.look()).inUse).toBe(false);
  });
});
