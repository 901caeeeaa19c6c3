import { checkGroup } from './check.js';
import { kvSet } from './records.js';

export const pruning = checkGroup('pruning', (check) => {
  check('PR-1', 'pruning keeps the newest executions, by default only the current one', async (t) => {
    const admin = t.provider.asManagement();
    await (await t.create('kept')).reach(4);
    t.expect(await admin.pruneExecutions('kept', { keepLast: 2 })).toEqual({
      instancesProcessed: 1,
      executionsDeleted: 2,
      eventsDeleted: 4,
    });
    t.expect(await admin.listExecutions('kept')).toEqual([3, 4]);
    t.expect(await t.provider.readWithExecution('kept', 2)).toEqual([]);
    t.expect(await t.provider.readWithExecution('kept', 3)).toHaveLength(2);
    await (await t.create('bare')).reach(4);
    t.expect(await admin.pruneExecutions('bare', {})).toMatchObject({ executionsDeleted: 3 });
    t.expect(await admin.listExecutions('bare')).toEqual([4]);
  });

  check('PR-2', 'the current execution survives whatever is asked', async (t) => {
    const admin = t.provider.asManagement();
    for (const [id, options] of Object.entries({ none: {}, zero: { keepLast: 0 }, one: { keepLast: 1 } })) {
      const x = await t.create(id);
      await x.reach(4);
      await x.complete();
      t.expect(await admin.pruneExecutions(id, options)).toMatchObject({ executionsDeleted: 3 });
      t.expect(await admin.listExecutions(id)).toEqual([4]);
      t.expect(await admin.pruneExecutions(id, options)).toMatchObject({ executionsDeleted: 0 });
    }
    await t.fails(admin.pruneExecutions('nobody', {}), /not found/i);
  });

  check('PR-3', 'bulk pruning touches the listed instances only', async (t) => {
    const admin = t.provider.asManagement();
    for (const id of ['a', 'b', 'c']) {
      const x = await t.create(id);
      await x.reach(4);
      await x.complete();
    }
    t.expect(await admin.pruneExecutionsBulk({ instanceIds: ['a', 'b'] }, { keepLast: 1 })).toMatchObject({
      instancesProcessed: 2,
      executionsDeleted: 6,
    });
    t.expect(await admin.listExecutions('b')).toEqual([4]);
    t.expect(await admin.listExecutions('c')).toEqual([1, 2, 3, 4]);
    t.expect(await admin.pruneExecutionsBulk({ instanceIds: [] }, {})).toMatchObject({ instancesProcessed: 0 });
  });

  check('PR-4', 'bulk pruning includes running instances', async (t) => {
    const admin = t.provider.asManagement();
    const x = await t.create('x', { events: [kvSet('k', 'v')] });
    await x.reach(3);
    t.expect(await admin.pruneExecutionsBulk({ instanceIds: ['x'] }, { keepLast: 1 })).toMatchObject({
      instancesProcessed: 1,
      executionsDeleted: 2,
    });
    t.expect(await admin.getInstanceInfo('x')).toMatchObject({ status: 'Running', currentExecutionId: 3 });
    await x.turn();
  });
});
