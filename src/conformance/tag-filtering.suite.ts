import type { TagFilter } from '../provider/provider.js';
import { checkGroup } from './check.js';
import { activityItem } from './records.js';
import type { Trial } from './trial.js';
import { LOCK_MS } from './trial.js';

const tags = (...names: string[]): { tagFilter: TagFilter } => ({ tagFilter: { kind: 'tags', tags: names } });
const defaultAnd = (...names: string[]): { tagFilter: TagFilter } => ({
  tagFilter: { kind: 'defaultAnd', tags: names },
});
const any: { tagFilter: TagFilter } = { tagFilter: { kind: 'any' } };

/** Activities 1 (untagged), 2 (`gpu`), 3 (`cpu`), 4 (untagged). */
const fourItems = [
  activityItem('x', 1),
  activityItem('x', 2, { tag: 'gpu' }),
  activityItem('x', 3, { tag: 'cpu' }),
  activityItem('x', 4),
];

/** Takes these activities in order, and then there is nothing more. */
async function takesExactly(t: Trial, filter: { tagFilter: TagFilter }, ...activityIds: number[]): Promise<void> {
  for (const id of activityIds) await t.takeWork(id, filter);
  await t.expectNoWork(filter);
}

export const tagFiltering = checkGroup('tag filtering', (check) => {
  check('TF-1', 'the default filter takes only what has no tag', async (t) => {
    await t.schedule(...fourItems);
    await takesExactly(t, { tagFilter: { kind: 'defaultOnly' } }, 1, 4);
  });

  check('TF-2', 'a tag takes only what carries it', async (t) => {
    await t.schedule(...fourItems);
    await takesExactly(t, tags('gpu'), 2);
  });

  check('TF-3', 'the default with a tag takes both and nothing else', async (t) => {
    await t.schedule(...fourItems);
    await takesExactly(t, defaultAnd('gpu'), 1, 2, 4);
  });

  check('TF-4', 'no filter at all takes nothing', async (t) => {
    await t.schedule(...fourItems);
    await t.expectNoWork({ tagFilter: { kind: 'none' } });
    await t.takeWork(1, any);
  });

  check('TF-5', 'several tags take what carries one of them', async (t) => {
    await t.schedule(...fourItems, activityItem('x', 5, { tag: 'disk' }));
    await takesExactly(t, tags('gpu', 'disk'), 2, 5);
  });

  check('TF-6', 'the tag stands on the fetched item', async (t) => {
    await t.schedule(activityItem('x', 2, { tag: 'gpu' }));
    t.expect((await t.takeWork(2, tags('gpu'))).item).toEqual(activityItem('x', 2, { tag: 'gpu' }));
  });

  check('TF-7', 'any takes everything', async (t) => {
    await t.schedule(...fourItems);
    await takesExactly(t, any, 1, 2, 3, 4);
  });

  check('TF-8', 'an abandoned item keeps its tag', async (t) => {
    await t.schedule(activityItem('x', 2, { tag: 'gpu' }));
    await t.abandonWork(await t.takeWork(2, tags('gpu')));
    await t.expectNoWork();
    const again = await t.takeWork(2, tags('gpu'));
    t.expect(again.item).toMatchObject({ tag: 'gpu' });
    t.expect(again.attemptCount).toBe(2);
  });

  check('TF-9', 'several runtimes share one queue by their tags', async (t) => {
    await t.schedule(...fourItems, activityItem('x', 5, { tag: 'gpu' }), activityItem('x', 6, { tag: 'disk' }));
    await t.takeWork(2, { ...tags('gpu'), lockTimeoutMs: LOCK_MS });
    await t.takeWork(3, tags('cpu', 'disk'));
    await takesExactly(t, tags('gpu', 'cpu'), 5);
    await takesExactly(t, defaultAnd('cpu', 'gpu'), 1, 4);
    await takesExactly(t, any, 6);
    t.clock.advance(LOCK_MS);
    await takesExactly(t, tags('gpu', 'cpu', 'disk'), 2);
  });

  check('TF-10', 'tags of activities scheduled by a turn are stored', async (t) => {
    await t.create('x', { workerItems: [activityItem('x', 2, { tag: 'gpu' }), activityItem('x', 3)] });
    await takesExactly(t, { tagFilter: { kind: 'defaultOnly' } }, 3);
    t.expect((await t.takeWork(2, tags('gpu'))).item).toMatchObject({ tag: 'gpu' });
  });
});
