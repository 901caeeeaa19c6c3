import { checkGroup } from './check.js';
import { activityCompleted, activityItem, completedEvent, failedEvent } from './records.js';
import type { CreateInstance } from './trial.js';
import { LONG_LOCK_MS } from './trial.js';

const oneActivity: CreateInstance = { workerItems: [activityItem('x', 2)] };
const refs = (...activityIds: number[]) =>
  activityIds.map((activityId) => ({ instance: 'x', executionId: 1, activityId }));

export const activityCancellation = checkGroup('activity cancellation', (check) => {
  check('CA-1', 'an activity of a running instance is fetchable', async (t) => {
    await t.create('x', oneActivity);
    await t.takeWork(2);
  });

  check('CA-2', 'an activity enqueued by the completing turn is fetchable', async (t) => {
    await t.create('x', {
      ...oneActivity,
      events: [completedEvent()],
      metadata: { status: 'Completed', output: '"done"' },
    });
    await t.takeWork(2);
  });

  check('CA-3', 'an activity enqueued by the failing turn is fetchable', async (t) => {
    await t.create('x', { ...oneActivity, events: [failedEvent()], metadata: { status: 'Failed', output: 'failed' } });
    await t.takeWork(2);
  });

  check('CA-4', 'an activity enqueued by a turn that continues as new is fetchable', async (t) => {
    await t.create('x', {
      ...oneActivity,
      events: [{ kind: 'OrchestrationContinuedAsNew', input: '{}' }],
      metadata: { status: 'ContinuedAsNew', output: '{}' },
    });
    await t.takeWork(2);
  });

  check('CA-5', 'an activity of an instance that does not exist is fetchable', async (t) => {
    await t.schedule(activityItem('nobody', 2));
    await t.takeWork(2);
  });

  check('CA-6', 'a fetched activity of a running instance can be renewed', async (t) => {
    await t.create('x', oneActivity);
    await t.renewWork(await t.takeWork(2), LONG_LOCK_MS);
    await t.expectNoWork();
  });

  check('CA-7', 'a fetched activity can be renewed after its instance completed without cancelling it', async (t) => {
    const x = await t.create('x', oneActivity);
    const work = await t.takeWork(2);
    await x.complete();
    await t.renewWork(work, LONG_LOCK_MS);
  });

  check('CA-8', 'a fetched activity of an instance that never existed can be renewed', async (t) => {
    await t.schedule(activityItem('nobody', 2));
    await t.renewWork(await t.takeWork(2), LONG_LOCK_MS);
  });

  check('CA-9', 'acknowledging without completion discards the result', async (t) => {
    await t.create('x', oneActivity);
    await t.ackWork(await t.takeWork(2));
    t.clock.advance(LONG_LOCK_MS);
    await t.expectNoWork();
    await t.expectNothingReady();
  });

  check('CA-10', 'a turn removes the queued activities that it cancels', async (t) => {
    const x = await t.create('x', { workerItems: [1, 2, 3].map((id) => activityItem('x', id)) });
    await x.turn({ cancelledActivities: refs(1, 2) });
    await t.takeWork(3);
    await t.expectNoWork();
  });

  check('CA-11', 'a second acknowledgement of one activity is refused', async (t) => {
    await t.create('x', oneActivity);
    const work = await t.takeWork(2);
    await t.ackWork(work, activityCompleted('x', 2));
    await t.fails(t.ackWork(work, activityCompleted('x', 2)), /not found or already processed/);
  });

  check('CA-12', 'renewing an activity that was cancelled while it ran is refused', async (t) => {
    const x = await t.create('x', oneActivity);
    const work = await t.takeWork(2);
    await x.turn({ cancelledActivities: refs(2) });
    await t.fails(t.renewWork(work, LONG_LOCK_MS), /invalid, expired, or already acked/);
  });

  check('CA-13', 'cancelling unknown activities succeeds', async (t) => {
    const x = await t.create('x');
    await x.turn({ cancelledActivities: refs(7, 8) });
    t.expect(t.kinds(await x.pokeAndTake())).toEqual(['ExternalRaised']);
  });

  check('CA-14', 'one turn cancels many activities', async (t) => {
    const five = [1, 2, 3, 4, 5];
    const x = await t.create('x', { workerItems: five.map((id) => activityItem('x', id)) });
    await x.turn({ cancelledActivities: refs(...five) });
    await t.expectNoWork();
  });

  check('CA-15', 'an activity scheduled and cancelled in one turn never runs', async (t) => {
    const x = await t.create('x');
    await x.turn({ workerItems: [activityItem('x', 2), activityItem('x', 3)], cancelledActivities: refs(2) });
    await t.takeWork(3);
    await t.expectNoWork();
  });

  check('CA-16', 'what is left of the activities of a deleted instance does no harm', async (t) => {
    await t.create('x', oneActivity);
    await t.provider.asManagement().deleteInstance('x', true);
    const work = await t.fetchWork();
    if (work) await t.ackWork(work, activityCompleted('x', 2));
    await t.expectNoWork();
  });
});
