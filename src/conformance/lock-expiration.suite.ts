import { checkGroup } from './check.js';
import { activityCompleted, activityItem, startedEvent, startItem } from './records.js';
import { LOCK_MS, LONG_LOCK_MS } from './trial.js';

const metadata = { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' };

export const lockExpiration = checkGroup('lock expiration and renewal', (check) => {
  check('LE-1', 'when a lock ends the instance gets a new token and the old one is void', async (t) => {
    await t.enqueue(startItem('x'));
    const first = await t.take('x', { lockTimeoutMs: LOCK_MS });
    await t.expectNothingReady();
    t.clock.advance(LOCK_MS);
    const second = await t.take('x');
    t.expect(second.lockToken).not.toBe(first.lockToken);
    await t.fails(t.ack(first, { historyDelta: [startedEvent('x')], metadata }), /Invalid lock token/);
    await t.ack(second, { historyDelta: [startedEvent('x')], metadata });
  });

  check('LE-2', 'an abandoned instance is fetchable at once', async (t) => {
    await t.enqueue(startItem('x'));
    await t.abandon(await t.take('x'));
    await t.take('x');
  });

  check('LE-3', 'a message queued during a turn is fetchable right after the acknowledgement', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x');
    await t.poke('x');
    await t.ack(item, { historyDelta: [startedEvent('x')], metadata });
    t.expect(t.kinds(await t.take('x'))).toEqual(['ExternalRaised']);
  });

  check('LE-4', 'concurrent fetchers respect a lock until it ends', async (t) => {
    await t.enqueue(startItem('x'));
    await t.take('x', { lockTimeoutMs: LOCK_MS });
    const five = () => Promise.all(Array.from({ length: 5 }, () => t.fetch()));
    t.expect(await five()).toEqual([null, null, null, null, null]);
    t.clock.advance(LOCK_MS);
    t.expect((await five()).filter((item) => item !== null)).toHaveLength(1);
  });

  check('LE-5', 'a renewed activity stays locked', async (t) => {
    await t.schedule(activityItem('x', 2));
    const work = await t.takeWork(2, { lockTimeoutMs: LOCK_MS });
    await t.renewWork(work, LONG_LOCK_MS);
    t.clock.advance(LOCK_MS);
    await t.expectNoWork();
  });

  check('LE-6', 'renewing an activity with an unknown token is refused', async (t) => {
    await t.fails(
      t.renewWork({ instance: null, lockToken: 'lock_unknown' }, LONG_LOCK_MS),
      /invalid, expired, or already acked/,
    );
  });

  check('LE-7', 'renewing an activity whose lock ended is refused', async (t) => {
    await t.schedule(activityItem('x', 2));
    const work = await t.takeWork(2, { lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS);
    await t.fails(t.renewWork(work, LONG_LOCK_MS), /invalid, expired, or already acked/);
  });

  check('LE-8', 'a renewal counts from the moment it is made', async (t) => {
    await t.schedule(activityItem('x', 2));
    const work = await t.takeWork(2, { lockTimeoutMs: LOCK_MS });
    t.clock.advance(0.6 * LOCK_MS);
    await t.renewWork(work, LOCK_MS);
    t.clock.advance(0.4 * LOCK_MS);
    await t.expectNoWork();
    t.clock.advance(0.6 * LOCK_MS);
    await t.takeWork(2);
  });

  check('LE-9', 'renewing an acknowledged activity is refused', async (t) => {
    await t.schedule(activityItem('x', 2));
    const work = await t.takeWork(2);
    await t.ackWork(work, activityCompleted('x', 2));
    await t.fails(t.renewWork(work, LONG_LOCK_MS), /invalid, expired, or already acked/);
  });

  check('LE-10', 'an abandoned activity is fetchable at once, under a new token', async (t) => {
    await t.schedule(activityItem('x', 2));
    const first = await t.takeWork(2);
    await t.abandonWork(first);
    t.expect((await t.takeWork(2)).lockToken).not.toBe(first.lockToken);
  });

  check('LE-11', 'an activity abandoned with a delay comes back after it', async (t) => {
    await t.schedule(activityItem('x', 2));
    await t.abandonWork(await t.takeWork(2), { delayMs: 500 });
    t.clock.advance(499);
    await t.expectNoWork();
    t.clock.advance(1);
    await t.takeWork(2);
  });

  check('LE-12', 'an activity cannot be acknowledged after its lock ended, and stays fetchable', async (t) => {
    await t.schedule(activityItem('x', 2));
    const work = await t.takeWork(2, { lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS);
    await t.fails(t.ackWork(work, activityCompleted('x', 2)), /not found or already processed/);
    await t.takeWork(2);
    await t.expectNothingReady();
  });

  check('LE-13', 'renewing an instance whose lock ended is refused', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x', { lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS);
    await t.fails(t.renew(item, LONG_LOCK_MS), /invalid, expired, or already released/);
  });
});
