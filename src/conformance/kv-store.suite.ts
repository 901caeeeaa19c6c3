import { checkGroup } from './check.js';
import { completedEvent, kvAllCleared, kvCleared, kvSet } from './records.js';
import type { Trial } from './trial.js';
import { snapshotValues } from './trial.js';

/** All values as clients read them. */
async function values(t: Trial, instance = 'x'): Promise<Record<string, string>> {
  return Object.fromEntries(await t.provider.getKvAllValues(instance));
}

/** The snapshot that the next turn of the instance gets. */
async function nextSnapshot(t: Trial, instance = 'x'): Promise<Record<string, string>> {
  await t.poke(instance);
  return snapshotValues(await t.take(instance));
}

export const kvStore = checkGroup('key-value store', (check) => {
  check('KV-1', 'a value that was set is readable', async (t) => {
    await t.create('x', { events: [kvSet('k', 'v')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('v');
    t.expect(await values(t)).toEqual({ k: 'v' });
  });

  check('KV-2', 'a later value replaces an earlier one, in one turn and across turns', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'a'), kvSet('k', 'b')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('b');
    await x.turn({ events: [kvSet('k', 'c')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('c');
  });

  check('KV-3', 'a cleared key is gone', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'v'), kvSet('other', 'o')] });
    await x.turn({ events: [kvCleared('k')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBeNull();
    t.expect(await values(t)).toEqual({ other: 'o' });
  });

  check('KV-4', 'clearing all removes every key', async (t) => {
    const x = await t.create('x', { events: [kvSet('a', '1'), kvSet('b', '2')] });
    await x.turn({ events: [kvAllCleared] });
    t.expect(await values(t)).toEqual({});
    t.expect(await t.provider.getKvValue('x', 'a')).toBeNull();
  });

  check('KV-5', 'an unknown key has no value', async (t) => {
    await t.create('x');
    t.expect(await t.provider.getKvValue('x', 'k')).toBeNull();
  });

  check('KV-6', 'a fetch carries the values of finished executions, with their stamps', async (t) => {
    await t.createFinished('x', { events: [kvSet('k', 'v', 1_234)] });
    await t.poke('x');
    const item = await t.take('x');
    t.expect([...(item.kvSnapshot ?? [])]).toEqual([['k', { value: 'v', lastUpdatedAtMs: 1_234 }]]);
  });

  check('KV-7', 'a key cleared before the end is not in the snapshot', async (t) => {
    const x = await t.create('x', { events: [kvSet('a', '1'), kvSet('b', '2')] });
    await x.complete({ events: [kvCleared('a')] });
    t.expect(await nextSnapshot(t)).toEqual({ b: '2' });
  });

  check('KV-8', 'after clearing all before the end the snapshot is empty', async (t) => {
    const x = await t.create('x', { events: [kvSet('a', '1'), kvSet('b', '2')] });
    await x.complete({ events: [kvAllCleared] });
    t.expect(await nextSnapshot(t)).toEqual({});
  });

  check('KV-9', 'a key set in two executions survives the pruning of the first', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'one')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvSet('k', 'two')] });
    await x.complete();
    await t.provider.asManagement().pruneExecutions('x', { keepLast: 1 });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('two');
  });

  check('KV-10', 'readers see the value of the newest execution', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'one')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvSet('k', 'two')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('two');
    await x.complete();
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('two');
  });

  check('KV-11', 'a key can be removed in one execution and set again in the next', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'one')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvCleared('k')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBeNull();
    await x.continueAsNew();
    await x.startNext({ events: [kvSet('k', 'three')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('three');
  });

  check('KV-12', 'pruning keeps a key that a later execution overwrote', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'one')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvSet('k', 'two')] });
    await x.continueAsNew();
    await x.startNext();
    await t.provider.asManagement().pruneExecutions('x', { keepLast: 1 });
    t.expect(await values(t)).toEqual({ k: 'two' });
  });

  check('KV-13', 'pruning keeps keys that only the pruned execution set', async (t) => {
    const x = await t.create('x', { events: [kvSet('only-first', 'one')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvSet('second', 'two')] });
    await t.provider.asManagement().pruneExecutions('x', { keepLast: 1 });
    t.expect(await values(t)).toEqual({ 'only-first': 'one', second: 'two' });
  });

  check('KV-14', 'one key in two instances holds two values', async (t) => {
    await t.create('x', { events: [kvSet('k', 'of x')] });
    await t.create('y', { events: [kvSet('k', 'of y')] });
    t.expect([await t.provider.getKvValue('x', 'k'), await t.provider.getKvValue('y', 'k')]).toEqual(['of x', 'of y']);
  });

  check('KV-15', 'deleting an instance removes its keys', async (t) => {
    await t.createFinished('x', { events: [kvSet('k', 'v')] });
    await t.provider.asManagement().deleteInstance('x', false);
    t.expect(await values(t)).toEqual({});
    await t.create('x');
    t.expect(await t.provider.getKvValue('x', 'k')).toBeNull();
  });

  check('KV-16', 'clearing an unknown key succeeds', async (t) => {
    const x = await t.create('x');
    await x.turn({ events: [kvCleared('k')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBeNull();
  });

  check('KV-17', 'an unknown instance has no values', async (t) => {
    t.expect(await t.provider.getKvValue('nobody', 'k')).toBeNull();
    t.expect(await values(t, 'nobody')).toEqual({});
  });

  check('KV-18', 'a key set after clearing all in one turn is the only one', async (t) => {
    const x = await t.create('x', { events: [kvSet('old', '1')] });
    await x.turn({ events: [kvSet('lost', '2'), kvAllCleared, kvSet('new', '3')] });
    t.expect(await values(t)).toEqual({ new: '3' });
  });

  check('KV-19', 'the empty string is a value', async (t) => {
    await t.create('x', { events: [kvSet('k', '')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('');
  });

  check('KV-20', 'a large value comes back unchanged', async (t) => {
    const large = 'x'.repeat(16 * 1024);
    await t.create('x', { events: [kvSet('k', large)] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe(large);
  });

  check('KV-21', 'keys may hold any characters', async (t) => {
    const odd = ['with space', 'ключ', '鍵', 'a.b.c', 'a/b', '🔑', `it's "quoted"`, '%_\\'];
    await t.createFinished('x', { events: odd.map((key) => kvSet(key, `value of ${key}`)) });
    const expected = Object.fromEntries(odd.map((key) => [key, `value of ${key}`]));
    for (const key of odd) t.expect(await t.provider.getKvValue('x', key)).toBe(`value of ${key}`);
    t.expect(await values(t)).toEqual(expected);
    t.expect(await nextSnapshot(t)).toEqual(expected);
  });

  check('KV-22', 'an instance without values has an empty snapshot', async (t) => {
    await t.create('x');
    await t.poke('x');
    t.expect((await t.take('x')).kvSnapshot?.size).toBe(0);
  });

  check('KV-23', 'the snapshot has the values of the previous execution, not those of the running one', async (t) => {
    const x = await t.create('x', { events: [kvSet('one', '1')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvSet('two', '2')] });
    t.expect(await nextSnapshot(t)).toEqual({ one: '1' });
  });

  check('KV-24', 'pruning an instance of one execution keeps its keys', async (t) => {
    await t.createFinished('x', { events: [kvSet('k', 'v')] });
    await t.provider.asManagement().pruneExecutions('x', { keepLast: 0 });
    t.expect(await values(t)).toEqual({ k: 'v' });
  });

  check('KV-25', 'deleting a parent removes the keys of its children', async (t) => {
    await t.createFinished('parent', { events: [kvSet('k', 'p')] });
    await t.createFinished('kid', { parent: 'parent', events: [kvSet('k', 'c')] });
    await t.provider.asManagement().deleteInstance('parent', false);
    t.expect([await values(t, 'parent'), await values(t, 'kid')]).toEqual([{}, {}]);
  });

  check('KV-26', 'clearing all in one instance leaves the others', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'of x')] });
    await t.create('y', { events: [kvSet('k', 'of y')] });
    await x.turn({ events: [kvAllCleared] });
    t.expect([await values(t, 'x'), await values(t, 'y')]).toEqual([{}, { k: 'of y' }]);
  });

  check('KV-27', 'a value of the running execution is readable, but not in the snapshot', async (t) => {
    await t.create('x', { events: [kvSet('k', 'v')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('v');
    t.expect(await nextSnapshot(t)).toEqual({});
  });

  check('KV-28', 'after continuing as new the snapshot has the values of the execution that ended', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'v')] });
    await x.continueAsNew();
    t.expect(snapshotValues(await t.take('x'))).toEqual({ k: 'v' });
  });

  check('KV-29', 'readers see the running execution over what is stored', async (t) => {
    const x = await t.create('x', { events: [kvSet('both', 'old'), kvSet('stored', 's')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvSet('both', 'new'), kvSet('fresh', 'f')] });
    t.expect(await values(t)).toEqual({ both: 'new', stored: 's', fresh: 'f' });
    for (const [key, value] of [
      ['both', 'new'],
      ['stored', 's'],
      ['fresh', 'f'],
    ] as const) {
      t.expect(await t.provider.getKvValue('x', key)).toBe(value);
    }
  });

  check('KV-30', 'a key cleared by the running execution reads as absent although stored', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'v')] });
    await x.continueAsNew();
    await x.startNext({ events: [kvCleared('k')] });
    t.expect(await t.provider.getKvValue('x', 'k')).toBeNull();
    t.expect(await values(t)).toEqual({});
    t.expect(await nextSnapshot(t)).toEqual({ k: 'v' });
  });

  check(
    'KV-31',
    'clearing all in the running execution hides what is stored, not what is set afterwards',
    async (t) => {
      const x = await t.create('x', { events: [kvSet('a', '1'), kvSet('b', '2')] });
      await x.continueAsNew();
      await x.startNext({ events: [kvSet('c', '3'), kvAllCleared] });
      t.expect(await values(t)).toEqual({});
      await x.turn({ events: [kvSet('b', 'again')] });
      t.expect(await values(t)).toEqual({ b: 'again' });
      await x.complete();
      t.expect(await nextSnapshot(t)).toEqual({ b: 'again' });
    },
  );

  check('KV-32', 'completion keeps the values', async (t) => {
    const x = await t.create('x', { events: [kvSet('k', 'v')] });
    await x.complete();
    t.expect(await t.provider.getKvValue('x', 'k')).toBe('v');
  });

  check('KV-33', 'continuing as new carries the last value of each key', async (t) => {
    const x = await t.create('x', { events: [kvSet('a', '1'), kvSet('b', '1')] });
    await x.turn({ events: [kvSet('a', '2')] });
    await x.continueAsNew({ events: [kvSet('a', '3')] });
    t.expect(snapshotValues(await t.take('x'))).toEqual({ a: '3', b: '1' });
  });

  check('KV-34', 'deleting by force removes the values of the running execution', async (t) => {
    await t.create('x', { events: [kvSet('k', 'v')] });
    await t.provider.asManagement().deleteInstance('x', true);
    t.expect(await values(t)).toEqual({});
    await t.create('x', { events: [completedEvent()], metadata: { status: 'Completed', output: '"done"' } });
    t.expect(await nextSnapshot(t)).toEqual({});
  });

  check(
    'KV-35',
    'a key of the first execution outlives the pruning of all executions before the current',
    async (t) => {
      const x = await t.create('x', { events: [kvSet('first', '1')] });
      await x.continueAsNew();
      await x.startNext({ events: [kvSet('second', '2')] });
      await x.continueAsNew();
      await x.startNext();
      await t.provider.asManagement().pruneExecutions('x', { keepLast: 1 });
      t.expect(await values(t)).toEqual({ first: '1', second: '2' });
      t.expect(await nextSnapshot(t)).toEqual({ first: '1', second: '2' });
    },
  );
});
