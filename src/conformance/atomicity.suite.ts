import { checkGroup } from './check.js';
import { activityItem, event, externalRaised, raisedEvent, started, startedEvent, timerFired } from './records.js';
import { startItem } from './records.js';
import { LOCK_MS } from './trial.js';

export const atomicity = checkGroup('atomicity', (check) => {
  check('AT-1', 'a rejected acknowledgement changes nothing and keeps the lock', async (t) => {
    const x = await t.create('x');
    const item = await x.pokeAndTake();
    await t.fails(
      t.ack(item, { historyDelta: [event('x', 1, raisedEvent('again'))], workerItems: [activityItem('x', 1)] }),
    );
    t.expect(await t.provider.readWithExecution('x', 1)).toEqual([startedEvent('x')]);
    await t.expectNothingReady();
    await t.expectNoWork();
  });

  check('AT-2', 'one acknowledgement commits events, activities and messages together, in order', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x');
    await t.ack(item, {
      historyDelta: [
        event('x', 1, started()),
        ...[2, 3, 4].map((id) => event('x', id, { kind: 'ActivityScheduled', name: 'Work', input: '{}' })),
        event('x', 5, { kind: 'TimerCreated', fireAtMs: t.clock.nowMs() - 1_000 }),
      ],
      workerItems: [2, 3, 4].map((id) => activityItem('x', id)),
      orchestratorItems: [timerFired('x', 5, t.clock.nowMs() - 1_000), externalRaised('x')],
      metadata: { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' },
    });
    t.expect((await t.provider.read('x')).map(({ eventId }) => eventId)).toEqual([1, 2, 3, 4, 5]);
    for (const id of [2, 3, 4]) await t.takeWork(id);
    await t.expectNoWork();
    t.expect(t.kinds(await t.take('x'))).toEqual(['TimerFired', 'ExternalRaised']);
  });

  check('AT-3', 'only the right token releases the lock', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x', { lockTimeoutMs: LOCK_MS });
    await t.fails(t.ack({ ...item, lockToken: 'lock_of_somebody_else' }), /lock token/i);
    await t.expectNothingReady();
    t.clock.advance(LOCK_MS - 1);
    await t.expectNothingReady();
    t.clock.advance(1);
    await t.take('x');
  });

  check('AT-4', 'two simultaneous acknowledgements of one token: one succeeds', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x');
    const turn = {
      historyDelta: [startedEvent('x')],
      metadata: { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' },
    };
    const outcomes = await Promise.allSettled([t.ack(item, turn), t.ack(item, turn)]);
    t.expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    t.expect(await t.provider.read('x')).toHaveLength(1);
  });
});
