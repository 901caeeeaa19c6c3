import { checkGroup } from './check.js';
import { externalRaised, startedEvent, startItem } from './records.js';
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

  check('IC-2/if-absent', 'a start if absent is refused while one waits, and once the instance exists', async (t) => {
    const start = (input: string) => t.provider.enqueueStartIfAbsent(startItem('x', { input }));
    // A message that nobody started an instance for is no start.
    await t.poke('x');
    t.expect(await start('"first"')).toBe(true);
    t.expect(await start('"second"')).toBe(false);
    t.expect(await t.provider.enqueueStartIfAbsent(startItem('y'))).toBe(true);
    const items = [await t.fetch(), await t.fetch()];
    const item = items.find((one) => one?.instance === 'x');
    t.expect(item?.messages).toEqual([externalRaised('x'), startItem('x', { input: '"first"' })]);
    if (!item) throw new Error('the instance was not fetched');
    // Locked, it still waits.
    t.expect(await start('"third"')).toBe(false);
    await t.ack(item, {
      historyDelta: [startedEvent('x')],
      metadata: { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0', status: 'Completed', output: '"done"' },
    });
    t.expect(await start('"fourth"')).toBe(false);
    await t.expectNothingReady();
    await t.provider.asManagement().deleteInstancesAtomic(['x'], true);
    t.expect(await start('"fifth"')).toBe(true);
    t.expect((await t.take('x')).messages).toEqual([startItem('x', { input: '"fifth"' })]);
  });

  check('IC-2/race', 'of starts if absent at the same time one takes effect', async (t) => {
    const start = (input: string) => t.provider.enqueueStartIfAbsent(startItem('x', { input }));
    if (!t.sut.openTransaction) {
      const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => start(`"${index}"`)));
      t.expect(answers.filter((isStarted) => isStarted)).toEqual([true]);
    } else {
      // Nobody can insert, but all can look: whoever only looks before it starts is past its look.
      const foreign = await t.sut.openTransaction();
      const starts: Promise<boolean>[] = [];
      try {
        await foreign.run('lock table orchestrator_queue in share mode');
        for (const input of ['"first"', '"second"', '"third"']) {
          const one = start(input);
          one.catch(() => undefined);
          starts.push(one);
          await foreign.untilWaiting(starts.length);
        }
      } finally {
        await foreign.rollback();
      }
      t.expect(await Promise.all(starts)).toEqual([true, false, false]);
      t.expect((await t.take('x')).messages).toEqual([startItem('x', { input: '"first"' })]);
      return;
    }
    t.expect((await t.take('x')).messages.length).toBe(1);
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
