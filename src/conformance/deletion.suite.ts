import { checkGroup } from './check.js';
import { activityCompleted, activityItem } from './records.js';
import type { Trial } from './trial.js';

const admin = (t: Trial) => t.provider.asManagement();

const family = ['root', 'child', 'grandchild', 'great-grandchild'];

async function createFamily(t: Trial): Promise<void> {
  for (const [level, id] of family.entries()) {
    const parent = family[level - 1];
    await t.createFinished(id, parent === undefined ? {} : { parent });
  }
}

export const deletion = checkGroup('deletion and hierarchy', (check) => {
  check('DE-1', 'finished instances are deletable without force', async (t) => {
    await t.createFinished('completed');
    await t.createFinished('failed', { status: 'Failed' });
    await t.create('cancelled', {
      events: [
        {
          kind: 'OrchestrationFailed',
          details: {
            kind: 'Application',
            application: { kind: 'Cancelled', reason: 'enough' },
            message: '',
            retryable: false,
          },
        },
      ],
      metadata: { status: 'Failed', output: 'canceled: enough' },
    });
    for (const id of ['completed', 'failed', 'cancelled']) {
      const counts = await admin(t).deleteInstance(id, false);
      t.expect(counts).toMatchObject({ instancesDeleted: 1, executionsDeleted: 1, eventsDeleted: 2 });
      await t.fails(admin(t).getInstanceInfo(id), /not found/i);
    }
  });

  check('DE-2', 'a running instance is deleted by force only', async (t) => {
    await t.create('x');
    await t.fails(admin(t).deleteInstance('x', false), /running/i);
    t.expect(await admin(t).getInstanceInfo('x')).toMatchObject({ instanceId: 'x' });
    t.expect(await t.provider.read('x')).toHaveLength(1);
    t.expect(await admin(t).deleteInstance('x', true)).toMatchObject({ instancesDeleted: 1 });
    await t.fails(admin(t).getInstanceInfo('x'), /not found/i);
  });

  check('DE-3', 'deleting an unknown instance is an error', async (t) => {
    await t.fails(admin(t).deleteInstance('nobody', false), /not found/i);
    await t.fails(admin(t).deleteInstance('nobody', true), /not found/i);
  });

  check('DE-4', 'deletion takes queued work along and leaves the id reusable', async (t) => {
    await t.createFinished('x', { workerItems: [activityItem('x', 2), activityItem('x', 3)] });
    await t.poke('x');
    const item = await t.take('x');
    const counts = await admin(t).deleteInstance('x', false);
    t.expect(counts.queueMessagesDeleted).toBe(3);
    await t.expectNoWork();
    await t.fails(t.ack(item));
    await t.create('x', { name: 'Other', version: '2.0.0' });
    t.expect(await admin(t).getInstanceInfo('x')).toMatchObject({
      orchestrationName: 'Other',
      orchestrationVersion: '2.0.0',
      status: 'Running',
    });
    t.expect(await t.provider.read('x')).toHaveLength(1);
  });

  check('DE-5', 'descendants go with their root, and only with it', async (t) => {
    await createFamily(t);
    for (const id of family.slice(1, 3)) {
      await t.fails(admin(t).deleteInstance(id, false), /sub-orchestration/i);
      await t.fails(admin(t).deleteInstance(id, true), /sub-orchestration/i);
    }
    const counts = await admin(t).deleteInstance('root', false);
    t.expect(counts.instancesDeleted).toBe(4);
    t.expect(counts.executionsDeleted).toBeGreaterThanOrEqual(4);
    t.expect(await admin(t).listInstances()).toEqual([]);
  });

  check('DE-6', 'a turn in progress cannot bring a deleted instance back', async (t) => {
    const x = await t.create('x');
    const item = await x.pokeAndTake();
    await admin(t).deleteInstance('x', true);
    await t.fails(
      t.ack(item, { metadata: { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' } }),
      /lock token/i,
    );
    await t.fails(admin(t).getInstanceInfo('x'), /not found/i);
    t.expect(await admin(t).listExecutions('x')).toEqual([]);
  });

  check('DE-7', 'children are the direct ones only', async (t) => {
    await createFamily(t);
    t.expect(await admin(t).listChildren('root')).toEqual(['child']);
    t.expect(await admin(t).listChildren('great-grandchild')).toEqual([]);
    t.expect(await admin(t).listChildren('nobody')).toEqual([]);
  });

  check('DE-8', 'a root has no parent, a child has one, an unknown instance is an error', async (t) => {
    await createFamily(t);
    t.expect(await admin(t).getParentId('root')).toBeNull();
    t.expect(await admin(t).getParentId('grandchild')).toBe('child');
    await t.fails(admin(t).getParentId('nobody'), /Instance not found/);
  });

  check('DE-9', 'the tree holds the root and all descendants', async (t) => {
    await createFamily(t);
    const tree = await admin(t).getInstanceTree('root');
    t.expect(tree.rootId).toBe('root');
    t.expect([...tree.allIds].sort()).toEqual([...family].sort());
    t.expect(await admin(t).getInstanceTree('great-grandchild')).toEqual({
      rootId: 'great-grandchild',
      allIds: ['great-grandchild'],
    });
  });

  check('DE-10', 'a list of finished instances goes in one call', async (t) => {
    for (const id of ['a', 'b', 'c']) await t.createFinished(id);
    const counts = await admin(t).deleteInstancesAtomic(['a', 'b', 'c'], false);
    t.expect(counts).toMatchObject({ instancesDeleted: 3, eventsDeleted: 6 });
    t.expect(counts.executionsDeleted).toBeGreaterThanOrEqual(3);
    t.expect(await admin(t).listInstances()).toEqual([]);
  });

  check('DE-11', 'one running member fails the whole list unless forced', async (t) => {
    await t.createFinished('done');
    await t.create('running');
    await t.fails(admin(t).deleteInstancesAtomic(['done', 'running'], false), /running/i);
    t.expect((await admin(t).listInstances()).sort()).toEqual(['done', 'running']);
    t.expect(await admin(t).deleteInstancesAtomic(['done', 'running'], true)).toMatchObject({ instancesDeleted: 2 });
    t.expect(await admin(t).listInstances()).toEqual([]);
  });

  check('DE-12', 'a list that would orphan a child is refused', async (t) => {
    await t.createFinished('parent');
    await t.createFinished('kid', { parent: 'parent' });
    await t.fails(admin(t).deleteInstancesAtomic(['parent'], false), /child|orphan|tree/i);
    await t.fails(admin(t).deleteInstancesAtomic(['parent'], true), /child|orphan|tree/i);
    t.expect((await admin(t).listInstances()).sort()).toEqual(['kid', 'parent']);
    t.expect(await admin(t).deleteInstancesAtomic(['parent', 'kid'], false)).toMatchObject({ instancesDeleted: 2 });
  });

  check('DE-13', 'an activity of a deleted life cannot report to the next one', async (t) => {
    await t.create('x', { workerItems: [activityItem('x', 2)] });
    const work = await t.takeWork(2);
    await admin(t).deleteInstance('x', true);
    const x = await t.create('x');
    await t.fails(t.ackWork(work, activityCompleted('x', 2, '"old"')), /not found or already processed/);
    t.expect(t.kinds(await x.pokeAndTake())).toEqual(['ExternalRaised']);
  });
});
