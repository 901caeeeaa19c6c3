import { checkGroup } from './check.js';
import { startedEvent, startItem } from './records.js';
import { eventsOf } from './trial.js';

export const instanceCreation = checkGroup('instance creation', (check) => {
  check('IC-1', 'the first fetch tells what the start says, later ones what was acknowledged', async (t) => {
    await t.enqueue(startItem('x', { orchestration: 'Named' }));
    const first = await t.take('x');
    t.expect(first).toMatchObject({ orchestrationName: 'Named', executionId: 1, version: '1.0.0' });
    t.expect(eventsOf(first)).toEqual([]);
    await t.ack(first, {
      historyDelta: [startedEvent('x')],
      metadata: { orchestrationName: 'Named', orchestrationVersion: '2.0.0' },
    });
    await t.poke('x');
    const second = await t.take('x');
    t.expect(second).toMatchObject({ orchestrationName: 'Named', executionId: 1, version: '2.0.0' });
    t.expect(eventsOf(second)).toEqual([startedEvent('x')]);
  });

  check('IC-2', 'enqueueing a start creates no instance', async (t) => {
    await t.enqueue(startItem('x'));
    t.expect(await t.provider.asManagement().listInstances()).toEqual([]);
    const item = await t.take('x');
    t.expect(item.messages).toEqual([startItem('x')]);
    t.expect(await t.provider.asManagement().listInstances()).toEqual([]);
  });

  check('IC-3', 'a start without a version gets the one of its acknowledgement', async (t) => {
    await t.enqueue(startItem('x', { version: null }));
    const item = await t.take('x');
    t.expect(item.version).toBe('unknown');
    await t.ack(item, {
      historyDelta: [startedEvent('x')],
      metadata: { orchestrationName: 'TestOrch', orchestrationVersion: '3.0.0' },
    });
    t.expect(await t.provider.asManagement().getInstanceInfo('x')).toMatchObject({ orchestrationVersion: '3.0.0' });
  });

  check('IC-4', 'a child exists from its own first acknowledgement on', async (t) => {
    const child = startItem('x::sub::2', {
      orchestration: 'Child',
      version: null,
      parentInstance: 'x',
      parentId: 2,
      parentExecutionId: 1,
    });
    await t.create('x', { orchestratorItems: [child] });
    const admin = t.provider.asManagement();
    const item = await t.take('x::sub::2');
    t.expect(item.orchestrationName).toBe('Child');
    t.expect(item.messages).toEqual([child]);
    await t.fails(admin.getInstanceInfo('x::sub::2'), /not found/i);
    await t.ack(item, {
      historyDelta: [startedEvent('x::sub::2')],
      metadata: { orchestrationName: 'Child', orchestrationVersion: '4.0.0', parentInstanceId: 'x' },
    });
    t.expect(await admin.getInstanceInfo('x::sub::2')).toMatchObject({
      orchestrationName: 'Child',
      orchestrationVersion: '4.0.0',
      parentInstanceId: 'x',
    });
  });
});
