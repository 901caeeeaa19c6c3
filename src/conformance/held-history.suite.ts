import type { HeldInstance } from '../provider/provider.js';
import { encodeEvent } from '../wire/event.js';
import { checkGroup } from './check.js';
import { event, kvSet, raisedEvent, started } from './records.js';
import type { Trial } from './trial.js';

/** Fetches `x` for a caller that holds it up to an event, and gives it back. */
async function fetchHeld(t: Trial, held: HeldInstance) {
  const item = await t.take('x', { held: (instance) => (instance === 'x' ? held : undefined) });
  const loaded = await t.provider.loadHistory(item);
  await t.abandon(item);
  return { item, loaded };
}

export const heldHistory = checkGroup('held history', (check) => {
  check(
    'XR-11',
    'a held instance is answered with what follows, and a new life is told from the old one',
    async (t) => {
      const bodies = [started(), kvSet('k', 'v'), raisedEvent('three')];
      await t.create('x', { events: bodies.slice(1) });
      await t.poke('x');
      const stored = bodies.map((body, index) => event('x', index + 1, body));
      const second = await fetchHeld(t, { executionId: 1, lastEventId: 2 });
      t.expect(second.loaded.events).toEqual(stored);
      t.expect(second.loaded.historyError).toBeUndefined();
      if (!t.sut.answersTails) {
        t.expect(second.item.history).toEqual({ kind: 'full', events: stored });
        return;
      }
      t.expect(second.item.history).toEqual({
        kind: 'tail',
        heldText: encodeEvent(event('x', 2, kvSet('k', 'v'))),
        events: [event('x', 3, raisedEvent('three'))],
      });
      t.expect(second.item.kvSnapshot).toBeUndefined();
      t.expect((await fetchHeld(t, { executionId: 1, lastEventId: 3 })).item.history).toEqual({
        kind: 'tail',
        heldText: encodeEvent(event('x', 3, raisedEvent('three'))),
        events: [],
      });
      // Another execution than the held one: nothing fits, so everything is loaded.
      t.expect((await fetchHeld(t, { executionId: 2, lastEventId: 1 })).item.history).toEqual({
        kind: 'full',
        events: stored,
      });

      await t.provider.asManagement().deleteInstance('x', true);
      await t.create('x', { events: [raisedEvent('another life')] });
      await t.poke('x');
      t.expect((await fetchHeld(t, { executionId: 1, lastEventId: 2 })).item.history).toEqual({
        kind: 'tail',
        heldText: encodeEvent(event('x', 2, raisedEvent('another life'))),
        events: [],
      });
      t.expect((await fetchHeld(t, { executionId: 1, lastEventId: 3 })).item.history).toEqual({
        kind: 'tail',
        heldText: null,
        events: [],
      });
    },
  );
});
