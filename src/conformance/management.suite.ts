import { checkGroup } from './check.js';
import { completedEvent, event, startedEvent, startItem } from './records.js';

export const management = checkGroup('management', (check) => {
  check('MG-1', 'all instances are listed, newest first', async (t) => {
    for (const id of ['a', 'b', 'c']) {
      await t.create(id);
      t.clock.advance(1);
    }
    t.expect(await t.provider.asManagement().listInstances()).toEqual(['c', 'b', 'a']);
  });

  check('MG-2', 'instances are listed by the status of their current execution', async (t) => {
    await t.create('running');
    await t.createFinished('completed');
    await t.createFinished('failed', { status: 'Failed' });
    const admin = t.provider.asManagement();
    t.expect(await admin.listInstancesByStatus('Completed')).toEqual(['completed']);
    t.expect(await admin.listInstancesByStatus('Failed')).toEqual(['failed']);
    t.expect(await admin.listInstancesByStatus('Running')).toEqual(['running']);
  });

  check('MG-3', 'an execution is listed even when the instance has no row', async (t) => {
    await t.enqueue(startItem('x'));
    await t.ack(await t.take('x'), { historyDelta: [startedEvent('x')] });
    t.expect(await t.provider.asManagement().listExecutions('x')).toEqual([1]);
    t.expect(await t.provider.asManagement().listExecutions('nobody')).toEqual([]);
  });

  check('MG-4', 'the information of an instance is what was acknowledged', async (t) => {
    const createdAtMs = t.clock.nowMs();
    const x = await t.create('x', { name: 'Named', version: '1.2.3' });
    t.clock.advance(1_000);
    await x.turn();
    t.expect(await t.provider.asManagement().getInstanceInfo('x')).toEqual({
      instanceId: 'x',
      orchestrationName: 'Named',
      orchestrationVersion: '1.2.3',
      currentExecutionId: 1,
      status: 'Running',
      output: null,
      createdAtMs,
      updatedAtMs: createdAtMs + 1_000,
      parentInstanceId: null,
    });
    t.expect(await t.provider.asManagement().latestExecutionId('x')).toBe(1);
    await t.fails(t.provider.asManagement().latestExecutionId('nobody'));
  });

  check('MG-5', 'the information of an execution is what was acknowledged, even without an instance row', async (t) => {
    const nowMs = t.clock.nowMs();
    await t.enqueue(startItem('x'));
    await t.ack(await t.take('x'), {
      historyDelta: [startedEvent('x'), event('x', 2, completedEvent('"out"'))],
      metadata: { status: 'Completed', output: '"out"' },
    });
    const admin = t.provider.asManagement();
    t.expect(await admin.getExecutionInfo('x', 1)).toEqual({
      executionId: 1,
      status: 'Completed',
      output: '"out"',
      startedAtMs: nowMs,
      completedAtMs: nowMs,
      eventCount: 2,
    });
    await t.fails(admin.getExecutionInfo('x', 2), /Execution not found/);
  });

  check('MG-6', 'the metrics count instances by status, executions and events', async (t) => {
    const admin = t.provider.asManagement();
    t.expect((await admin.getSystemMetrics()).totalInstances).toBe(0);
    const x = await t.create('continued');
    await x.reach(2);
    await t.createFinished('completed');
    await t.createFinished('failed', { status: 'Failed' });
    t.expect(await admin.getSystemMetrics()).toEqual({
      totalInstances: 3,
      totalExecutions: 4,
      runningInstances: 1,
      completedInstances: 1,
      failedInstances: 1,
      // Two starts and one end of the continued instance, two events of each other.
      totalEvents: 7,
    });
  });

  check('MG-7', 'the depths of the queues count what is due and unlocked', async (t) => {
    const admin = t.provider.asManagement();
    t.expect(await admin.getQueueDepths()).toEqual({ orchestratorQueue: 0, workerQueue: 0, timerQueue: 0 });
    await t.enqueue(startItem('now'));
    await t.enqueue(startItem('later'), 1_000);
    t.expect(await admin.getQueueDepths()).toMatchObject({ orchestratorQueue: 1, timerQueue: 0 });
    t.clock.advance(1_000);
    t.expect(await admin.getQueueDepths()).toMatchObject({ orchestratorQueue: 2 });
    await t.take('now');
    t.expect(await admin.getQueueDepths()).toMatchObject({ orchestratorQueue: 1 });
  });
});
