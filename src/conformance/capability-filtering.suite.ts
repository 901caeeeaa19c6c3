import { checkGroup } from './check.js';
import { event, failedEvent, semVer, versions } from './records.js';
import type { TestInstance } from './test-instance.js';
import type { Trial } from './trial.js';
import { eventsOf, LOCK_MS } from './trial.js';

/** An instance pinned at a version, ready for a turn. */
async function pinned(t: Trial, instance: string, version?: string): Promise<TestInstance> {
  const created = await t.create(instance, {
    metadata: version === undefined ? {} : { pinnedDuroxideVersion: semVer(version) },
  });
  return created;
}

async function pinnedAndPoked(t: Trial, instance: string, version?: string): Promise<TestInstance> {
  const created = await pinned(t, instance, version);
  await t.poke(instance);
  return created;
}

const ones = versions(['1.0.0', '1.9.99']);
const twos = versions(['2.0.0', '2.9.99']);

export const capabilityFiltering = checkGroup('capability filtering', (check) => {
  check('CF-1', 'without a filter any pinned version is returned', async (t) => {
    await pinnedAndPoked(t, 'x', '99.0.0');
    await t.take('x');
  });

  check('CF-2', 'a version inside the range is returned', async (t) => {
    await pinnedAndPoked(t, 'x', '1.2.3');
    await t.take('x', { filter: versions(['1.0.0', '1.9.9']) });
  });

  check('CF-3', 'a version outside the range is skipped', async (t) => {
    await pinnedAndPoked(t, 'x', '1.2.3');
    await t.expectNothingReady({ filter: versions(['2.0.0', '2.9.9']) });
  });

  check('CF-4', 'each range gets its own instance', async (t) => {
    await pinned(t, 'one', '1.0.0');
    await pinned(t, 'two', '2.0.0');
    await t.poke('one');
    await t.poke('two');
    await t.take('two', { filter: twos });
    await t.take('one', { filter: ones });
  });

  check('CF-5', 'a skipped instance is not locked', async (t) => {
    await pinnedAndPoked(t, 'x', '1.0.0');
    await t.expectNothingReady({ filter: twos });
    await t.take('x', { filter: ones });
  });

  check('CF-6', 'an execution without a pin fits every range', async (t) => {
    await pinnedAndPoked(t, 'x');
    await t.take('x', { filter: versions(['5.0.0', '5.0.1']) });
  });

  check('CF-7', 'both ends of a range are inside', async (t) => {
    for (const [id, version] of [
      ['low', '1.0.0'],
      ['high', '1.9.99'],
      ['over', '2.0.0'],
    ] as const) {
      await pinned(t, id, version);
    }
    for (const id of ['over', 'low', 'high']) await t.poke(id);
    await t.take('low', { filter: ones });
    await t.take('high', { filter: ones });
    await t.expectNothingReady({ filter: ones });
    await t.take('over');
  });

  check('CF-8', 'the pin of the metadata is what the filter sees', async (t) => {
    await pinnedAndPoked(t, 'x', '3.4.5');
    await t.expectNothingReady({ filter: versions(['3.4.6', '3.9.9']) });
    await t.expectNothingReady({ filter: versions(['3.0.0', '3.4.4']) });
    await t.take('x', { filter: versions(['3.4.5', '3.4.5']) });
  });

  check('CF-9', 'a turn without a pin keeps the stored one', async (t) => {
    const x = await pinned(t, 'x', '1.2.3');
    await x.turn();
    await t.poke('x');
    await t.expectNothingReady({ filter: twos });
    await t.take('x', { filter: ones });
  });

  check('CF-10', 'each execution has its own pin', async (t) => {
    const x = await pinned(t, 'x', '1.0.0');
    await x.continueAsNew();
    await x.startNext({ metadata: { pinnedDuroxideVersion: semVer('2.0.0') } });
    await t.poke('x');
    await t.expectNothingReady({ filter: ones });
    await t.take('x', { filter: twos });
  });

  check('CF-11', 'an empty list of ranges matches nothing', async (t) => {
    await pinnedAndPoked(t, 'x');
    await t.expectNothingReady({ filter: { ranges: [] } });
  });

  check('CF-12', 'a filtered fetch does not return a locked instance', async (t) => {
    await pinnedAndPoked(t, 'x', '1.0.0');
    await t.take('x', { filter: ones });
    await t.expectNothingReady({ filter: ones });
  });

  check('CF-13', 'a pin given on a later turn is stored', async (t) => {
    const x = await pinned(t, 'x');
    await x.turn({ metadata: { pinnedDuroxideVersion: semVer('1.5.0') } });
    await t.poke('x');
    await t.expectNothingReady({ filter: twos });
    await t.take('x', { filter: ones });
  });

  check('CF-14', 'a second pin replaces the first', async (t) => {
    const x = await pinned(t, 'x', '1.0.0');
    await x.turn({ metadata: { pinnedDuroxideVersion: semVer('2.0.0') } });
    await t.poke('x');
    await t.expectNothingReady({ filter: ones });
    await t.take('x', { filter: twos });
  });

  check('CF-15', 'an unreadable history is reported to those whose filter fits, and to no others', async (t) => {
    await pinned(t, 'x', '1.0.0');
    await t.sut.corruptHistory('x');
    await t.poke('x');
    await t.expectNothingReady({ filter: twos });
    const item = await t.take('x');
    t.expect(item.historyError).toMatch(/^Failed to deserialize history: /);
    t.expect(eventsOf(item)).toEqual([]);
  });

  check('CF-16', 'a fetch of an unreadable history counts as an attempt', async (t) => {
    await pinned(t, 'x');
    await t.sut.corruptHistory('x');
    await t.poke('x');
    for (let cycle = 0; cycle < 2; cycle++) await t.abandon(await t.take('x'));
    t.expect(await t.sut.highestAttemptCount('x')).toBeGreaterThanOrEqual(2);
  });

  check('CF-17', 'attempts on an unreadable history add up, so that it reaches the poison limit', async (t) => {
    await pinned(t, 'x');
    await t.sut.corruptHistory('x');
    await t.poke('x');
    for (let cycle = 1; cycle <= 5; cycle++) {
      const item = await t.take('x', { lockTimeoutMs: LOCK_MS });
      t.expect(item.historyError).toMatch(/./);
      t.expect(item.attemptCount).toBe(cycle);
      await t.abandon(item);
    }
    t.expect(await t.sut.highestAttemptCount('x')).toBeGreaterThanOrEqual(5);
  });

  check('CF-18', 'the filter is applied before the history is read', async (t) => {
    await pinned(t, 'x', '99.0.0');
    await t.sut.corruptHistory('x');
    await t.poke('x');
    await t.expectNothingReady({ filter: ones });
    t.expect((await t.take('x')).historyError).toMatch(/./);
  });

  check('CF-19', 'of several ranges only the first is used', async (t) => {
    await pinned(t, 'one', '1.0.0');
    await pinned(t, 'two', '2.0.0');
    await t.poke('two');
    await t.poke('one');
    const filter = versions(['1.0.0', '1.9.99'], ['2.0.0', '2.9.99']);
    await t.take('one', { filter });
    await t.expectNothingReady({ filter });
  });

  check('CF-20', 'an instance with an unreadable history can be failed', async (t) => {
    await pinned(t, 'x');
    await t.sut.corruptHistory('x');
    await t.poke('x');
    await t.ack(await t.take('x'), {
      historyDelta: [event('x', 99_999, failedEvent('unreadable'))],
      metadata: { status: 'Failed', output: 'unreadable' },
    });
    t.expect(await t.provider.asManagement().getInstanceInfo('x')).toMatchObject({
      status: 'Failed',
      output: 'unreadable',
    });
  });
});
