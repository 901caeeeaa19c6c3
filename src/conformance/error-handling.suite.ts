import { checkGroup } from './check.js';
import { event, raisedEvent, startedEvent, startItem } from './records.js';
import { LOCK_MS } from './trial.js';

export const errorHandling = checkGroup('error handling', (check) => {
  check('EH-1', 'an unknown token is refused by name', async (t) => {
    await t.fails(t.ack({ instance: 'x', lockToken: 'lock_unknown' }), /Invalid lock token/);
  });

  check('EH-2', 'an event id that is taken is refused and the stored event stays', async (t) => {
    const x = await t.create('x');
    await t.fails(t.ack(await x.pokeAndTake(), { historyDelta: [event('x', 1, raisedEvent('other'))] }));
    t.expect(await t.provider.read('x')).toEqual([startedEvent('x')]);
  });

  check('EH-3', 'an unknown instance has an empty history', async (t) => {
    t.expect(await t.provider.read('nobody')).toEqual([]);
  });

  check('EH-4', 'fetching from an empty queue is no error', async (t) => {
    await t.expectNothingReady();
    await t.expectNoWork();
  });

  check('EH-5', 'acknowledging after the lock ended is refused', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x', { lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS);
    await t.fails(t.ack(item, { historyDelta: [startedEvent('x')] }), /Invalid lock token/);
    t.expect(await t.provider.read('x')).toEqual([]);
  });
});
