import type { EventBody, HistoryEvent } from '../wire/event.js';
import type { ErrorDetails } from '../wire/error-details.js';
import { checkGroup } from './check.js';
import {
  activityCompleted,
  activityItem,
  event,
  externalRaised,
  failedEvent,
  kvSet,
  numbered,
  queueMessage,
  raisedEvent,
  started,
  statusEvent,
  timerFired,
} from './records.js';
import { eventsOf, LONG_LOCK_MS, snapshotValues, type Trial } from './trial.js';

const scheduled = (name = 'Work'): EventBody => ({ kind: 'ActivityScheduled', name, input: '{}' });
const details = (message = 'failed'): ErrorDetails => ({
  kind: 'Application',
  application: { kind: 'ActivityFailed' },
  message,
  retryable: false,
});
const completed = (sourceEventId: number) =>
  ({ kind: 'ActivityCompleted', result: '"done"', sourceEventId }) as EventBody;
const failed = (sourceEventId: number) => ({ kind: 'ActivityFailed', details: details(), sourceEventId }) as EventBody;

/** An instance that failed in its only turn, with these events after its start. */
async function failedInstance(t: Trial, id: string, events: readonly EventBody[], parent?: string): Promise<void> {
  await t.create(id, {
    events: [...events, failedEvent()],
    metadata: { status: 'Failed', output: 'failed' },
    ...(parent === undefined ? {} : { parent }),
  });
}

const kinds = (events: readonly HistoryEvent[]) => events.map(({ kind }) => kind);

/** `resetInstance` (provider.md 3.4.12). */
export const resets = checkGroup('resets', (check) => {
  check('AR-1', 'later events go, the instance runs, and the activity without outcome is enqueued again', async (t) => {
    await failedInstance(t, 'x', [scheduled('First'), completed(2), scheduled('Second'), failed(4)]);
    const before = await t.provider.read('x');
    const result = await t.provider.asManagement().resetInstance('x', 4);
    t.expect(result).toEqual({
      instanceId: 'x',
      executionId: 1,
      eventsArchived: 2,
      activities: 1,
      timers: 0,
      children: 0,
      messages: 0,
      resetChildren: [],
    });
    t.expect(await t.provider.read('x')).toEqual(before.slice(0, 4));
    t.expect(await t.provider.asManagement().getInstanceInfo('x')).toMatchObject({ status: 'Running', output: null });
    t.expect(await t.provider.asManagement().getExecutionInfo('x', 1)).toMatchObject({ completedAtMs: null });
    const work = await t.takeWork(4);
    t.expect(work.item).toEqual(activityItem('x', 4, { name: 'Second' }));
    await t.expectNoWork();
  });

  check('AR-2', 'the instance is woken, with the history that stays', async (t) => {
    await failedInstance(t, 'x', [scheduled(), completed(2)]);
    await t.provider.asManagement().resetInstance('x', 3);
    const item = await t.take('x');
    t.expect(kinds(eventsOf(item))).toEqual(['OrchestrationStarted', 'ActivityScheduled', 'ActivityCompleted']);
    t.expect(t.kinds(item)).toEqual(['StartOrchestration']);
    await t.ack(item, {
      historyDelta: [event('x', 4, { kind: 'OrchestrationCompleted', output: '1' })],
      metadata: { status: 'Completed', output: '1' },
    });
    t.expect(await t.provider.asManagement().getInstanceInfo('x')).toMatchObject({ status: 'Completed', output: '1' });
  });

  check('AR-3', 'a timer without outcome fires at its moment', async (t) => {
    const fireAtMs = t.clock.nowMs() + 60_000;
    await failedInstance(t, 'x', [{ kind: 'TimerCreated', fireAtMs }, scheduled(), failed(3)]);
    t.expect(await t.provider.asManagement().resetInstance('x', 3)).toMatchObject({ timers: 1, activities: 1 });
    await t.ack(await t.take('x'));
    await t.expectNothingReady();
    t.clock.advance(60_000);
    t.expect((await t.take('x')).messages).toEqual([timerFired('x', 2, fireAtMs)]);
  });

  check('AR-4', 'events and messages that came later are delivered again', async (t) => {
    const mailed: EventBody = { kind: 'ExternalEventPersistent', name: 'mailbox', data: '{}' };
    await failedInstance(t, 'x', [scheduled(), failed(2), raisedEvent('go'), mailed]);
    t.expect(await t.provider.asManagement().resetInstance('x', 2)).toMatchObject({ messages: 2 });
    t.expect((await t.take('x')).messages.slice(0, 2)).toEqual([externalRaised('x', 'go'), queueMessage('x')]);
  });

  check('AR-5', 'a step that was given up is not done again', async (t) => {
    const givenUp = { kind: 'ActivityCancelRequested', reason: 'dropped_future', sourceEventId: 2 } as EventBody;
    await failedInstance(t, 'x', [scheduled('Loser'), givenUp, scheduled('Winner'), failed(4)]);
    t.expect(await t.provider.asManagement().resetInstance('x', 4)).toMatchObject({ activities: 1 });
    await t.takeWork(4);
    await t.expectNoWork();
  });

  check(
    'AR-6',
    'work and outcomes of what is taken back are forgotten, what is queued already is not doubled',
    async (t) => {
      await failedInstance(t, 'x', [scheduled('Kept'), scheduled('Answered'), scheduled('Late'), failed(4)]);
      await t.schedule(activityItem('x', 2, { name: 'Kept' }), activityItem('x', 4, { name: 'Late' }));
      await t.enqueue(activityCompleted('x', 3));
      await t.enqueue(activityCompleted('x', 4));
      t.expect(await t.provider.asManagement().resetInstance('x', 3)).toMatchObject({ activities: 0 });
      t.expect((await t.take('x')).messages.filter(({ kind }) => kind === 'ActivityCompleted')).toEqual([
        activityCompleted('x', 3),
      ]);
      await t.takeWork(2);
      await t.expectNoWork();
    },
  );

  check('AR-7', 'a worker that runs what was taken back cannot acknowledge it any more', async (t) => {
    await failedInstance(t, 'x', [scheduled(), scheduled('Late'), failed(2)]);
    await t.schedule(activityItem('x', 3, { name: 'Late' }));
    const locked = await t.takeWork(3);
    await t.provider.asManagement().resetInstance('x', 2);
    await t.fails(t.ackWork(locked, activityCompleted('x', 3)));
  });

  check('AR-8', 'refused, with the reason: what has not failed, is unknown, or has no such event', async (t) => {
    const admin = t.provider.asManagement();
    await t.create('running');
    await t.createFinished('done');
    await failedInstance(t, 'x', [scheduled(), failed(2)]);
    await t.fails(admin.resetInstance('running', 1), /running cannot be reset: it is Running/);
    await t.fails(admin.resetInstance('done', 1), /it is Completed/);
    await t.fails(admin.resetInstance('nobody', 1), /Instance not found: nobody/);
    await t.fails(admin.resetInstance('x', 9), /event 9 is not in its current execution, whose events are 1 to 4/);
    await t.fails(admin.resetInstance('x', 4), /event 4 is its last one/);
    const givenUp = {
      kind: 'ActivityCancelRequested',
      reason: 'orchestration_terminal',
      sourceEventId: 2,
    } as EventBody;
    await t.create('y', {
      events: [scheduled(), failedEvent(), givenUp],
      metadata: { status: 'Failed', output: 'failed' },
    });
    await t.fails(admin.resetInstance('y', 3), /event 3 is not before its failure, which is event 3/);
    for (const bad of [0, -1, 1.5, Number.NaN]) await t.fails(admin.resetInstance('x', bad), /toEventId must be/);
    t.expect(await t.provider.read('x')).toHaveLength(4);
  });

  check('AR-9', 'refused when the parent has finished, or is gone', async (t) => {
    const admin = t.provider.asManagement();
    const parent = await t.create('parent');
    await failedInstance(t, 'child', [scheduled(), failed(2)], 'parent');
    await failedInstance(t, 'orphan', [scheduled(), failed(2)], 'nobody');
    await parent.complete();
    await t.fails(admin.resetInstance('child', 2), /its parent parent has finished \(Completed\)/);
    await t.fails(admin.resetInstance('orphan', 2), /its parent nobody does not exist/);
  });

  check('AR-10', 'refused when its history cannot be read, or it would be cancelled again', async (t) => {
    const admin = t.provider.asManagement();
    await failedInstance(t, 'x', [scheduled(), failed(2)]);
    await failedInstance(t, 'y', [{ kind: 'OrchestrationCancelRequested', reason: 'enough' }, scheduled(), failed(3)]);
    await t.sut.corruptHistory('x');
    await t.fails(admin.resetInstance('x', 2), /its history cannot be read/);
    await t.fails(admin.resetInstance('y', 3), /it was cancelled before event 3/);
  });

  check('AR-11', 'while a worker has the instance, a reset is to be tried again', async (t) => {
    await failedInstance(t, 'x', [scheduled(), failed(2)]);
    await t.poke('x');
    const item = await t.take('x');
    const error = await t.provider
      .asManagement()
      .resetInstance('x', 2)
      .catch((reason: unknown) => reason);
    t.expect(error).toMatchObject({ retryable: true, reason: 'a worker has x at this moment; try again' });
    await t.ack(item);
    await t.provider.asManagement().resetInstance('x', 2);
    t.expect(await t.provider.asManagement().getInstanceInfo('x')).toMatchObject({ status: 'Running' });
  });

  check('AR-12', 'a lock that ran out stands in the way of nobody', async (t) => {
    await failedInstance(t, 'x', [scheduled(), failed(2)]);
    await t.poke('x');
    await t.take('x');
    t.clock.advance(LONG_LOCK_MS + 1);
    t.expect(await t.provider.asManagement().resetInstance('x', 2)).toMatchObject({ activities: 1 });
  });

  const child = (instance: string): EventBody => ({
    kind: 'SubOrchestrationScheduled',
    name: 'Child',
    instance,
    input: '"in"',
  });
  const childFailed = { kind: 'SubOrchestrationFailed', details: details(), sourceEventId: 2 } as EventBody;

  check('AR-13', 'a failed child is reset with its parent, to the step that failed', async (t) => {
    await t.create('parent', { events: [child('sub::2')] });
    await failedInstance(t, 'parent::sub::2', [scheduled('A'), completed(2), scheduled('B'), failed(4)], 'parent');
    await t.poke('parent');
    await t.ack(await t.take('parent'), {
      historyDelta: [event('parent', 3, childFailed), event('parent', 4, failedEvent())],
      metadata: { status: 'Failed', output: 'failed' },
    });
    const result = await t.provider.asManagement().resetInstance('parent', 2);
    t.expect(result.resetChildren).toHaveLength(1);
    t.expect(result.resetChildren[0]).toMatchObject({ instanceId: 'parent::sub::2', eventsArchived: 2, activities: 1 });
    t.expect(await t.provider.read('parent::sub::2')).toHaveLength(4);
    t.expect(await t.provider.asManagement().listInstancesByStatus('Failed')).toEqual([]);
    await t.takeWork(4);
  });

  check('AR-14', 'a child that never ran is started, one that has ended answers again', async (t) => {
    await t.create('parent', { events: [child('unborn'), child('sub::3')] });
    await t.createFinished('parent::sub::3', { parent: 'parent' });
    await t.poke('parent');
    await t.ack(await t.take('parent'), {
      historyDelta: numbered('parent', 1, 4, [scheduled(), failed(4), failedEvent()]),
      metadata: { status: 'Failed', output: 'failed' },
    });
    t.expect(await t.provider.asManagement().resetInstance('parent', 4)).toMatchObject({ children: 2, activities: 1 });
    const items = [await t.fetch(), await t.fetch()];
    const messages = items.flatMap((item) => item?.messages ?? []);
    t.expect(
      messages.find((message) => message.kind === 'StartOrchestration' && message.instance === 'unborn'),
    ).toEqual({
      kind: 'StartOrchestration',
      instance: 'unborn',
      orchestration: 'Child',
      input: '"in"',
      version: null,
      parentInstance: 'parent',
      parentId: 2,
      parentExecutionId: 1,
      executionId: 1,
    });
    t.expect(messages.find(({ kind }) => kind === 'SubOrchCompleted')).toEqual({
      kind: 'SubOrchCompleted',
      parentInstance: 'parent',
      parentExecutionId: 1,
      parentId: 3,
      result: '"done"',
    });
  });

  check('AR-15', 'a child that cannot be reset keeps its parent as it is', async (t) => {
    await t.create('parent', { events: [child('sub::2')] });
    await failedInstance(t, 'parent::sub::2', [scheduled(), failed(2)], 'parent');
    await t.poke('parent');
    await t.ack(await t.take('parent'), {
      historyDelta: [event('parent', 3, childFailed), event('parent', 4, failedEvent())],
      metadata: { status: 'Failed', output: 'failed' },
    });
    await t.sut.corruptHistory('parent::sub::2');
    await t.fails(t.provider.asManagement().resetInstance('parent', 2), /parent::sub::2 cannot be reset: its history/);
    t.expect(await t.provider.read('parent')).toHaveLength(4);
    t.expect(await t.provider.asManagement().getInstanceInfo('parent')).toMatchObject({ status: 'Failed' });
    await t.expectNothingReady();
  });

  check('AR-16', 'keys and custom status are as they were at the event that stays last', async (t) => {
    const x = await t.create('x');
    await x.turn({ events: [kvSet('old', 'first'), kvSet('kept', 'first')] });
    await x.continueAsNew();
    await x.startNext({
      events: [
        kvSet('mine', '1'),
        statusEvent('one'),
        scheduled(),
        kvSet('mine', '2'),
        kvSet('old', 'second'),
        statusEvent('two'),
        failed(4),
        failedEvent(),
      ],
      metadata: { status: 'Failed', output: 'failed' },
    });
    t.expect(Object.fromEntries(await t.provider.getKvAllValues('x'))).toEqual({
      old: 'second',
      kept: 'first',
      mine: '2',
    });
    await t.provider.asManagement().resetInstance('x', 4);
    t.expect(Object.fromEntries(await t.provider.getKvAllValues('x'))).toEqual({
      old: 'first',
      kept: 'first',
      mine: '1',
    });
    t.expect(await t.provider.getCustomStatus('x', 0)).toMatchObject({ status: 'one' });
    // The replay of the execution sets its own keys: it begins with those of executions before it.
    t.expect(snapshotValues(await t.take('x'))).toEqual({ old: 'first', kept: 'first' });
  });

  check('AR-17', 'refused when values before its execution cannot be told any more', async (t) => {
    const x = await t.create('x', { events: [kvSet('key', 'first')] });
    await x.continueAsNew();
    await x.startNext({
      events: [kvSet('key', 'second'), scheduled(), failed(3), failedEvent()],
      metadata: { status: 'Failed', output: 'failed' },
    });
    await t.provider.asManagement().pruneExecutions('x', { keepLast: 1 });
    await t.fails(t.provider.asManagement().resetInstance('x', 3), /histories of earlier executions are gone/);
    t.expect(await t.provider.getKvValue('x', 'key')).toBe('second');
  });

  check('AR-18', 'a reset instance can fail and be reset again', async (t) => {
    await failedInstance(t, 'x', [scheduled(), failed(2)]);
    for (let times = 0; times < 2; times++) {
      await t.provider.asManagement().resetInstance('x', 2);
      await t.takeWork(2).then((work) => t.ackWork(work));
      await t.ack(await t.take('x'), {
        historyDelta: numbered('x', 1, 3, [failed(2), failedEvent()]),
        metadata: { status: 'Failed', output: 'failed' },
      });
    }
    t.expect(kinds(await t.provider.read('x'))).toEqual([
      started().kind,
      'ActivityScheduled',
      'ActivityFailed',
      'OrchestrationFailed',
    ]);
  });

  check('AR-19', 'what was archived goes with its instance', async (t) => {
    await failedInstance(t, 'x', [scheduled(), failed(2)]);
    await failedInstance(t, 'y', [scheduled(), failed(2)]);
    const sql = t.need('sql');
    const archived = async () => (await sql('select instance_id from ddz_history_archive order by id')).length;
    await t.provider.asManagement().resetInstance('x', 2);
    await t.provider.asManagement().resetInstance('y', 2);
    t.expect(await archived()).toBe(4);
    await t.provider.asManagement().deleteInstance('x', true);
    t.expect(await archived()).toBe(2);
  });
});
