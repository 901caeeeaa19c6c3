import type { LockedOrchestrationItem } from '../provider/provider.js';
import { checkGroup } from './check.js';
import { activityItem, event, ids, kvSet, raisedEvent, startedEvent, startItem } from './records.js';
import type { Trial, Turn } from './trial.js';
import { ackOf, LOCK_MS, LONG_LOCK_MS, ownedBy } from './trial.js';

const BATCH = 50;
const BAD = 19;
const TEN_MEGABYTES = 10 * 1024 * 1024;
const metadata = { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' };

/** Locks fifty fresh instances; the one at {@link BAD} with a lock that ends earlier. */
async function lockFifty(t: Trial, prefix: string): Promise<LockedOrchestrationItem[]> {
  const all = ids(t.unique(prefix), BATCH);
  await t.enqueue(startItem(all[BAD] as string));
  const short = await t.take(all[BAD] as string, { lockTimeoutMs: LOCK_MS });
  const others = all.filter((_, index) => index !== BAD);
  await t.provider.enqueueForOrchestrator(others.map((id) => ({ item: startItem(id) })));
  const locked = new Map([[short.instance, short]]);
  while (locked.size < BATCH) {
    const { items, lost } = await t.provider.fetchOrchestrationItems({ limit: BATCH, lockTimeoutMs: LONG_LOCK_MS });
    t.expect(items.length + lost).toBeGreaterThan(0);
    for (const item of items) locked.set(item.instance, item);
  }
  return all.map((id) => locked.get(id) as LockedOrchestrationItem);
}

/** Text that does not compress, so that no index takes it as a key. */
function incompressible(length: number): string {
  let state = 12_345;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return String.fromCharCode(33 + ((state >>> 16) % 90));
  }).join('');
}

const badTurns: Record<string, (instance: string) => Turn> = {
  duplicate: (id) => ({ historyDelta: [startedEvent(id), startedEvent(id)], metadata }),
  'refused-text': (id) => ({
    historyDelta: [startedEvent(id), event(id, 2, kvSet(incompressible(8_000), 'v'))],
    metadata,
  }),
  expired: (id) => ({ historyDelta: [startedEvent(id)], metadata }),
};

export const batches = checkGroup('batches', (check) => {
  check('XR-9', 'one bad element fails alone, at its place', async (t) => {
    for (const [kind, badTurn] of Object.entries(badTurns)) {
      const items = await lockFifty(t, kind);
      if (kind === 'expired') t.clock.advance(LOCK_MS);
      const results = await t.provider.ackOrchestrationItems(
        items.map((item, index) =>
          ackOf(
            item,
            index === BAD ? badTurn(item.instance) : { historyDelta: [startedEvent(item.instance)], metadata },
          ),
        ),
      );
      t.expect(results.map(({ ok }) => ok)).toEqual(items.map((_, index) => index !== BAD));
      const bad = results[BAD];
      t.expect(bad?.ok === false && bad.error.retryable).toBe(false);
      const lengths = await Promise.all(items.map(async ({ instance }) => (await t.provider.read(instance)).length));
      t.expect(lengths).toEqual(items.map((_, index) => (index === BAD ? 0 : 1)));
    }
  });

  check('XR-9/large', 'ten megabytes in one element delay no other element', async (t) => {
    const items = await lockFifty(t, 'x');
    const large = items[BAD] as LockedOrchestrationItem;
    const foreign = await t.need('openTransaction')();
    try {
      // Whoever writes the large element's rows has to wait until we let go.
      await foreign.run('select 1 from instance_locks where instance_id = $1 for update', [large.instance]);
      const results = t.provider.ackOrchestrationItems(
        items.map((item, index) =>
          ackOf(item, {
            historyDelta: [
              startedEvent(item.instance),
              event(item.instance, 2, raisedEvent(index === BAD ? 'x'.repeat(TEN_MEGABYTES) : 'small')),
            ],
            metadata,
          }),
        ),
      );
      results.catch(() => undefined);
      await foreign.untilWaiting(1);
      const admin = t.provider.asManagement();
      await t.until('the small ones exist', async () => (await admin.listInstances()).length === BATCH - 1);
      await foreign.rollback();
      t.expect((await results).map(({ ok }) => ok)).toEqual(items.map(() => true));
    } finally {
      await foreign.rollback();
    }
    t.expect(await t.provider.read(large.instance)).toHaveLength(2);
  });

  check('XR-10', 'a fetch takes what it can get and counts what others hold', async (t) => {
    const nine = ids(t.unique('x'), 9);
    const [busy] = nine.slice(4) as [string];
    for (const id of nine) await t.enqueue(startItem(id));
    const fetchTen = () => t.provider.fetchOrchestrationItems({ limit: 10, lockTimeoutMs: LONG_LOCK_MS });
    const foreign = await t.need('openTransaction')();
    try {
      await foreign.run('select pg_advisory_xact_lock(hashtext($1))', [busy]);
      const { items, lost } = await fetchTen();
      t.expect(items.map(({ instance }) => instance).sort()).toEqual(nine.filter((id) => id !== busy).sort());
      t.expect(lost).toBe(1);
    } finally {
      await foreign.rollback();
    }
    const { items, lost } = await fetchTen();
    t.expect({ instances: items.map(({ instance }) => instance), lost }).toEqual({ instances: [busy], lost: 0 });
  });

  check('XR-15', 'a fetch claims no more new sessions than it may', async (t) => {
    await t.schedule(activityItem('x', 1, { sessionId: 'owned' }));
    await t.takeWork(1, ownedBy('A'));
    await t.schedule(
      ...['a', 'b', 'c', 'd'].map((sessionId, index) => activityItem('x', 10 + index, { sessionId })),
      activityItem('x', 20, { sessionId: 'owned' }),
      activityItem('x', 21),
      activityItem('x', 22, { sessionId: 'a' }),
    );
    const fetch = (owner: string, maxNewSessions: number) =>
      t.provider.fetchWorkItems({
        limit: BATCH,
        lockTimeoutMs: LONG_LOCK_MS,
        tagFilter: { kind: 'defaultOnly' },
        ...ownedBy(owner),
        maxNewSessions,
      });
    const activities = (works: Awaited<ReturnType<typeof fetch>>) =>
      works.map(({ item }) => (item.kind === 'ActivityExecute' ? item.id : 0)).sort();
    t.expect(activities(await fetch('A', 2))).toEqual([10, 11, 20, 21, 22]);
    t.expect(activities(await fetch('A', 0))).toEqual([]);
    t.expect(activities(await fetch('B', 5))).toEqual([12, 13]);
  });

  check('XR-16', 'what is given back unstarted comes back with the attempts it had', async (t) => {
    const three = ids(t.unique('x'), 3);
    for (const id of three) await t.enqueue(startItem(id));
    await t.schedule(...three.map((id) => activityItem(id, 2)));
    const fetchAll = async () => ({
      items: (await t.provider.fetchOrchestrationItems({ limit: 10, lockTimeoutMs: LONG_LOCK_MS })).items,
      works: await t.provider.fetchWorkItems({
        limit: 10,
        lockTimeoutMs: LONG_LOCK_MS,
        tagFilter: { kind: 'defaultOnly' },
      }),
    });
    for (let cycle = 0; cycle < 3; cycle++) {
      const { items, works } = await fetchAll();
      t.expect(items.map(({ attemptCount }) => attemptCount)).toEqual([1, 1, 1]);
      t.expect(works.map(({ attemptCount }) => attemptCount)).toEqual([1, 1, 1]);
      const given = [
        ...(await t.provider.abandonOrchestrationItems(
          items.map(({ instance, lockToken }) => ({ instance, lockToken, ignoreAttempt: true })),
        )),
        ...(await t.provider.abandonWorkItems(
          works.map(({ instance, lockToken }) => ({ instance, lockToken, ignoreAttempt: true })),
        )),
      ];
      t.expect(given.every(({ ok }) => ok)).toBe(true);
    }
  });
});
