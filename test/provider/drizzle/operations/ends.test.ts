import { describe, expect, test } from '@jest/globals';
import { enqueueForOrchestrator } from '../../../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { fetchOrchestrationItems } from '../../../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import type { HeldInstance, LockedOrchestrationItem } from '../../../../src/provider/provider.js';
import { encodeEvent } from '../../../../src/wire/event.js';
import { benchOfFile, event, LOCK, raised, started, startItem } from './support.js';

const bench = await benchOfFile();

/** The events 1 to `last`, each with so many characters. */
function history(instance: string, last: number, length = 1) {
  const status = 's'.repeat(length);
  return Array.from({ length: last }, (_, at) =>
    at === 0 ? started(instance) : event(instance, at + 1, { kind: 'CustomStatusUpdated', status }),
  );
}

/** An instance with a message and a history. */
async function stored(instance: string, events: ReturnType<typeof history>): Promise<void> {
  await bench.sql(
    `insert into instances (instance_id, orchestration_name, orchestration_version, created_at, updated_at)
      values ($1, 'Hello', '1.0.0', now(), now())`,
    [instance],
  );
  await bench.sql(
    `insert into history (instance_id, execution_id, event_id, event_type, event_data, created_at)
      select $1, 1, u.id, 'Event', u.data, now() from unnest($2::bigint[], $3::text[]) as u(id, data)`,
    [instance, events.map(({ eventId }) => eventId), events.map(encodeEvent)],
  );
  await enqueueForOrchestrator(bench.ctx, [{ item: raised(instance) }]);
}

/** What a fetch answers, and how many statements it took. */
async function fetched(held: Readonly<Record<string, HeldInstance>> = {}) {
  let items: readonly LockedOrchestrationItem[] = [];
  const statements = await bench.counted(async () => {
    ({ items } = await fetchOrchestrationItems(bench.ctx, { limit: 10, ...LOCK, held: (id) => held[id] }));
  });
  return { items, statements: statements.length };
}

const AT_ONCE = 2;
const LOADED = 3;
const heldAt = (lastEventId: number, executionId = 1): HeldInstance => ({ executionId, lastEventId });

describe('the end of a history comes with the claim (design 4.4)', () => {
  test.each([
    { what: 'one event', events: history('x', 1), statements: AT_ONCE },
    { what: 'two events', events: history('x', 2), statements: AT_ONCE },
    { what: 'three events', events: history('x', 3), statements: LOADED },
    { what: 'two events of which the first one is missing', events: history('x', 2).slice(1), statements: LOADED },
    { what: 'a long event before the last one', events: [...history('x', 1, 1).map((first) => ({ ...first, input: 'i'.repeat(3_000) })), ...history('x', 2).slice(1)], statements: LOADED },
    { what: 'a long last event', events: history('x', 2, 3_000), statements: AT_ONCE },
    { what: 'no event', events: [], statements: AT_ONCE },
  ])('nothing held, $what: all of it, in $statements statements', async ({ events, statements }) => {
    await stored('x', events);
    const all = await fetched();
    expect(all.items.map((item) => item.history)).toEqual([{ kind: 'full', events }]);
    expect(all.statements).toBe(statements);
  });

  test('nothing held, with keys: they are loaded', async () => {
    await stored('x', history('x', 1));
    await bench.sql(`insert into kv_store (instance_id, key, value, execution_id, last_updated_at_ms) values ('x', 'k', 'v', 1, 7)`);
    const { items, statements } = await fetched();
    expect(items[0]?.kvSnapshot).toEqual(new Map([['k', { value: 'v', lastUpdatedAtMs: 7 }]]));
    expect(statements).toBe(LOADED);
  });

  test.each([
    { what: 'the last event', held: heldAt(20), after: [], heldText: 20, statements: AT_ONCE },
    { what: 'the one before', held: heldAt(19), after: [20], heldText: 19, statements: AT_ONCE },
    { what: 'an earlier one', held: heldAt(17), after: [18, 19, 20], heldText: 17, statements: LOADED },
    { what: 'one that was never stored', held: heldAt(21), after: [], heldText: null, statements: AT_ONCE },
  ])('held up to $what: the tail, in $statements statements', async ({ held, after, heldText, statements }) => {
    const events = history('x', 20);
    await stored('x', events);
    await bench.sql(`insert into kv_store (instance_id, key, value, execution_id, last_updated_at_ms) values ('x', 'k', 'v', 1, 7)`);
    const tail = await fetched({ x: held });
    const at = (id: number) => events[id - 1] as (typeof events)[number];
    expect(tail.items.map((item) => item.history)).toEqual([
      { kind: 'tail', heldText: heldText === null ? null : encodeEvent(at(heldText)), events: after.map(at) },
    ]);
    expect(tail.statements).toBe(statements);
  });

  test('another execution is held: everything of the current one', async () => {
    const events = history('x', 5);
    await stored('x', events);
    const { items } = await fetched({ x: heldAt(2, 7) });
    expect(items.map((item) => item.history)).toEqual([{ kind: 'full', events }]);
  });

  test('warm, new and cold ones in one fetch: each gets what it needs', async () => {
    await stored('warm', history('warm', 9));
    await stored('cold', history('cold', 9));
    await enqueueForOrchestrator(bench.ctx, [{ item: startItem('new') }]);
    const { items, statements } = await fetched({ warm: heldAt(9) });
    expect(items.map(({ instance, history: { kind, events } }) => [instance, kind, events.length]).sort()).toEqual([
      ['cold', 'full', 9],
      ['new', 'full', 0],
      ['warm', 'tail', 0],
    ]);
    expect(statements).toBe(LOADED);
  });
});

describe('what was claimed and cannot be delivered is given back', () => {
  const attempts = () => bench.sql('select instance_id, attempt_count, lock_token from orchestrator_queue order by 1');
  /** A fetcher for which every statement with this text fails. */
  const failingAt = (text: string) =>
    bench.another(async (statement) => {
      if (statement.text.includes(text)) throw new TypeError('out of order');
    });

  test('a load that fails: nobody stays locked, and no attempt is counted', async () => {
    await stored('cold', history('cold', 9));
    await stored('brief', history('brief', 1));
    const ctx = failingAt("'kv', s.instance_id");
    await expect(fetchOrchestrationItems(ctx, { limit: 10, ...LOCK })).rejects.toMatchObject({ operation: 'fetch_orchestration_item' });
    expect(await attempts()).toEqual([
      { instance_id: 'brief', attempt_count: 0, lock_token: null },
      { instance_id: 'cold', attempt_count: 0, lock_token: null },
    ]);
    expect(await bench.sql('select instance_id from instance_locks')).toEqual([]);
  });

  test('so is everybody when the removal of an orphan fails', async () => {
    await stored('brief', history('brief', 1));
    await enqueueForOrchestrator(bench.ctx, [{ item: { kind: 'QueueMessage', instance: 'orphan', name: 'letters', data: '1' } }]);
    await expect(fetchOrchestrationItems(failingAt('with messages as (delete'), { limit: 10, ...LOCK })).rejects.toThrow();
    expect(await attempts()).toEqual([
      { instance_id: 'brief', attempt_count: 0, lock_token: null },
      { instance_id: 'orphan', attempt_count: 0, lock_token: null },
    ]);
  });

  test('a second look that fails takes nothing from what was grabbed', async () => {
    await stored('x', history('x', 1));
    await enqueueForOrchestrator(bench.ctx, Array.from({ length: 120 }, () => ({ item: raised('x') })));
    const { items } = await fetchOrchestrationItems(failingAt('limit 500'), { limit: 50, ...LOCK });
    expect(items.map(({ instance }) => instance)).toEqual(['x']);
    expect(bench.logged).toContain('the second look of a fetch failed');
  });
});
