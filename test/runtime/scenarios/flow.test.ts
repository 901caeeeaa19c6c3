import { expect } from '@jest/globals';
import type { Handlers } from '../../support/runtime-harness.js';
import { describeScenarios } from '../../support/scenarios.js';

const echo = { Echo: (_ctx: unknown, input: unknown) => input };

describeScenarios('flow', {
  'R:FR-03 R:LK-14 one activity: its result is the output, and history has its four events': async ({ open, id }) => {
    const runtime = open({
      activities: { Greet: async (_ctx, who: string) => `hi ${who}` },
      orchestrations: {
        *Hello(ctx, who) {
          return yield ctx.scheduleActivity('Greet', who);
        },
      },
    });
    const instance = id();
    expect(await runtime.run(instance, 'Hello', 'Ann')).toMatchObject({ status: 'Completed', output: 'hi Ann' });
    expect(await runtime.kinds(instance)).toEqual([
      'OrchestrationStarted',
      'ActivityScheduled',
      'ActivityCompleted',
      'OrchestrationCompleted',
    ]);
  },

  'R:FF-06 code fails immediately: two events, and the text of the error': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Boom() {
          throw 'plain text';
        },
      },
    });
    const instance = id();
    expect(await runtime.run(instance, 'Boom')).toMatchObject({ status: 'Failed', error: 'plain text' });
    expect(await runtime.kinds(instance)).toEqual(['OrchestrationStarted', 'OrchestrationFailed']);
  },

  'R:FF-07 an activity failure that nobody catches ends the instance with the same text': async ({ open, id }) => {
    const runtime = open({
      activities: {
        Boom: () => {
          throw new Error('boom');
        },
      },
      orchestrations: {
        *Run(ctx) {
          return yield ctx.scheduleActivity('Boom');
        },
      },
    });
    const status = await runtime.run(id(), 'Run');
    expect(status.status).toBe('Failed');
    expect(status.error).toMatch(/^Error: Activity 'Boom' JS execution failed: GenericFailure, Error: boom\n/);
  },

  'R:FF-08 R:FF-09 R:FF-10 saga: compensation after a failed step, later steps never scheduled': async ({
    open,
    id,
  }) => {
    const ran: string[] = [];
    const runtime = open({
      activities: {
        Reserve: (_ctx, { failAt }) => step('Reserve', failAt),
        Ship: (_ctx, { failAt }) => step('Ship', failAt),
        Release: () => step('Release', ''),
      },
      orchestrations: {
        *Saga(ctx, input) {
          yield ctx.scheduleActivity('Reserve', input);
          try {
            yield ctx.scheduleActivity('Ship', input);
            return 'shipped';
          } catch {
            yield ctx.scheduleActivity('Release', input);
            return 'released';
          }
        },
      },
    });
    const step = (name: string, failAt: string) => {
      ran.push(name);
      if (failAt === name) throw new Error(`${name} failed`);
      return name;
    };
    expect(await runtime.run(id(), 'Saga', { failAt: 'Ship' })).toMatchObject({ output: 'released' });
    expect(ran.splice(0)).toEqual(['Reserve', 'Ship', 'Release']);
    expect((await runtime.run(id(), 'Saga', { failAt: 'Reserve' })).status).toBe('Failed');
    expect(ran.splice(0)).toEqual(['Reserve']);
    expect(await runtime.run(id(), 'Saga', { failAt: '' })).toMatchObject({ output: 'shipped' });
  },

  'R:FF-17 600 activities in a row complete': async ({ open, id, backend }) => {
    const steps = backend.name === 'memory' ? 600 : 40;
    const runtime = open({
      activities: echo,
      orchestrations: {
        *Chain(ctx) {
          let sum = 0;
          for (let i = 0; i < steps; i++) sum += yield ctx.scheduleActivity('Echo', i);
          return sum;
        },
      },
    });
    expect(await runtime.run(id(), 'Chain')).toMatchObject({ output: (steps * (steps - 1)) / 2 });
  },

  'R:RP-20 the same activity twice with one input: each result goes to its own call': async ({ open, id }) => {
    let calls = 0;
    const handlers: Handlers = {
      activities: { Count: () => ++calls },
      orchestrations: {
        *Twice(ctx) {
          const first = yield ctx.scheduleActivity('Count', 'same');
          const second = yield ctx.scheduleActivity('Count', 'same');
          return [first, second];
        },
      },
    };
    const before = open(handlers);
    const instance = id();
    await before.client.startOrchestration(instance, 'Twice');
    await before.step();
    // A restart in the middle: nothing of the first runtime is left but its rows.
    expect(await open(handlers).runToEnd(instance)).toMatchObject({ output: [1, 2] });
  },

  'R:JR-04 R:JR-07 all keeps the order of the tasks and the failure of one': async ({ open, id }) => {
    const runtime = open({
      activities: {
        ...echo,
        Boom: () => {
          throw 'no';
        },
      },
      orchestrations: {
        *Fan(ctx) {
          return yield ctx.all([
            ctx.scheduleActivity('Echo', 1),
            ctx.scheduleActivity('Boom'),
            ctx.scheduleActivity('Echo', 3),
          ]);
        },
      },
    });
    expect(await runtime.run(id(), 'Fan')).toMatchObject({
      output: [{ ok: 1 }, { err: "Activity 'Boom' JS execution failed: InvalidArg, no" }, { ok: 3 }],
    });
  },

  'R:TM-01 R:TM-02 R:TM-10 timers fire in due order and not before their time': async ({ open, id, clock }) => {
    const runtime = open({
      orchestrations: {
        *Wait(ctx) {
          const tasks = [ctx.scheduleTimer(3_000), ctx.scheduleTimer(1_000), ctx.scheduleTimer(2_000)];
          return yield ctx.all(tasks);
        },
      },
    });
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Wait');
    await runtime.settle();
    await runtime.advance(999);
    expect(await runtime.kinds(instance)).not.toContain('TimerFired');
    const startedAtMs = clock.nowMs() - 999;
    expect(await runtime.runToEnd(instance)).toMatchObject({ status: 'Completed' });
    expect(clock.nowMs()).toBe(startedAtMs + 3_000);
    const fired = (await runtime.history(instance)).filter(({ kind }) => kind === 'TimerFired');
    expect(fired.map(({ sourceEventId }) => sourceEventId)).toEqual([3, 4, 2]);
  },

  'R:TM-04 R:TM-05 R:TM-08 a timer survives the runtime that created it, before and after it is due': async ({
    open,
    id,
  }) => {
    const handlers: Handlers = {
      orchestrations: {
        *Sleep(ctx) {
          yield ctx.scheduleTimer(60_000);
          return 'awake';
        },
      },
    };
    const instances = [id(), id()];
    const before = open(handlers);
    for (const instance of instances) await before.client.startOrchestration(instance, 'Sleep');
    await before.settle();
    before.clock.advance(120_000);
    const after = open(handlers);
    await after.settle();
    for (const instance of instances) {
      expect(await after.client.getStatus(instance)).toMatchObject({ status: 'Completed', output: '"awake"' });
    }
  },

  'R:TM-06 a timer of zero completes in one round trip': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Zero(ctx) {
          return yield ctx.scheduleTimer(0);
        },
      },
    });
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Zero');
    await runtime.settle();
    expect(await runtime.client.getStatus(instance)).toMatchObject({ status: 'Completed', output: 'null' });
  },

  'R:TM-07 a timer of a cancelled instance vanishes when it is due': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Sleep(ctx) {
          yield ctx.scheduleTimer(5_000);
        },
      },
    });
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Sleep');
    await runtime.settle();
    await runtime.client.cancelInstance(instance, 'enough');
    await runtime.settle();
    const events = await runtime.kinds(instance);
    await runtime.advance(10_000);
    expect(await runtime.kinds(instance)).toEqual(events);
    expect((await runtime.provider.due()).orchestrator).toBe(false);
  },

  'R:TM-09 a second timer measures from its own scheduling': async ({ open, id, clock }) => {
    const runtime = open({
      orchestrations: {
        *Two(ctx) {
          yield ctx.scheduleTimer(1_000);
          yield ctx.scheduleTimer(1_000);
        },
      },
    });
    const startedAtMs = clock.nowMs();
    await runtime.run(id(), 'Two');
    expect(clock.nowMs() - startedAtMs).toBe(2_000);
  },

  'R:RT-08 R:RT-09 R:RT-10 R:RT-17 retries: three schedules and two timers, then the last failure': async ({
    open,
    id,
  }) => {
    let calls = 0;
    const runtime = open({
      activities: {
        Flaky: (_ctx, good: number) => {
          calls += 1;
          if (calls < good) throw new Error(`try ${calls}`);
          return calls;
        },
      },
      orchestrations: {
        *Retry(ctx, good) {
          return yield ctx.scheduleActivityWithRetry('Flaky', good, { maxAttempts: 3, backoff: 'fixed' });
        },
      },
    });
    const instance = id();
    expect(await runtime.run(instance, 'Retry', 3)).toMatchObject({ output: 3 });
    const kinds = await runtime.kinds(instance);
    expect(kinds.filter((kind) => kind === 'ActivityScheduled')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'TimerCreated')).toHaveLength(2);
    calls = 0;
    expect((await runtime.run(id(), 'Retry', 99)).error).toContain('Error: try 3');
  },

  'R:SC-01 R:SC-02 R:SC-03 R:SC-09 newGuid and utcNow are recorded, even with an empty registry': async ({
    open,
    id,
    clock,
  }) => {
    const runtime = open({
      orchestrations: {
        *Calls(ctx) {
          const first = yield ctx.newGuid();
          const now = yield ctx.utcNow();
          const second = yield ctx.newGuid();
          yield ctx.scheduleTimer(1);
          return { first, second, now };
        },
      },
    });
    const before = clock.nowMs();
    const { output } = (await runtime.run(id(), 'Calls')) as { output: { first: string; second: string; now: number } };
    expect(output.first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(output.second).not.toBe(output.first);
    expect(output.now).toBe(before);
  },

  'R:CA-01 R:CA-08 R:CA-16 continue-as-new: each execution has its own history and input': async ({
    open,
    id,
    provider,
  }) => {
    const runtime = open({
      activities: echo,
      orchestrations: {
        *Countdown(ctx, n) {
          yield ctx.scheduleActivity('Echo', n);
          if (n > 0) return yield ctx.continueAsNew(n - 1);
          return { executions: ctx.executionId };
        },
      },
    });
    const instance = id();
    expect(await runtime.run(instance, 'Countdown', 3)).toMatchObject({ output: { executions: 4 } });
    expect(await runtime.client.listExecutions(instance)).toEqual([1, 2, 3, 4]);
    const started = (await provider.readWithExecution(instance, 3))[0];
    expect(started).toMatchObject({ kind: 'OrchestrationStarted', input: '1' });
    expect(await runtime.kinds(instance, 3)).toContain('OrchestrationContinuedAsNew');
  },

  'R:CA-03 R:CA-15 R:ND-25 an activity that ends after continue-as-new is ignored': async ({ open, id }) => {
    const runtime = open({
      activities: echo,
      orchestrations: {
        *Leave(ctx, n) {
          if (n === 0) {
            yield ctx.race(ctx.scheduleActivity('Echo', 'late'), ctx.waitForEvent('go'));
            return yield ctx.continueAsNew(1);
          }
          yield ctx.scheduleTimer(1_000);
          return 'second';
        },
      },
    });
    const instance = id();
    expect(await runtime.run(instance, 'Leave', 0)).toMatchObject({ output: 'second' });
  },

  'R:CA-05 R:CA-06 R:VR-01 R:VR-02 versions: policy, explicit, and the newest after continue-as-new': async ({
    open,
    id,
  }) => {
    const runtime = open({
      orchestrations: {
        *'V@1.0.0'(ctx, input) {
          if (input === 'named') return yield ctx.continueAsNewVersioned('done', '2.0.0');
          if (input === 'policy') return yield ctx.continueAsNew('done');
          return `one ${ctx.orchestrationVersion}`;
        },
        *'V@2.0.0'(ctx) {
          return `two ${ctx.orchestrationVersion}`;
        },
        *'V@10.0.0'(ctx) {
          return `ten ${ctx.orchestrationVersion}`;
        },
      },
    });
    expect(await runtime.run(id(), 'V')).toMatchObject({ output: 'ten 10.0.0' });
    for (const [input, output] of [
      ['stay', 'one 1.0.0'],
      ['named', 'two 2.0.0'],
      ['policy', 'ten 10.0.0'],
    ]) {
      const instance = id();
      await runtime.client.startOrchestrationVersioned(instance, 'V', input, '1.0.0');
      expect(await runtime.runToEnd(instance)).toMatchObject({ output });
    }
  },

  'R:SO-01 R:SO-02 R:SO-03 children: results flow up, ids are derived from the parent': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Leaf(_ctx, n) {
          return n * 2;
        },
        *Middle(ctx, n) {
          return (yield ctx.scheduleSubOrchestration('Leaf', n)) + 1;
        },
        *Root(ctx) {
          const results = yield ctx.all([1, 2, 3].map((n) => ctx.scheduleSubOrchestration('Middle', n)));
          return results.map((result: { ok: number }) => result.ok);
        },
      },
    });
    const instance = id();
    expect(await runtime.run(instance, 'Root')).toMatchObject({ output: [3, 5, 7] });
    const tree = await runtime.provider.asManagement().listInstances();
    expect(tree).toEqual(expect.arrayContaining([`${instance}::sub::2`, `${instance}::sub::2::sub::2`]));
  },

  'R:SO-08 R:SO-10 D-06 detached starts run alone, also beside continue-as-new': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Side(_ctx, input) {
          return input;
        },
        *Main(ctx, { side, again }) {
          yield ctx.startOrchestration('Side', side, 'from main');
          if (again) return yield ctx.continueAsNew({ side: `${side}-2`, again: false });
          return 'main';
        },
      },
    });
    const instance = id();
    const side = id('side');
    expect(await runtime.run(instance, 'Main', { side, again: true })).toMatchObject({ output: 'main' });
    await runtime.settle();
    for (const started of [side, `${side}-2`]) {
      expect(await runtime.client.getStatus(started)).toMatchObject({ status: 'Completed', output: '"from main"' });
    }
  },
});
