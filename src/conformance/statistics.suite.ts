import { utf8Length } from '../base/text.js';
import { encodeEvent } from '../wire/event.js';
import { checkGroup } from './check.js';
import { kvCleared, kvSet, raisedEvent } from './records.js';

export const statistics = checkGroup('instance statistics', (check) => {
  check('ST-1', 'an unknown instance has no statistics', async (t) => {
    t.expect(await t.provider.getInstanceStats('nobody')).toBeNull();
  });

  check('ST-2', 'events and bytes are those of the current execution', async (t) => {
    const x = await t.create('x', { events: [raisedEvent('one'), raisedEvent('two')] });
    await x.continueAsNew();
    await x.startNext({ events: [raisedEvent('größer 😀')] });
    const events = await t.provider.read('x');
    t.expect(await t.provider.getInstanceStats('x')).toMatchObject({
      historyEventCount: 2,
      historySizeBytes: events.reduce((sum, one) => sum + utf8Length(encodeEvent(one)), 0),
    });
  });

  check('ST-3', 'after completion the keys and bytes are those of the store', async (t) => {
    await t.createFinished('x', { events: [kvSet('a', '12345'), kvSet('b', 'é')] });
    t.expect(await t.provider.getInstanceStats('x')).toMatchObject({ kvUserKeyCount: 2, kvTotalValueBytes: 7 });
  });

  check('ST-4', 'pending are the messages carried into the execution', async (t) => {
    await t.create('x', {
      start: {
        carryForwardEvents: [
          ['mailbox', '1'],
          ['mailbox', '2'],
          ['other', '3'],
        ],
      },
    });
    t.expect(await t.provider.getInstanceStats('x')).toMatchObject({ queuePendingCount: 3 });
    await t.create('y');
    t.expect(await t.provider.getInstanceStats('y')).toMatchObject({ queuePendingCount: 0 });
  });

  check('ST-5', 'keys of the running execution are counted', async (t) => {
    await t.create('x', { events: [kvSet('a', '123'), kvSet('b', '45')] });
    t.expect(await t.provider.getInstanceStats('x')).toMatchObject({ kvUserKeyCount: 2, kvTotalValueBytes: 5 });
  });

  check('ST-6', 'stored and running values are summed as native does, hidden ones included', async (t) => {
    const x = await t.create('x', { events: [kvSet('a', '12345')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvCleared('a'), kvSet('b', '12')] });
    t.expect(await t.provider.getInstanceStats('x')).toMatchObject({ kvUserKeyCount: 2, kvTotalValueBytes: 7 });
  });
});
