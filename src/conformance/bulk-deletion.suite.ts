import { checkGroup } from './check.js';
import { ids } from './records.js';

export const bulkDeletion = checkGroup('bulk deletion', (check) => {
  check('BD-1', 'a list deletes exactly its members, an empty filter all that are finished', async (t) => {
    const admin = t.provider.asManagement();
    for (const id of ids('done', 3)) await t.createFinished(id);
    t.expect(await admin.deleteInstanceBulk({ instanceIds: ['done-0', 'done-1'] })).toMatchObject({
      instancesDeleted: 2,
    });
    t.expect(await admin.listInstances()).toEqual(['done-2']);
    t.expect(await admin.deleteInstanceBulk({ instanceIds: ['nobody'] })).toMatchObject({ instancesDeleted: 0 });
    t.expect(await admin.deleteInstanceBulk({ instanceIds: [] })).toMatchObject({ instancesDeleted: 0 });
    t.expect(await admin.listInstances()).toEqual(['done-2']);
    t.expect(await admin.deleteInstanceBulk({})).toMatchObject({ instancesDeleted: 1 });
    t.expect(await admin.listInstances()).toEqual([]);
  });

  check('BD-2', 'running instances are skipped, the limit bounds one call', async (t) => {
    const admin = t.provider.asManagement();
    await t.create('running-0');
    await t.create('running-1');
    for (const id of ids('done', 4)) await t.createFinished(id);
    t.expect(await admin.deleteInstanceBulk({ instanceIds: ['running-0', 'running-1'] })).toMatchObject({
      instancesDeleted: 0,
    });
    const deleted: number[] = [];
    for (let call = 0; call < 3; call++) {
      deleted.push((await admin.deleteInstanceBulk({ limit: 2 })).instancesDeleted);
    }
    t.expect(deleted).toEqual([2, 2, 0]);
    t.expect((await admin.listInstances()).sort()).toEqual(['running-0', 'running-1']);
  });

  check('BD-3', 'the cut-off is compared with the completion time, strictly', async (t) => {
    const admin = t.provider.asManagement();
    await t.createFinished('a');
    await t.createFinished('b');
    const completedAtMs = t.clock.nowMs();
    t.clock.advance(1_000);
    const instanceIds = ['a', 'b'];
    t.expect(await admin.deleteInstanceBulk({ instanceIds, completedBeforeMs: completedAtMs })).toMatchObject({
      instancesDeleted: 0,
    });
    t.expect(await admin.deleteInstanceBulk({ instanceIds, completedBeforeMs: completedAtMs + 1 })).toMatchObject({
      instancesDeleted: 2,
    });
  });

  check('BD-4', 'children go with their root', async (t) => {
    const admin = t.provider.asManagement();
    const children = { 'root-0': 0, 'root-1': 1, 'root-3': 3 };
    for (const [root, count] of Object.entries(children)) {
      await t.createFinished(root);
      for (const child of ids(`${root}::child`, count)) await t.createFinished(child, { parent: root });
    }
    const { instancesDeleted } = await admin.deleteInstanceBulk({ instanceIds: Object.keys(children) });
    t.expect(instancesDeleted).toBe(7);
    t.expect(await admin.listInstances()).toEqual([]);
  });
});
