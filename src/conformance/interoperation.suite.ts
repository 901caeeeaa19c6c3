import { checkGroup } from './check.js';
import { activityCompleted, ids, startItem } from './records.js';
import { ackOf, eventsOf, LONG_LOCK_MS } from './trial.js';

const PROVIDERS = 6;

export const interoperation = checkGroup('start and interoperation', (check) => {
  check('XR-3', 'providers that start at once on fresh storage all succeed, and migrate once', async (t) => {
    const { providers, recorded } = await t.need('startOnFreshStorage')(PROVIDERS);
    t.expect(providers).toHaveLength(PROVIDERS);
    t.expect(recorded.size).toBeGreaterThan(0);
    t.expect([...recorded.values()].filter((times) => times !== 1)).toEqual([]);
    const instances = ids(t.unique('x'), PROVIDERS);
    for (const [index, provider] of providers.entries()) {
      const [enqueued] = await provider.enqueueForOrchestrator([{ item: startItem(instances[index] ?? '') }]);
      t.expect(enqueued?.ok).toBe(true);
    }
    const [first] = providers;
    const fetched = await first?.fetchOrchestrationItems({ limit: 10, lockTimeoutMs: LONG_LOCK_MS });
    t.expect(fetched?.items.map(({ instance }) => instance).sort()).toEqual([...instances].sort());
  });

  check('XR-4', 'a native worker and ours share the work of one schema, in both directions', async (t) => {
    const peer = await t.need('nativePeer')();
    const admin = t.provider.asManagement();
    const isCompleted = async (instance: string) => (await admin.listInstancesByStatus('Completed')).includes(instance);

    // Native runs the orchestration, ours the activity.
    await peer.start('by-native', '"hello"');
    await peer.run('orchestrations', async () => {
      const [work] = await t.provider.fetchWorkItems({
        limit: 1,
        lockTimeoutMs: LONG_LOCK_MS,
        tagFilter: { kind: 'any' },
      });
      if (work?.item.kind === 'ActivityExecute') {
        t.expect(work.item).toMatchObject({ instance: 'by-native', name: 'Echo', input: '"hello"' });
        const { instance, id, input } = work.item;
        await t.ackWork(work, activityCompleted(instance, id, input));
      }
      return isCompleted('by-native');
    });
    t.expect(await admin.getInstanceInfo('by-native')).toMatchObject({ status: 'Completed', output: '"hello"' });

    // Ours runs the orchestration, native the activity. The pin keeps native from the turns.
    await t.enqueue(startItem('by-ours', { orchestration: 'Hello', input: '"again"' }));
    const item = await t.take('by-ours');
    await t.provider.ackOrchestrationItems([
      ackOf(item, {
        historyDelta: [
          {
            eventId: 1,
            sourceEventId: null,
            instanceId: 'by-ours',
            executionId: 1,
            timestampMs: t.clock.nowMs(),
            duroxideVersion: '99.0.0',
            kind: 'OrchestrationStarted',
            name: 'Hello',
            version: '1.0.0',
            input: '"again"',
            parentInstance: null,
            parentId: null,
          },
        ],
        workerItems: [
          { kind: 'ActivityExecute', instance: 'by-ours', executionId: 1, id: 2, name: 'Echo', input: '"again"' },
        ],
        metadata: {
          orchestrationName: 'Hello',
          orchestrationVersion: '1.0.0',
          pinnedDuroxideVersion: { major: 99, minor: 0, patch: 0 },
        },
      }),
    ]);
    await peer.run('activities', async () => (await admin.getQueueDepths()).orchestratorQueue > 0);
    const completion = await t.take('by-ours');
    t.expect(completion.messages).toEqual([activityCompleted('by-ours', 2, '"again"')]);
    t.expect(eventsOf(completion)).toHaveLength(1);
  });
});
