import { ProviderError } from '../provider/provider-error.js';
import { fetchOrchestrationItem } from '../provider/single-forms.js';
import { checkGroup } from './check.js';
import { activityCompleted, ids, startedEvent, startItem } from './records.js';
import type { Trial } from './trial.js';
import { LOCK_MS } from './trial.js';

/** Fetches at once from `fetchers` callers, repeating retryable errors; what each got. */
async function fetchAtOnce(t: Trial, fetchers: number): Promise<(string | undefined)[]> {
  const fetchPatiently = async () => {
    for (;;) {
      try {
        return (await fetchOrchestrationItem(t.provider, { lockTimeoutMs: LOCK_MS }))?.instance;
      } catch (error) {
        if (!ProviderError.is(error) || !error.retryable) throw error;
      }
    }
  };
  return Promise.all(Array.from({ length: fetchers }, fetchPatiently));
}

const metadata = { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' };

export const instanceLocking = checkGroup('instance locking', (check) => {
  check('IL-1', 'a locked instance is not fetched until its lock ends', async (t) => {
    await t.enqueue(startItem('x'));
    const first = await t.take('x', { lockTimeoutMs: LOCK_MS });
    await t.expectNothingReady();
    t.clock.advance(LOCK_MS);
    const second = await t.take('x');
    t.expect(second.lockToken).not.toBe(first.lockToken);
  });

  check('IL-2', 'every lock has its own token', async (t) => {
    const tokens = new Set<string>();
    for (const id of ids('x', 5)) await t.enqueue(startItem(id));
    for (const id of ids('x', 5)) tokens.add((await t.take(id)).lockToken);
    t.expect(tokens.size).toBe(5);
  });

  check('IL-3', 'an unknown token neither acknowledges nor abandons', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x');
    const wrong = { ...item, lockToken: 'lock_unknown' };
    await t.fails(t.ack(wrong), /Invalid lock token/);
    await t.fails(t.abandon(wrong), /Invalid lock token/);
    await t.expectNothingReady();
    await t.ack(item, { historyDelta: [startedEvent('x')], metadata });
  });

  check('IL-4', 'concurrent fetchers get every ready instance exactly once, and nobody goes empty', async (t) => {
    const ready = ids(t.unique('x'), 10);
    for (const id of ready) await t.enqueue(startItem(id));
    t.expect((await fetchAtOnce(t, 10)).sort()).toEqual([...ready].sort());
  });

  check('IL-5', 'messages that arrive during a turn wait and come with the redelivered ones', async (t) => {
    await t.enqueue(startItem('x'));
    await t.take('x', { lockTimeoutMs: LOCK_MS });
    for (const id of [1, 2, 3]) await t.enqueue(activityCompleted('x', id));
    await t.expectNothingReady();
    t.clock.advance(LOCK_MS);
    t.expect((await t.take('x')).messages).toEqual([
      startItem('x'),
      ...[1, 2, 3].map((id) => activityCompleted('x', id)),
    ]);
  });

  check('IL-6', 'a locked instance blocks no other', async (t) => {
    await t.enqueue(startItem('held'));
    await t.enqueue(startItem('free'));
    await t.take('held');
    for (let round = 0; round < 3; round++) {
      await t.abandon(await t.take('free'));
      await t.poke('held');
    }
    await t.take('free');
    await t.expectNothingReady();
  });

  check('IL-7', 'a message that arrives during a turn survives its acknowledgement', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x');
    await t.enqueue(activityCompleted('x', 2));
    await t.ack(item, { historyDelta: [startedEvent('x')], metadata });
    t.expect((await t.take('x')).messages).toEqual([activityCompleted('x', 2)]);
  });

  check('IL-8', 'an acknowledgement consumes only the messages of its turn', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x');
    t.expect(item.messages).toHaveLength(1);
    await t.enqueue(activityCompleted('x', 2));
    await t.enqueue(activityCompleted('x', 3));
    await t.expectNothingReady();
    await t.ack(item, { historyDelta: [startedEvent('x')], metadata });
    t.expect((await t.take('x')).messages).toEqual([activityCompleted('x', 2), activityCompleted('x', 3)]);
  });

  check('IL-9', 'of many fetchers one gets the only instance', async (t) => {
    const only = t.unique('x');
    await t.enqueue(startItem(only));
    const got = await fetchAtOnce(t, 10);
    t.expect(got.filter((instance) => instance !== undefined)).toEqual([only]);
  });

  check('IL-10', 'more fetchers than instances: none is processed twice', async (t) => {
    const ready = ids(t.unique('x'), 20);
    for (const id of ready) await t.enqueue(startItem(id));
    const got = (await fetchAtOnce(t, 40)).filter((instance) => instance !== undefined);
    t.expect(got.sort()).toEqual([...ready].sort());
  });

  check('IL-11', 'an instance whose holder vanished is recovered when the lock ends', async (t) => {
    await t.enqueue(startItem('x'));
    await t.take('x', { lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS / 2);
    await t.expectNothingReady();
    t.clock.advance(LOCK_MS / 2);
    await t.take('x');
  });
});
