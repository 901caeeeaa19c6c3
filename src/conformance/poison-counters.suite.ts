import { checkGroup } from './check.js';
import { activityItem, startItem } from './records.js';
import { LOCK_MS } from './trial.js';

export const poisonCounters = checkGroup('poison counters', (check) => {
  check('PM-1', 'the first fetch of an instance is attempt 1', async (t) => {
    await t.enqueue(startItem('x'));
    t.expect((await t.take('x')).attemptCount).toBe(1);
  });

  check('PM-2', 'each further fetch of an instance counts', async (t) => {
    await t.enqueue(startItem('x'));
    for (const attempt of [1, 2, 3]) {
      const item = await t.take('x');
      t.expect(item.attemptCount).toBe(attempt);
      await t.abandon(item);
    }
  });

  check('PM-3', 'the first fetch of an activity is attempt 1', async (t) => {
    await t.schedule(activityItem('x', 2));
    t.expect((await t.takeWork(2)).attemptCount).toBe(1);
  });

  check('PM-4', 'a fetch of an activity whose lock ended counts', async (t) => {
    await t.schedule(activityItem('x', 2));
    await t.takeWork(2, { lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS);
    t.expect((await t.takeWork(2)).attemptCount).toBe(2);
  });

  check('PM-5', 'attempts are counted per message', async (t) => {
    await t.schedule(activityItem('x', 2), activityItem('x', 3));
    t.expect((await t.takeWork(2)).attemptCount).toBe(1);
    t.expect((await t.takeWork(3)).attemptCount).toBe(1);
  });

  check('PM-6', 'abandoning an activity can take the attempt back', async (t) => {
    await t.schedule(activityItem('x', 2));
    const attempts: number[] = [];
    for (const ignoreAttempt of [false, true, false]) {
      const work = await t.takeWork(2);
      attempts.push(work.attemptCount);
      await t.abandonWork(work, { ignoreAttempt });
    }
    t.expect(attempts).toEqual([1, 2, 2]);
  });

  check('PM-7', 'abandoning an instance can take the attempt back', async (t) => {
    await t.enqueue(startItem('x'));
    const attempts: number[] = [];
    for (const ignoreAttempt of [false, true, false]) {
      const item = await t.take('x');
      attempts.push(item.attemptCount);
      await t.abandon(item, { ignoreAttempt });
    }
    t.expect(attempts).toEqual([1, 2, 2]);
  });

  check('PM-8', 'attempts taken back never go below none', async (t) => {
    await t.schedule(activityItem('x', 2));
    await t.enqueue(startItem('x'));
    for (let cycle = 0; cycle < 3; cycle++) {
      const work = await t.takeWork(2);
      const item = await t.take('x');
      t.expect([work.attemptCount, item.attemptCount]).toEqual([1, 1]);
      await t.abandonWork(work, { ignoreAttempt: true });
      await t.abandon(item, { ignoreAttempt: true });
    }
  });

  check('PM-9', 'a batch of messages reports the highest attempt among them', async (t) => {
    await t.enqueue(startItem('x'));
    for (let cycle = 0; cycle < 2; cycle++) await t.abandon(await t.take('x'));
    await t.poke('x');
    const item = await t.take('x');
    t.expect(item.messages).toHaveLength(2);
    t.expect(item.attemptCount).toBe(3);
  });
});
