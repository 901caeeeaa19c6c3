import { checkGroup } from './check.js';
import { activityCompleted, activityItem, startedEvent, startItem } from './records.js';
import type { Trial } from './trial.js';
import { LOCK_MS, LONG_LOCK_MS } from './trial.js';

const metadata = { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' };
const OWN = { instance: 'x', lockToken: 'lock_own:2' };

/**
 * A turn of x that schedules activity 2, to be its process's, and activity 3 for anybody.
 * @returns whether the provider does such things; if not, 2 is anybody's, too
 */
async function ackWithOwnWork(t: Trial): Promise<boolean> {
  await t.enqueue(startItem('x'));
  await t.ack(await t.take('x'), {
    historyDelta: [startedEvent('x')],
    metadata,
    workerItems: [activityItem('x', 2), activityItem('x', 3)],
    workerLocks: { lockTimeoutMs: LOCK_MS, tokens: [OWN.lockToken, null] },
  });
  if (t.provider.locksOwnWork === true) return true;
  await t.takeWork(2);
  return false;
}

/** Work that a turn's acknowledgement locks for the process of the turn. */
export const ownWork = checkGroup('own work', (check) => {
  check('OW-1', 'what a turn locks nobody else gets before the lock ends, then as a second attempt', async (t) => {
    const isLocked = await ackWithOwnWork(t);
    await t.takeWork(3);
    await t.expectNoWork();
    if (!isLocked) return;
    t.clock.advance(LOCK_MS);
    t.expect((await t.takeWork(2)).attemptCount).toBe(2);
    await t.fails(t.ackWork(OWN, activityCompleted('x', 2)), /not found or already processed/);
  });

  check('OW-2', 'its lock is as a fetch gives it: renewed and acknowledged', async (t) => {
    if (!(await ackWithOwnWork(t))) return;
    await t.renewWork(OWN, LONG_LOCK_MS);
    t.clock.advance(LOCK_MS);
    await t.ackWork(OWN, activityCompleted('x', 2));
    t.expect(t.kinds(await t.take('x'))).toEqual(['ActivityCompleted']);
  });

  check('OW-3', 'given back without an attempt it is as if nobody had had it', async (t) => {
    if (!(await ackWithOwnWork(t))) return;
    await t.abandonWork(OWN, { ignoreAttempt: true });
    t.expect((await t.takeWork(2)).attemptCount).toBe(1);
  });

  check('OW-4', 'its cancellation is noticed by the renewal', async (t) => {
    if (!(await ackWithOwnWork(t))) return;
    await t.poke('x');
    await t.ack(await t.take('x'), { cancelledActivities: [{ instance: 'x', executionId: 1, activityId: 2 }] });
    await t.fails(t.renewWork(OWN, LONG_LOCK_MS), /invalid, expired, or already acked/);
  });

  check('OW-5', 'a turn that lost its lock has no work', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x', { lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS);
    const late = t.ack(item, {
      historyDelta: [startedEvent('x')],
      metadata,
      workerItems: [activityItem('x', 2)],
      workerLocks: { lockTimeoutMs: LOCK_MS, tokens: [OWN.lockToken] },
    });
    await t.fails(late, /Invalid lock token/);
    await t.fails(t.ackWork(OWN), /not found or already processed/);
    await t.expectNoWork();
  });

  check('OW-6', 'others are woken for what is left to them only', async (t) => {
    const told: string[] = [];
    const stop = t.provider.onWakeUp((queue, isFromElsewhere) => isFromElsewhere !== true && told.push(queue) > 0);
    const instance = t.unique('own');
    await t.enqueue(startItem(instance));
    const item = await t.take(instance);
    told.length = 0;
    await t.ack(item, {
      historyDelta: [startedEvent(instance)],
      metadata,
      workerItems: [activityItem(instance, 2)],
      workerLocks: { lockTimeoutMs: LOCK_MS, tokens: ['lock_own:alone'] },
    });
    t.expect(told).toEqual(t.provider.locksOwnWork === true ? [] : ['worker']);
    stop();
  });
});
