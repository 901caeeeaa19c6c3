import { checkGroup } from './check.js';
import { activityCompleted, activityItem, queueMessage, timerFired } from './records.js';
import { LOCK_MS, LONG_LOCK_MS } from './trial.js';

export const queueSemantics = checkGroup('queue semantics', (check) => {
  check('QS-1', 'activities come out in the order in which they went in', async (t) => {
    for (const id of [1, 2, 3, 4, 5]) await t.schedule(activityItem('x', id));
    for (const id of [1, 2, 3, 4, 5]) await t.takeWork(id);
    await t.expectNoWork();
  });

  check('QS-2', 'a fetched activity is hidden until it is acknowledged, then gone', async (t) => {
    await t.schedule(activityItem('x', 2));
    await t.takeWork(2, { lockTimeoutMs: LOCK_MS });
    await t.expectNoWork();
    // Still there: a lock that ends brings it back.
    t.clock.advance(LOCK_MS);
    await t.ackWork(await t.takeWork(2), activityCompleted('x', 2));
    t.clock.advance(LONG_LOCK_MS);
    await t.expectNoWork();
  });

  check('QS-3', 'acknowledging an activity makes exactly one completion', async (t) => {
    await t.create('x', { workerItems: [activityItem('x', 2)] });
    await t.ackWork(await t.takeWork(2), activityCompleted('x', 2, '"result"'));
    await t.expectNoWork();
    const item = await t.take('x');
    t.expect(item.messages).toEqual([activityCompleted('x', 2, '"result"')]);
  });

  check('QS-4', 'a timer without a moment is delivered after its delay', async (t) => {
    await t.create('x');
    await t.enqueue(timerFired('x', 2, 0), 5_000);
    await t.expectNothingReady();
    t.clock.advance(4_999);
    await t.expectNothingReady();
    t.clock.advance(1);
    t.expect((await t.take('x')).messages).toEqual([timerFired('x', 2, 0)]);
  });

  check('QS-5', 'an activity whose token was lost is delivered again', async (t) => {
    await t.schedule(activityItem('x', 2));
    await t.takeWork(2, { lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS - 1);
    await t.expectNoWork();
    t.clock.advance(1);
    await t.takeWork(2);
  });

  check('QS-6', 'a new activity is fetchable at once', async (t) => {
    await t.schedule(activityItem('x', 2, { input: '"payload"' }));
    t.expect((await t.takeWork(2)).item).toEqual(activityItem('x', 2, { input: '"payload"' }));
  });

  check('QS-7', 'a delayed activity is passed over and comes back after its delay', async (t) => {
    await t.schedule(activityItem('x', 2), activityItem('x', 3));
    await t.abandonWork(await t.takeWork(2), { delayMs: 5_000 });
    await t.takeWork(3);
    await t.expectNoWork();
    t.clock.advance(5_000);
    await t.takeWork(2);
  });

  check('QS-8', 'mailbox messages of an instance that never started are dropped', async (t) => {
    await t.enqueue(queueMessage('nobody', '"1"'));
    await t.enqueue(queueMessage('nobody', '"2"'));
    await t.expectNothingReady();
    await t.expectNothingReady();
    t.expect(await t.sut.highestAttemptCount('nobody')).toBe(0);
    await t.create('x');
    await t.enqueue(queueMessage('x'));
    t.expect((await t.take('x')).messages).toEqual([queueMessage('x')]);
  });
});
