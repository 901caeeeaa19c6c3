import { checkGroup } from './check.js';
import { statusEvent } from './records.js';

export const customStatus = checkGroup('custom status', (check) => {
  check('CS-1', 'a status that was set is readable with version 1', async (t) => {
    const x = await t.create('x');
    await x.turn({ events: [statusEvent('half way')] });
    t.expect(await t.provider.getCustomStatus('x', 0)).toEqual({ status: 'half way', version: 1 });
  });

  check('CS-2', 'a cleared status is null with the next version', async (t) => {
    const x = await t.create('x');
    await x.turn({ events: [statusEvent('half way')] });
    await x.turn({ events: [statusEvent(null)] });
    t.expect(await t.provider.getCustomStatus('x', 0)).toEqual({ status: null, version: 2 });
  });

  check('CS-3', 'a turn without a status keeps value and version', async (t) => {
    const x = await t.create('x');
    await x.turn({ events: [statusEvent('half way')] });
    await x.turn();
    t.expect(await t.provider.getCustomStatus('x', 0)).toEqual({ status: 'half way', version: 1 });
  });

  check('CS-4', 'the version grows by one per turn that changes the status', async (t) => {
    const x = await t.create('x');
    const versions: unknown[] = [];
    for (const events of [
      [statusEvent('a')],
      // Several changes in one turn are one change: the last.
      [statusEvent('b'), statusEvent(null), statusEvent('c')],
      [statusEvent(null)],
    ]) {
      await x.turn({ events });
      versions.push(await t.provider.getCustomStatus('x', 0));
    }
    t.expect(versions).toEqual([
      { status: 'a', version: 1 },
      { status: 'c', version: 2 },
      { status: null, version: 3 },
    ]);
  });

  check('CS-5', 'polling with the current version answers nothing, with a lower one the value', async (t) => {
    const x = await t.create('x');
    await x.turn({ events: [statusEvent('a')] });
    await x.turn({ events: [statusEvent('b')] });
    t.expect(await t.provider.getCustomStatus('x', 2)).toBeNull();
    t.expect(await t.provider.getCustomStatus('x', 1)).toEqual({ status: 'b', version: 2 });
  });

  check('CS-6', 'an unknown instance has no status', async (t) => {
    t.expect(await t.provider.getCustomStatus('nobody', 0)).toBeNull();
  });

  check('CS-7', 'a fresh instance has nothing to report', async (t) => {
    await t.create('x');
    t.expect(await t.provider.getCustomStatus('x', 0)).toBeNull();
  });
});
