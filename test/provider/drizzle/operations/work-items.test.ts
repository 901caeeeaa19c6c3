import { describe, expect, test } from '@jest/globals';
import { abandonWorkItems } from '../../../../src/provider/drizzle/operations/abandon-work-items.js';
import { ackWorkItems } from '../../../../src/provider/drizzle/operations/ack-work-items.js';
import { enqueueForWorker } from '../../../../src/provider/drizzle/operations/enqueue-for-worker.js';
import { fetchWorkItems } from '../../../../src/provider/drizzle/operations/fetch-work-items.js';
import { renewWorkItemLocks } from '../../../../src/provider/drizzle/operations/renew-work-item-locks.js';
import type { LockedWorkItem, TagFilter } from '../../../../src/provider/provider.js';
import { activity, benchOfFile, completed, LOCK, outcomes, raised } from './support.js';

const bench = await benchOfFile();
const DEFAULT: TagFilter = { kind: 'defaultOnly' };
const ME = { ownerId: 'me', lockTimeoutMs: 60_000 };
const idsOf = (items: readonly LockedWorkItem[]) => items.map(({ item }) => (item.kind === 'ActivityExecute' ? item.id : item.kind));
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('fetching work', () => {
  test('C-06 expired rows of another tag in front keep nobody from the one that fits', async () => {
    await enqueueForWorker(bench.ctx, range(1, 1_000).map((id) => activity('x', id, { tag: 'gpu' })));
    await enqueueForWorker(bench.ctx, [activity('x', 1_001)]);
    await bench.sql("update worker_queue set lock_token = 'gone-' || id, locked_until = 5, attempt_count = 1");
    const items = await fetchWorkItems(bench.ctx, { limit: 1, ...LOCK, tagFilter: DEFAULT });
    expect(items.map(({ item, attemptCount }) => [item.kind === 'ActivityExecute' && item.id, attemptCount])).toEqual([[1_001, 2]]);
  });

  test('12 workers on 12 items take one each', async () => {
    await enqueueForWorker(bench.ctx, range(1, 12).map((id) => activity('x', id)));
    const fetched = await Promise.all(range(1, 12).map(() => fetchWorkItems(bench.another(), { limit: 1, ...LOCK, tagFilter: DEFAULT })));
    expect(idsOf(fetched.flat()).sort((a, b) => Number(a) - Number(b))).toEqual(range(1, 12));
  });

  test('a window that others hold: the next one is looked at', async () => {
    await enqueueForWorker(bench.ctx, range(1, 30).map((id) => activity('x', id)));
    const other = await bench.client();
    await other.query('begin');
    await other.query('select id from worker_queue where activity_id <= 20 for update');
    expect(idsOf(await fetchWorkItems(bench.ctx, { limit: 1, ...LOCK, tagFilter: DEFAULT }))).toEqual([21]);
    await other.query('rollback');
  });
});

describe('rows that cannot be read', () => {
  test('XR-14 others take their places in the batch: fewer than asked for means that there are no more', async () => {
    await enqueueForWorker(bench.ctx, range(1, 6).map((id) => activity('x', id)));
    await bench.sql(`update worker_queue set work_item = 'garbage' where activity_id in (1, 3)`);
    const items = await fetchWorkItems(bench.ctx, { limit: 3, ...LOCK, tagFilter: DEFAULT });
    expect(idsOf(items)).toEqual([2, 4, 5]);
  });
});

describe('sessions', () => {
  test('XR-15 new sessions are bounded; rows of owned ones and rows without one come from behind a window full of the others', async () => {
    await enqueueForWorker(bench.ctx, range(1, 600).map((id) => activity('x', id, { sessionId: `new-${id}` })));
    await enqueueForWorker(bench.ctx, [activity('x', 601, { sessionId: 'mine' }), activity('x', 602)]);
    await bench.sql(`insert into sessions values ('mine', 'me', 8000000000000, 0)`);
    const fetch = (maxNewSessions: number) =>
      fetchWorkItems(bench.ctx, { limit: 50, ...LOCK, session: ME, maxNewSessions, tagFilter: DEFAULT });
    expect(idsOf(await fetch(3))).toEqual([1, 2, 3, 601, 602]);
    expect(await bench.sql(`select session_id from sessions where worker_id = 'me' order by 1`)).toEqual(
      ['mine', 'new-1', 'new-2', 'new-3'].map((session_id) => ({ session_id })),
    );
    expect(idsOf(await fetch(0))).toEqual([]);
  });

  test('T-19 a session that another worker wins at the same moment: its rows go back untried, and the search goes on', async () => {
    await enqueueForWorker(bench.ctx, [activity('x', 1, { sessionId: 's' }), activity('x', 2, { sessionId: 's' }), activity('x', 3)]);
    const winner = await bench.client();
    await winner.query('begin');
    await winner.query(`insert into sessions values ('s', 'other', 8000000000000, 0)`);
    const fetching = fetchWorkItems(bench.another(), { limit: 2, ...LOCK, session: ME, tagFilter: DEFAULT });
    await bench.untilWaiting(1);
    await winner.query('commit');
    expect(idsOf(await fetching)).toEqual([3]);
    expect(await bench.sql('select attempt_count as n, lock_token from worker_queue where session_id is not null')).toEqual([
      { n: 0, lock_token: null },
      { n: 0, lock_token: null },
    ]);
  });
});

describe('settling work', () => {
  async function taken(count: number): Promise<LockedWorkItem[]> {
    await enqueueForWorker(bench.ctx, range(1, count).map((id) => activity('x', id)));
    return fetchWorkItems(bench.ctx, { limit: count, ...LOCK, tagFilter: DEFAULT });
  }

  test('acknowledgements: each result in its place, completions in the order of the batch', async () => {
    const items = await taken(4);
    const at = (index: number) => items[index] as LockedWorkItem;
    await bench.sql('update worker_queue set locked_until = $1 where activity_id = 3', [bench.clock.nowMs()]);
    const results = await ackWorkItems(bench.ctx, [
      { ...at(3), completion: completed('x', 4) },
      { ...at(0), completion: completed('x', 1) },
      { ...at(0), completion: completed('x', 1) },
      { ...at(2), completion: completed('x', 3) },
      { ...at(1) },
      { ...at(1), completion: raised('x') },
      { instance: 'x', lockToken: 'lock_unknown', completion: completed('x', 9) },
    ]);
    const lost = 'Worker queue item not found or already processed';
    expect(outcomes(results)).toEqual(['ok', 'ok', lost, lost, 'ok', 'Invalid completion work item type', lost]);
    expect(await bench.sql(`select work_item::json -> 'ActivityCompleted' ->> 'id' as activity from orchestrator_queue order by id`)).toEqual([
      { activity: '4' },
      { activity: '1' },
    ]);
    expect(bench.wakes.at(-1)).toBe('orchestrator');
  });

  test('abandons of different kinds in one call; an expired lock that nobody took is as good', async () => {
    const [a, b, c] = (await taken(3)) as [LockedWorkItem, LockedWorkItem, LockedWorkItem];
    bench.clock.advance(60_000);
    const results = await abandonWorkItems(bench.ctx, [{ ...a }, { ...b, delayMs: 500, ignoreAttempt: true }, { ...c }, { ...c }]);
    expect(outcomes(results)).toEqual(['ok', 'ok', 'ok', 'Invalid lock token or already acked']);
    expect(
      await bench.sql(
        `select attempt_count as n, lock_token as token, ((extract(epoch from visible_at) * 1000)::bigint - $1::bigint)::int as "inMs" from worker_queue order by id`,
        [bench.clock.nowMs()],
      ),
    ).toEqual([
      { n: 1, token: null, inMs: 0 },
      { n: 0, token: null, inMs: 500 },
      { n: 1, token: null, inMs: 0 },
    ]);
  });

  test('renewals say of each lock whether it is still held', async () => {
    const [a, b] = (await taken(2)) as [LockedWorkItem, LockedWorkItem];
    await ackWorkItems(bench.ctx, [{ ...b }]);
    const results = await renewWorkItemLocks(bench.ctx, [
      { ...b, extendMs: 700 },
      { ...a, extendMs: 700 },
    ]);
    expect(outcomes(results)).toEqual(['Lock token invalid, expired, or already acked', 'ok']);
    expect(await bench.sql('select locked_until::text as until from worker_queue')).toEqual([{ until: String(bench.clock.nowMs() + 700) }]);
  });
});
