import { expect } from '@jest/globals';
import type { Handlers } from '../../support/runtime-harness.js';
import { describeScenarios } from '../../support/scenarios.js';

const waiting: Handlers = {
  activities: { Echo: (_ctx, input: unknown) => input },
  orchestrations: {
    *Wait(ctx) {
      return yield ctx.waitForEvent('go');
    },
    *WaitTwice(ctx) {
      const first = yield ctx.waitForEvent('go');
      const second = yield ctx.waitForEvent('go');
      return [first, second];
    },
    *Take(ctx, n) {
      const taken = [];
      for (let i = 0; i < n; i++) taken.push(yield ctx.dequeueEvent('box'));
      return taken;
    },
    *Race(ctx) {
      const { index } = yield ctx.race(ctx.dequeueEvent('box'), ctx.scheduleTimer(1_000));
      return { index, next: yield ctx.dequeueEvent('box') };
    },
    *Parent(ctx, child) {
      try {
        return yield ctx.scheduleSubOrchestrationWithId('Wait', child);
      } catch (error) {
        return `child: ${(error as Error).message}`;
      }
    },
    *Stubborn(ctx) {
      yield ctx.waitForEvent('go');
      return 'finished';
    },
    *Work(ctx) {
      return yield ctx.scheduleActivity('Echo', 1);
    },
  },
};

describeScenarios('signals', {
  'R:EV-01 R:EV-09 wait, then raise: the data arrives, null when there is none': async ({ open, id }) => {
    const runtime = open(waiting);
    for (const [data, output] of [
      [{ a: [1, null] }, { a: [1, null] }],
      [undefined, null],
      ['', ''],
    ]) {
      const instance = id();
      await runtime.client.startOrchestration(instance, 'Wait');
      await runtime.settle();
      await runtime.client.raiseEvent(instance, 'go', data);
      expect((await runtime.runToEnd(instance)).output).toEqual(output);
    }
  },

  'R:EV-02 raised before the wait exists: stored, not delivered': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Late(ctx) {
          yield ctx.scheduleTimer(1_000);
          return yield ctx.waitForEvent('go');
        },
      },
    });
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Late');
    await runtime.settle();
    await runtime.client.raiseEvent(instance, 'go', 'early');
    await runtime.advance(1_000);
    expect(await runtime.kinds(instance)).toContain('ExternalEvent');
    expect((await runtime.client.getStatus(instance)).status).toBe('Running');
    await runtime.client.raiseEvent(instance, 'go', 'again');
    expect((await runtime.runToEnd(instance)).output).toBe('again');
  },

  'R:EV-03 R:CN-08 raised or cancelled after the end: nothing changes': async ({ open, id }) => {
    const runtime = open(waiting);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Wait');
    await runtime.settle();
    await runtime.client.raiseEvent(instance, 'go', 1);
    await runtime.runToEnd(instance);
    const kinds = await runtime.kinds(instance);
    await runtime.client.raiseEvent(instance, 'go', 2);
    await runtime.client.cancelInstance(instance);
    await runtime.settle();
    expect(await runtime.kinds(instance)).toEqual(kinds);
    expect((await runtime.client.getStatus(instance)).status).toBe('Completed');
  },

  'R:EV-04 R:EV-05 D-03 two waits take two raises in turn; the second of one batch is lost': async ({ open, id }) => {
    const runtime = open(waiting);
    const [apart, together] = [id(), id()];
    for (const instance of [apart, together]) await runtime.client.startOrchestration(instance, 'WaitTwice');
    await runtime.settle();
    await runtime.client.raiseEvent(apart, 'go', 'same');
    await runtime.settle();
    await runtime.client.raiseEvent(apart, 'go', 'same');
    await runtime.client.raiseEvent(together, 'go', 1);
    await runtime.client.raiseEvent(together, 'go', 2);
    await runtime.settle();
    expect((await runtime.runToEnd(apart)).output).toEqual(['same', 'same']);
    expect((await runtime.client.getStatus(together)).status).toBe('Running');
    await runtime.client.raiseEvent(together, 'go', 3);
    expect((await runtime.runToEnd(together)).output).toEqual([1, 3]);
  },

  'R:EV-12 R:CN-11 D-15 raised or cancelled before it exists: accepted, and nothing is made': async ({ open, id }) => {
    const runtime = open(waiting);
    const instance = id();
    await runtime.client.raiseEvent(instance, 'go', 1);
    await runtime.client.cancelInstance(instance, 'never');
    await runtime.client.enqueueEvent(instance, 'box', 1);
    await runtime.settle();
    expect((await runtime.client.getStatus(instance)).status).toBe('NotFound');
    await runtime.client.startOrchestration(instance, 'Wait');
    await runtime.settle();
    expect((await runtime.client.getStatus(instance)).status).toBe('Running');
    await runtime.client.cancelInstance(instance);
    await runtime.settle();
  },

  'R:QE-02 R:QE-03 R:QE-14 D-04 a mailbox keeps what comes early, in order, however much': async ({ open, id }) => {
    const runtime = open(waiting);
    const instance = id();
    const count = 150;
    await runtime.client.startOrchestration(instance, 'Take', count);
    await Promise.all(Array.from({ length: count }, (_, i) => runtime.client.enqueueEvent(instance, 'box', i)));
    expect((await runtime.runToEnd(instance)).output).toEqual(Array.from({ length: count }, (_, i) => i));
  },

  'R:QE-04 R:QE-07 a wait that lost its race takes no message': async ({ open, id }) => {
    const runtime = open(waiting);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Race');
    await runtime.settle();
    await runtime.advance(1_000);
    await runtime.client.enqueueEvent(instance, 'box', 'kept');
    expect((await runtime.runToEnd(instance)).output).toEqual({ index: 1, next: 'kept' });
  },

  'R:QE-05 R:QE-15 messages before the start and after the end are discarded': async ({ open, id }) => {
    const runtime = open(waiting);
    const instance = id();
    await runtime.client.enqueueEvent(instance, 'box', 'before');
    await runtime.settle();
    await runtime.client.startOrchestration(instance, 'Take', 1);
    await runtime.settle();
    await runtime.client.enqueueEvent(instance, 'box', 'during');
    expect((await runtime.runToEnd(instance)).output).toEqual(['during']);
    const kinds = await runtime.kinds(instance);
    await runtime.client.enqueueEvent(instance, 'box', 'after');
    await runtime.settle();
    expect(await runtime.kinds(instance)).toEqual(kinds);
  },

  'R:QE-16 R:QE-17 C-32 unread messages, values and status go along over continue-as-new': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Side() {
          return 'side';
        },
        *Hop(ctx, n) {
          if (n === 0) {
            yield ctx.waitForEvent('go');
            yield ctx.startOrchestration('Side', `${ctx.instanceId}-side`);
            ctx.setValue('key', 'value');
            ctx.setCustomStatus('hopping');
            return yield ctx.continueAsNew(1);
          }
          const taken = [];
          for (let i = 0; i < 5; i++) taken.push(yield ctx.dequeueEvent('box'));
          return { taken, value: ctx.getValue('key'), status: ctx.getCustomStatus() };
        },
      },
    });
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Hop', 0);
    await runtime.settle();
    for (let i = 0; i < 5; i++) await runtime.client.enqueueEvent(instance, 'box', i);
    await runtime.settle();
    await runtime.client.raiseEvent(instance, 'go');
    expect((await runtime.runToEnd(instance)).output).toEqual({
      taken: [0, 1, 2, 3, 4],
      value: 'value',
      status: 'hopping',
    });
    expect((await runtime.runToEnd(`${instance}-side`)).output).toBe('side');
    expect(await runtime.client.getValue(instance, 'key')).toBe('value');
  },

  'R:CN-01 R:CN-05 R:CN-12 cancel: failed with the first reason, once': async ({ open, id }) => {
    const runtime = open(waiting);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Wait');
    await runtime.settle();
    await runtime.client.cancelInstance(instance, 'first');
    await runtime.client.cancelInstance(instance, 'second');
    expect(await runtime.runToEnd(instance)).toMatchObject({ status: 'Failed', error: 'canceled: first' });
    const requests = (await runtime.kinds(instance)).filter((kind) => kind === 'OrchestrationCancelRequested');
    expect(requests).toHaveLength(1);
  },

  'R:CN-03 the request wins over a value returned in the same turn': async ({ open, id }) => {
    const runtime = open(waiting);
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Stubborn');
    await runtime.settle();
    await runtime.client.raiseEvent(instance, 'go');
    await runtime.client.cancelInstance(instance);
    expect(await runtime.runToEnd(instance)).toMatchObject({ status: 'Failed', error: 'canceled: ' });
  },

  'R:CN-06 R:CN-07 cancel a parent: its children end with "parent canceled"': async ({ open, id }) => {
    const runtime = open(waiting);
    const [parent, child] = [id('parent'), id('child')];
    await runtime.client.startOrchestration(parent, 'Parent', child);
    await runtime.settle();
    await runtime.client.cancelInstance(parent, 'stop');
    expect(await runtime.runToEnd(parent)).toMatchObject({ error: 'canceled: stop' });
    expect(await runtime.runToEnd(child)).toMatchObject({ error: 'canceled: parent canceled' });
  },

  'R:CN-09 cancel a child: its parent sees the failure': async ({ open, id }) => {
    const runtime = open(waiting);
    const [parent, child] = [id('parent'), id('child')];
    await runtime.client.startOrchestration(parent, 'Parent', child);
    await runtime.settle();
    await runtime.client.cancelInstance(child, 'no');
    expect((await runtime.runToEnd(parent)).output).toBe('child: canceled: no');
  },

  'R:CN-13 cancel queued with the start: the first turn ends it': async ({ open, id }) => {
    const runtime = open(waiting);
    const instance = id();
    await Promise.all([
      runtime.client.startOrchestration(instance, 'Wait'),
      runtime.client.cancelInstance(instance, 'at once'),
    ]);
    expect(await runtime.runToEnd(instance)).toMatchObject({ error: 'canceled: at once' });
  },

  'R:CN-04 R:CN-17 ended before a worker looked: the activity never runs': async ({ open, id }) => {
    let runs = 0;
    // With one slot nothing is taken by the commit of the turn: a worker has to look.
    const runtime = open({ ...waiting, activities: { Echo: () => ++runs } }, { workerConcurrency: 1 });
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Work');
    await runtime.parts.orchestrations.runOnce();
    await runtime.client.cancelInstance(instance);
    await runtime.parts.orchestrations.runOnce();
    await runtime.settle();
    expect(runs).toBe(0);
    expect(await runtime.kinds(instance)).toContain('ActivityCancelRequested');
  },

  'D-01 a second start, with another name or version, changes nothing': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        ...waiting.orchestrations,
        *Other() {
          return 'other';
        },
      },
    });
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Wait');
    await runtime.settle();
    await runtime.client.startOrchestration(instance, 'Other', 'second');
    await runtime.client.startOrchestrationVersioned(instance, 'Wait', 'third', '7.0.0');
    await runtime.settle();
    await runtime.client.raiseEvent(instance, 'go', 'mine');
    expect((await runtime.runToEnd(instance)).output).toBe('mine');
  },

  'D-02 R:CL-07 a child under an id that is taken: its parent is told, running or ended': async ({ open, id }) => {
    const runtime = open(waiting);
    const [taken, first, second] = [id('taken'), id(), id()];
    await runtime.client.startOrchestration(taken, 'Wait');
    await runtime.settle();
    await runtime.client.startOrchestration(first, 'Parent', taken);
    expect((await runtime.runToEnd(first)).output).toBe(
      `child: sub-orchestration instance id '${taken}' already exists`,
    );
    await runtime.client.raiseEvent(taken, 'go', 'still mine');
    expect((await runtime.runToEnd(taken)).output).toBe('still mine');
    await runtime.client.startOrchestration(second, 'Parent', taken);
    expect((await runtime.runToEnd(second)).output).toBe(
      `child: sub-orchestration instance id '${taken}' already exists and is terminal`,
    );
    await runtime.client.startOrchestration(taken, 'Wait');
    await runtime.settle();
    expect((await runtime.client.getStatus(taken)).output).toBe('"still mine"');
  },
});
