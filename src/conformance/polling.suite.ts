import { checkGroup } from './check.js';
import { startItem } from './records.js';
import type { Trial } from './trial.js';

/** The promise is answered although the clock stands still and nobody waits on it. */
async function answeredAtOnce(t: Trial, promise: Promise<unknown>): Promise<void> {
  const before = t.clock.nowMs();
  t.expect(await promise).toBeNull();
  t.expect(t.clock.nowMs()).toBe(before);
  t.expect(t.clock.sleeping).toBe(0);
}

// LP-2 and LP-5 are for providers that wait for work inside a fetch; the contract knows none.
export const polling = checkGroup('polling', (check) => {
  check('LP-1', 'a fetch from an empty orchestrator queue is answered at once', async (t) => {
    await answeredAtOnce(t, t.fetch());
  });

  check('LP-3', 'a fetch does not wait for work that is due later', async (t) => {
    await t.enqueue(startItem('x'), 200);
    await answeredAtOnce(t, t.fetch());
    t.clock.advance(200);
    await t.take('x');
  });

  check('LP-4', 'a fetch from an empty worker queue is answered at once', async (t) => {
    await answeredAtOnce(t, t.fetchWork());
  });
});
