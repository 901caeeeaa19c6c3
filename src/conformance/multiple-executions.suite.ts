import type { EventBody } from '../wire/event.js';
import { checkGroup } from './check.js';
import { continueAsNewItem, event, ids, raisedEvent, started, startItem } from './records.js';
import type { Trial } from './trial.js';

/** Acknowledges a turn of an execution without name and version, so that no instance row comes to be. */
async function nameless(t: Trial, executionId: number, ...bodies: EventBody[]): Promise<void> {
  await t.enqueue(startItem('x'));
  await t.ack(await t.take('x'), {
    executionId,
    historyDelta: bodies.map((body, index) => event('x', index + 1, body, executionId)),
  });
}

export const multipleExecutions = checkGroup('multiple executions', (check) => {
  check('MX-1', 'each execution has its own history, and reading means the newest', async (t) => {
    await nameless(t, 1, started(), raisedEvent('one'));
    await nameless(t, 2, started(), raisedEvent('two'));
    const second = [event('x', 1, started(), 2), event('x', 2, raisedEvent('two'), 2)];
    t.expect(await t.provider.readWithExecution('x', 1)).toEqual([
      event('x', 1, started()),
      event('x', 2, raisedEvent('one')),
    ]);
    t.expect(await t.provider.readWithExecution('x', 2)).toEqual(second);
    t.expect(await t.provider.read('x')).toEqual(second);
    t.expect(await t.provider.readWithExecution('x', 3)).toEqual([]);
  });

  check('MX-2', 'the newest execution is found without an instance row', async (t) => {
    await nameless(t, 1, started());
    await nameless(t, 2, started(), raisedEvent('two'));
    t.expect(await t.provider.read('x')).toHaveLength(2);
    t.expect(await t.provider.readWithExecution('x', 1)).toHaveLength(1);
    t.expect(await t.provider.asManagement().listInstances()).toEqual([]);
  });

  check('MX-3', 'a fetch reports the execution that was acknowledged last', async (t) => {
    const x = await t.create('x');
    await x.reach(2);
    await t.enqueue(startItem('x', { executionId: 1 }));
    t.expect((await t.take('x')).executionId).toBe(2);
  });

  check('MX-4', 'a message that continues as new begins the next execution', async (t) => {
    const x = await t.create('x');
    await x.continueAsNew();
    const item = await t.take('x');
    t.expect(item.messages).toEqual([continueAsNewItem('x')]);
    await x.commitFirst(item);
    const admin = t.provider.asManagement();
    t.expect(await admin.latestExecutionId('x')).toBe(2);
    t.expect(await admin.listExecutions('x')).toEqual([1, 2]);
    t.expect(await admin.getExecutionInfo('x', 1)).toMatchObject({ status: 'ContinuedAsNew' });
    t.expect(await admin.getInstanceInfo('x')).toMatchObject({ currentExecutionId: 2, status: 'Running' });
  });

  check('MX-5', 'histories of earlier executions stay readable', async (t) => {
    const x = await t.create('x', { events: ids('one', 1).map(raisedEvent) });
    await x.continueAsNew();
    await x.startNext({ events: ids('two', 2).map(raisedEvent) });
    await x.continueAsNew();
    await x.startNext({ events: ids('three', 3).map(raisedEvent) });
    const lengths = await Promise.all([1, 2, 3].map(async (n) => (await t.provider.readWithExecution('x', n)).length));
    // Start and own events; the first two also have the event that ends them.
    t.expect(lengths).toEqual([3, 4, 4]);
    t.expect(await t.provider.read('x')).toEqual(await t.provider.readWithExecution('x', 3));
    t.expect(await t.provider.asManagement().readHistory('x')).toEqual(await t.provider.read('x'));
    t.expect(await t.provider.asManagement().readHistoryWithExecutionId('x', 1)).toHaveLength(3);
  });
});
