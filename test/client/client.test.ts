import { describe, expect, test } from '@jest/globals';
import { FakeClock, SystemClock } from '../../src/base/clock.js';
import { Client } from '../../src/client/client.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import { viewEvent } from '../../src/client/history-view.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { SteppedRuntime } from '../support/runtime-harness.js';
import { describeScenarios } from '../support/scenarios.js';

const handlers: Handlers = {
  activities: { Echo: (_ctx, input) => input },
  orchestrations: {
    *Echo(ctx, input) {
      return yield ctx.scheduleActivity('Echo', input);
    },
    *Wait(ctx, status) {
      if (status) ctx.setCustomStatus(status);
      return yield ctx.waitForEvent('go');
    },
    *Boom() {
      throw 'boom';
    },
    *Loop(ctx, n) {
      ctx.setValue('n', n);
      return n > 0 ? yield ctx.continueAsNew(n - 1) : 'out';
    },
    *Parent(ctx) {
      return yield ctx.all([ctx.scheduleSubOrchestration('Echo', 1), ctx.scheduleSubOrchestration('Wait')]);
    },
  },
};

describeScenarios('client', {
  'R:CL-01 R:CL-02 R:CL-05 not found, running, completed: the output as text, and parsed when waited for': async ({
    open,
    id,
  }) => {
    const { client, ...runtime } = opened(open(handlers));
    const instance = id();
    expect(await client.getStatus(instance)).toEqual({ status: 'NotFound', customStatusVersion: 0 });
    await client.startOrchestration(instance, 'Wait');
    expect((await client.getStatus(instance)).status).toBe('NotFound');
    await runtime.settle();
    expect(await client.getStatus(instance)).toEqual({ status: 'Running', customStatusVersion: 0 });
    await client.raiseEvent(instance, 'go', { a: 1 });
    await runtime.settle();
    expect(await client.getStatus(instance)).toEqual({
      status: 'Completed',
      output: '{"a":1}',
      customStatusVersion: 0,
    });
    expect(await client.waitForOrchestration(instance, 0)).toMatchObject({ output: { a: 1 } });
    expect(await client.waitForOrchestrationTyped(instance)).toEqual({ a: 1 });
  },

  'R:CL-02 R:CL-04 failed: the text, and the error of the typed wait': async ({ open, id }) => {
    const { client, ...runtime } = opened(open(handlers));
    const instance = id();
    await client.startOrchestration(instance, 'Boom');
    await runtime.settle();
    expect(await client.getStatus(instance)).toEqual({ status: 'Failed', error: 'boom', customStatusVersion: 0 });
    await expect(client.waitForOrchestrationTyped(instance)).rejects.toThrow(/^boom$/);
  },

  'R:CL-03 R:CA-16 after continue-as-new: the newest execution': async ({ open, id }) => {
    const { client, ...runtime } = opened(open(handlers));
    const instance = id();
    await client.startOrchestration(instance, 'Loop', 2);
    await runtime.settle();
    expect(await client.waitForOrchestrationTyped(instance, 0)).toBe('out');
    expect(await client.getKvAllValues(instance)).toEqual({ n: '0' });
  },

  'R:CL-08 two starts of one id at once: one execution, the first input': async ({ open, id }) => {
    const { client, ...runtime } = opened(open(handlers));
    const instance = id();
    await Promise.all([1, 2, 3].map((input) => client.startOrchestration(instance, 'Echo', input)));
    await runtime.settle();
    expect(await client.waitForOrchestrationTyped(instance, 0)).toBe(1);
    expect(await client.listExecutions(instance)).toEqual([1]);
  },

  'waitForStatusChange: a newer version, an end, or a time-out': async ({ open, id }) => {
    const { client, ...runtime } = opened(open(handlers));
    const instance = id();
    await expect(client.waitForStatusChange(instance, 0, 10, 0)).rejects.toThrow('Operation timed out');
    await client.startOrchestration(instance, 'Wait', 'begun');
    await runtime.settle();
    expect(await client.waitForStatusChange(instance, 0, 10, 0)).toMatchObject({
      status: 'Running',
      customStatus: 'begun',
      customStatusVersion: 1,
    });
    await expect(client.waitForStatusChange(instance, 1, 10, 0)).rejects.toMatchObject({
      name: 'WaitTimeoutError',
      code: 'GenericFailure',
    });
    await client.raiseEvent(instance, 'go', [1]);
    await runtime.settle();
    expect(await client.waitForStatusChange(instance, 99, 10, 0)).toMatchObject({ status: 'Completed', output: [1] });
  },

  'R:KV-02 waitForValue and getValue: a value, a missing key, an unknown instance': async ({ open, id }) => {
    const { client, ...runtime } = opened(open(handlers));
    const instance = id();
    await client.startOrchestration(instance, 'Loop', 0);
    await runtime.settle();
    expect(await client.waitForValue(instance, 'n', 0)).toBe('0');
    expect(await client.getValue(instance, 'other')).toBeNull();
    expect(await client.getValue('nobody', 'n')).toBeNull();
    expect(await client.getKvAllValues('nobody')).toEqual({});
    await expect(client.waitForValue(instance, 'other', 0)).rejects.toThrow(
      `Timed out waiting for value 'other' on instance '${instance}'`,
    );
  },
});

/** Without the methods' `this` getting lost. */
function opened(runtime: SteppedRuntime) {
  return { client: runtime.client, settle: () => runtime.settle(), runtime };
}

// What only a real store has.
describeScenarios(
  'management',
  {
    'R:CL-11 R:CL-14 instance, executions, history and tree match the run': async ({ open, id, clock }) => {
      const { client, ...runtime } = opened(open(handlers));
      const instance = id('root');
      const startedAtMs = clock.nowMs();
      await client.startOrchestration(instance, 'Parent');
      await runtime.settle();
      expect(await client.getInstanceInfo(instance)).toEqual({
        instanceId: instance,
        orchestrationName: 'Parent',
        orchestrationVersion: '1.0.0',
        currentExecutionId: 1,
        status: 'Running',
        createdAt: startedAtMs,
        updatedAt: expect.any(Number),
      });
      const child = `${instance}::sub::2`;
      expect(await client.getInstanceInfo(child)).toMatchObject({ parentInstanceId: instance, output: 1 });
      expect(await client.getExecutionInfo(child, 1)).toEqual({
        executionId: 1,
        status: 'Completed',
        output: 1,
        startedAt: startedAtMs,
        completedAt: startedAtMs,
        eventCount: 4,
      });
      const tree = await client.getInstanceTree(instance);
      expect(tree).toMatchObject({ rootId: instance, size: 3 });
      expect([...tree.allIds].sort()).toEqual([instance, child, `${instance}::sub::3`].sort());
      expect(tree.allIds[0]).toBe(instance);
      const history = await client.readExecutionHistory(child, 1);
      expect(history.map(({ kind, data }) => [kind, data])).toEqual([
        ['OrchestrationStarted', '{"name":"Echo","version":"1.0.0","input":1}'],
        ['ActivityScheduled', '{"name":"Echo","input":1}'],
        ['ActivityCompleted', '1'],
        ['OrchestrationCompleted', '1'],
      ]);
      expect(await client.listInstancesByStatus('Running')).toContain(instance);
      expect(await client.listInstancesByStatus('running')).toEqual([]);
      expect(await client.listAllInstances()).toContain(child);
      expect(await client.getOrchestrationStats(child)).toMatchObject({ historyEventCount: 4, kvUserKeyCount: 0 });
      expect(await client.getOrchestrationStats('nobody')).toBeNull();
      expect((await client.getSystemMetrics()).totalInstances).toBeGreaterThanOrEqual(3);
      expect(await client.getQueueDepths()).toMatchObject({ timerQueue: 0 });
    },

    'R:CL-13 unknown ids: errors where the specification says so': async ({ open }) => {
      const { client } = opened(open(handlers));
      await expect(client.getInstanceInfo('nobody')).rejects.toThrow('get_instance_info: Instance not found');
      await expect(client.getExecutionInfo('nobody', 1)).rejects.toThrow('get_execution_info: Execution not found');
      await expect(client.pruneExecutions('nobody')).rejects.toThrow(
        'prune_executions: Database error: error returned from database: Instance nobody not found',
      );
      expect(await client.listExecutions('nobody')).toEqual([]);
      expect(await client.readExecutionHistory('nobody', 1)).toEqual([]);
      expect(await client.getInstanceTree('nobody')).toEqual({ rootId: 'nobody', allIds: ['nobody'], size: 1 });
    },

    'R:DP-01 R:DP-02 R:DP-03 R:DP-04 deletion: ended, running, forced, child, unknown': async ({ open, id }) => {
      const { client, ...runtime } = opened(open(handlers));
      const [done, root] = [id('done'), id('root')];
      await client.startOrchestration(done, 'Echo', 1);
      await client.startOrchestration(root, 'Parent');
      await runtime.settle();
      expect(await client.deleteInstance(done)).toEqual({
        instancesDeleted: 1,
        executionsDeleted: 1,
        eventsDeleted: 4,
        queueMessagesDeleted: 0,
      });
      await expect(client.deleteInstance(done)).rejects.toMatchObject({
        name: 'InstanceNotFoundError',
        message: `Instance ${done} not found`,
        code: 'GenericFailure',
      });
      await expect(client.deleteInstance(root)).rejects.toMatchObject({ name: 'InstanceRunningError' });
      await expect(client.deleteInstance(`${root}::sub::2`, true)).rejects.toThrow(
        `Cannot delete sub-orchestration ${root}::sub::2 directly. Delete the root orchestration instead.`,
      );
      expect((await client.deleteInstance(root, true)).instancesDeleted).toBe(3);
      expect((await client.getStatus(`${root}::sub::3`)).status).toBe('NotFound');
    },

    'R:DP-05 R:DP-06 an id is free after its deletion; what the old life left behind is ignored': async ({
      open,
      id,
    }) => {
      const { client, ...runtime } = opened(open(handlers));
      const instance = id();
      await client.startOrchestration(instance, 'Echo', 'old');
      await runtime.runtime.parts.orchestrations.runOnce();
      await client.deleteInstance(instance, true);
      await client.startOrchestration(instance, 'Wait');
      await runtime.settle();
      await client.raiseEvent(instance, 'go', 'new');
      await runtime.settle();
      expect(await client.waitForOrchestrationTyped(instance, 0)).toBe('new');
    },

    'R:DP-09 R:KV-18 C-36 bulk deletion takes ended roots that match, and nothing that lives': async ({ open, id }) => {
      const { client, ...runtime } = opened(open(handlers));
      const [a, b, running] = [id(), id(), id()];
      for (const instance of [a, b]) await client.startOrchestration(instance, 'Loop', 0);
      await client.startOrchestration(running, 'Wait');
      await runtime.settle();
      expect(await client.deleteInstanceBulk({ instanceIds: [] })).toMatchObject({ instancesDeleted: 0 });
      expect(await client.deleteInstanceBulk({ instanceIds: [a, running, 'nobody'] })).toMatchObject({
        instancesDeleted: 1,
      });
      expect((await client.getStatus(running)).status).toBe('Running');
      expect(await client.getKvAllValues(a)).toEqual({});
      expect(await client.getKvAllValues(b)).toEqual({ n: '0' });
      await expect(client.deleteInstanceBulk(null as never)).rejects.toThrow(TypeError);
      await expect(client.deleteInstanceBulk({ completedBefore: NaN })).rejects.toMatchObject({
        name: 'InvalidInputError',
      });
    },

    'R:DP-10 R:DP-12 R:KV-19 C-36 pruning keeps the current execution and the values': async ({ open, id }) => {
      const { client, ...runtime } = opened(open(handlers));
      const instance = id();
      await client.startOrchestration(instance, 'Loop', 5);
      await runtime.settle();
      expect(await client.listExecutions(instance)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await client.getExecutionInfo(instance, 1)).toMatchObject({ status: 'ContinuedAsNew', output: 4 });
      expect(await client.getExecutionInfo(instance, 1)).not.toHaveProperty('completedAt');
      expect(await client.pruneExecutions(instance, { keepLast: 3 })).toMatchObject({
        instancesProcessed: 1,
        executionsDeleted: 3,
      });
      expect(await client.pruneExecutionsBulk({ instanceIds: [instance] }, { keepLast: 0 })).toMatchObject({
        executionsDeleted: 2,
      });
      expect(await client.listExecutions(instance)).toEqual([6]);
      expect(await client.getKvAllValues(instance)).toEqual({ n: '0' });
    },
  },
  ['pglite', 'postgres'],
);

describe('arguments (C-35, node-api 4.1)', () => {
  const client = new Client(new MemoryProvider(new FakeClock())) as any;

  test.each([
    ['startOrchestration', [5, 'X'], 'StringExpected'],
    ['startOrchestration', [undefined, 'X'], 'StringExpected'],
    ['startOrchestration', ['i', null], 'StringExpected'],
    ['startOrchestrationVersioned', ['i', 'X', 1, 2], 'StringExpected'],
    ['startOrchestration', ['i', 'X', () => 1], 'StringExpected'],
    ['raiseEvent', ['i', 7], 'StringExpected'],
    ['enqueueEvent', ['i', 'q', Symbol('s')], 'StringExpected'],
    ['cancelInstance', ['i', 5], 'StringExpected'],
    ['getValue', ['i', 5], 'StringExpected'],
    ['waitForOrchestration', ['i', '5'], 'NumberExpected'],
    ['getExecutionInfo', ['i', '1'], 'NumberExpected'],
    ['deleteInstance', ['i', {}], 'BooleanExpected'],
  ])('%s(%p) rejects with %s', async (method, args, code) => {
    await expect(client[method](...args)).rejects.toMatchObject({ code });
  });

  test.each([
    ['', 'instance id must not be empty'],
    ['sub::x', "instance id 'sub::x' uses the reserved sub-orchestration marker 'sub::'"],
    ['a::sub::2', "instance id 'a::sub::2' uses the reserved sub-orchestration marker 'sub::'"],
    ['a\u0000b', 'instance id must not contain NUL or unpaired surrogates'],
    ['\ud800', 'instance id must not contain NUL or unpaired surrogates'],
    ['é'.repeat(513), 'instance id (1026 bytes) exceeds limit (1024 bytes)'],
  ])('a start of %p is refused', async (id, reason) => {
    await expect(client.startOrchestration(id, 'X')).rejects.toMatchObject({
      name: 'InvalidInputError',
      code: 'GenericFailure',
      message: `Invalid input: ${reason}`,
    });
  });

  test('values without JSON: the engine says so', async () => {
    const cycle: any = {};
    cycle.self = cycle;
    await expect(client.startOrchestration('i', 'X', 1n)).rejects.toThrow(TypeError);
    await expect(client.raiseEvent('i', 'e', cycle)).rejects.toThrow(TypeError);
  });

  test('C-24 a payload over the limit is refused before it is sent', async () => {
    const provider = new MemoryProvider(new FakeClock());
    const small = new Client(provider, { maxPayloadBytes: 10 });
    await expect(small.startOrchestration('i', 'X', 'é'.repeat(5))).rejects.toThrow(
      "Invalid input: the input of orchestration 'X' (12 bytes) exceeds limit (10 bytes)",
    );
    expect(provider.calls).toEqual([]);
  });

  test('time-outs: NaN and Infinity are refused, fractions cut, negative ones wait', async () => {
    await expect(client.waitForOrchestration('i', NaN)).rejects.toMatchObject({ name: 'InvalidInputError' });
    await expect(client.waitForOrchestration('i', Infinity)).rejects.toMatchObject({ name: 'InvalidInputError' });
    await expect(client.waitForOrchestration('i', 0.9)).rejects.toThrow('Operation timed out');
  });

  test('a client needs a provider', () => {
    expect(() => new (Client as any)()).toThrow(TypeError);
    expect(() => new (Client as any)({})).toThrow(expect.objectContaining({ code: 'InvalidArg' }));
  });

  test('C-35 odd ids work everywhere', async () => {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const runtime = new SteppedRuntime(provider, clock, handlers);
    for (const id of [' ', 'é/%20"', 'xsub::y', 'a::b', "o'brien; drop table"]) {
      await runtime.client.startOrchestration(id, 'Wait');
      await runtime.settle();
      await runtime.client.cancelInstance(id, 'odd');
      await runtime.settle();
      expect(await runtime.client.getStatus(id)).toMatchObject({ status: 'Failed', error: 'canceled: odd' });
      await runtime.client.deleteInstance(id);
      expect((await runtime.client.getStatus(id)).status).toBe('NotFound');
    }
  });

  test('starts of one tick travel in one statement', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const starting = new Client(provider);
    await Promise.all(Array.from({ length: 50 }, (_, i) => starting.startOrchestration(`i${i}`, 'X')));
    expect(provider.batches).toEqual([{ call: 'enqueueForOrchestrator', size: 50 }]);
  });

  test('one bad element of a batch rejects its own caller only', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const enqueue = provider.enqueueForOrchestrator.bind(provider);
    const refused = new Error('refused');
    provider.enqueueForOrchestrator = async (elements) => {
      const results = await enqueue(elements);
      return results.map((result, index) => (index === 1 ? { ok: false, error: refused as never } : result));
    };
    const starting = new Client(provider);
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((id) => starting.startOrchestration(id, 'X')));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('history view (node-api 14)', () => {
  const envelope = {
    eventId: 1,
    sourceEventId: null,
    instanceId: 'i',
    executionId: 1,
    timestampMs: 5,
    duroxideVersion: '0.1.30',
  };

  test.each([
    [
      { kind: 'ActivityScheduled', name: '__duroxide_syscall:new_guid', input: '' },
      'ActivityScheduled',
      '{"name":"__duroxide_syscall:new_guid","input":null}',
    ],
    [{ kind: 'ExternalSubscribedPersistent', name: 'q' }, 'QueueSubscribed', '{"name":"q"}'],
    [
      { kind: 'ExternalEventPersistent', name: 'q', data: '{"a":1}' },
      'QueueEventDelivered',
      '{"name":"q","data":{"a":1}}',
    ],
    [
      { kind: 'ExternalSubscribedPersistentCancelled', reason: 'dropped_future' },
      'QueueSubscriptionCancelled',
      '{"reason":"dropped_future"}',
    ],
    [{ kind: 'ExternalEvent', name: 'e', data: 'raw text' }, 'ExternalEvent', '{"name":"e","data":"raw text"}'],
    [{ kind: 'TimerCreated', fireAtMs: 7 }, 'TimerCreated', '{"fireAtMs":7}'],
    [
      { kind: 'SubOrchestrationScheduled', name: 'C', instance: 'sub::1', input: '1' },
      'SubOrchestrationScheduled',
      '{"name":"C","instance":"sub::1","input":1}',
    ],
    [{ kind: 'KeyValueSet', key: 'k', value: 'v', lastUpdatedAtMs: 1 }, 'KeyValueSet', undefined],
    [{ kind: 'CustomStatusUpdated', status: 's' }, 'CustomStatusUpdated', undefined],
  ])('%j', (body, kind, data) => {
    const view = viewEvent({ ...envelope, ...body } as HistoryEvent);
    expect(view).toEqual({ eventId: 1, kind, timestampMs: 5, ...(data === undefined ? {} : { data }) });
  });

  test('a source is named where there is one', () => {
    const view = viewEvent({ ...envelope, sourceEventId: 2, kind: 'TimerFired', fireAtMs: 7 });
    expect(view.sourceEventId).toBe(2);
  });
});
