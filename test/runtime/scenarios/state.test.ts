import { expect } from '@jest/globals';
import { describeScenarios } from '../../support/scenarios.js';

describeScenarios('state', {
  'R:CS-01 R:CS-03 R:CS-04 R:CS-08 custom status: the last of a turn, one version per turn, kept at the end': async ({
    open,
    id,
  }) => {
    const runtime = open({
      orchestrations: {
        *Run(ctx) {
          ctx.setCustomStatus('a');
          ctx.setCustomStatus('b');
          yield ctx.scheduleTimer(1);
          yield ctx.scheduleTimer(1);
          ctx.setCustomStatus('c');
        },
      },
    });
    const instance = id();
    await runtime.client.startOrchestration(instance, 'Run');
    await runtime.settle();
    expect(await runtime.client.getStatus(instance)).toMatchObject({ customStatus: 'b', customStatusVersion: 1 });
    expect(await runtime.runToEnd(instance)).toMatchObject({ customStatus: 'c', customStatusVersion: 2 });
  },

  'R:CS-02 R:CS-06 reset: no status, a higher version; never set: version 0': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Reset(ctx) {
          ctx.setCustomStatus('a');
          yield ctx.scheduleTimer(1);
          ctx.resetCustomStatus();
        },
        *Never() {},
      },
    });
    const reset = await runtime.run(id(), 'Reset');
    expect(reset).toMatchObject({ customStatusVersion: 2 });
    expect(reset).not.toHaveProperty('customStatus');
    const never = await runtime.run(id(), 'Never');
    expect(never).toEqual({ status: 'Completed', output: null, customStatusVersion: 0 });
  },

  'R:CS-07 R:KV-01 status and values are visible on a failed instance': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Fail(ctx) {
          ctx.setCustomStatus('bad');
          ctx.setValue('k', 'v');
          throw 'no';
        },
      },
    });
    const instance = id();
    expect(await runtime.run(instance, 'Fail')).toMatchObject({ status: 'Failed', customStatus: 'bad' });
    expect(await runtime.client.getValue(instance, 'k')).toBe('v');
  },

  'R:CS-09 a status at the limit passes, one byte more fails the instance': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Set(ctx, n) {
          ctx.setCustomStatus('é'.repeat(131_072) + 'x'.repeat(n));
        },
      },
    });
    expect((await runtime.run(id(), 'Set', 0)).status).toBe('Completed');
    expect((await runtime.run(id(), 'Set', 1)).error).toBe(
      'Custom status size (262145 bytes) exceeds limit (262144 bytes)',
    );
  },

  'R:KV-03 R:KV-09 R:KV-14 R:KV-23 values behave as a map, over turns and executions': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Map(ctx, round) {
          if (round === 0) {
            ctx.setValue('a', 1);
            ctx.setValue('b', 'x');
            ctx.setValue('b', 'y');
            ctx.setValue('c', 'gone');
            yield ctx.scheduleTimer(1);
            ctx.clearValue('c');
            return yield ctx.continueAsNew(1);
          }
          const carried = ctx.getKvAllValues();
          ctx.clearAllValues();
          ctx.setValue('d', ctx.getKvLength());
          yield ctx.scheduleTimer(1);
          return { carried, now: ctx.getKvAllValues(), keys: ctx.getKvAllKeys() };
        },
      },
    });
    const instance = id();
    expect((await runtime.run(instance, 'Map', 0)).output).toEqual({
      carried: { a: '1', b: 'y' },
      now: { d: '0' },
      keys: ['d'],
    });
    expect(await runtime.client.getKvAllValues(instance)).toEqual({ d: '0' });
  },

  'R:KV-11 read-modify-write in each turn replays': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Count(ctx) {
          for (let i = 0; i < 4; i++) {
            ctx.setValue('n', Number(ctx.getValue('n') ?? 0) + 1);
            yield ctx.scheduleTimer(1);
          }
          return ctx.getValue('n');
        },
      },
    });
    expect((await runtime.run(id(), 'Count')).output).toBe('4');
  },

  'R:KV-16 R:KV-17 values of another instance: a value, a missing key, an unknown instance': async ({ open, id }) => {
    const runtime = open({
      orchestrations: {
        *Owner(ctx) {
          ctx.setValue('shared', 'hello');
        },
        *Reader(ctx, owner) {
          const value = yield ctx.getValueFromInstance(owner, 'shared');
          const missing = yield ctx.getValueFromInstance(owner, 'other');
          const unknown = yield ctx.getValueFromInstance('nobody', 'shared');
          return [value, missing, unknown, ctx.getValue('shared')];
        },
      },
    });
    const owner = id('owner');
    await runtime.run(owner, 'Owner');
    expect((await runtime.run(id(), 'Reader', owner)).output).toEqual(['hello', null, null, null]);
  },

  'R:KV-20 D-05 D-13 limits of keys and values: at the limit, above it, and a parent that waits': async ({
    open,
    id,
  }) => {
    const runtime = open({
      orchestrations: {
        *Keys(ctx, n) {
          for (let i = 0; i < n; i++) ctx.setValue(`k${i}`, i);
          yield ctx.scheduleTimer(1);
        },
        *Value(ctx, n) {
          ctx.setValue('k', 'x'.repeat(n));
        },
        *Parent(ctx, n) {
          try {
            return yield ctx.scheduleSubOrchestration('Value', n);
          } catch (error) {
            return (error as Error).message;
          }
        },
      },
    });
    expect((await runtime.run(id(), 'Keys', 150)).status).toBe('Completed');
    expect((await runtime.run(id(), 'Keys', 151)).error).toBe('KV key count (151) exceeds limit (150)');
    expect((await runtime.run(id(), 'Value', 65_536)).status).toBe('Completed');
    const tooLong = "KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)";
    expect((await runtime.run(id(), 'Value', 65_537)).error).toBe(tooLong);
    expect((await runtime.run(id(), 'Parent', 65_537)).output).toBe(tooLong);
  },

  'C-20 a string that looks like JSON stays a string, on every path': async ({ open, id }) => {
    const strings = ['123', 'true', 'null', '"0.1"', '{"n":5}', ''];
    const runtime = open({
      activities: { Echo: (_ctx, input: unknown) => input },
      orchestrations: {
        *Child(_ctx, input) {
          return input;
        },
        *Paths(ctx, text) {
          const activity = yield ctx.scheduleActivity('Echo', text);
          const [all] = yield ctx.all([ctx.scheduleActivity('Echo', text)]);
          const race = yield ctx.race(ctx.scheduleActivity('Echo', text), ctx.scheduleTimer(60_000));
          const child = yield ctx.scheduleSubOrchestration('Child', text);
          const event = yield ctx.waitForEvent('go');
          const message = yield ctx.dequeueEvent('box');
          ctx.setValue('k', text);
          ctx.setCustomStatus(text);
          return [activity, all.ok, race.value, child, event, message, ctx.getValue('k'), ctx.getCustomStatus()];
        },
      },
    });
    for (const text of strings) {
      const instance = id();
      await runtime.client.startOrchestration(instance, 'Paths', text);
      await runtime.settle();
      await runtime.client.raiseEvent(instance, 'go', text);
      await runtime.client.enqueueEvent(instance, 'box', text);
      const { output, customStatus } = await runtime.runToEnd(instance);
      expect(output).toEqual(Array(8).fill(text));
      expect(customStatus).toBe(text);
    }
  },

  'C-21 C-22 falsy values and odd keys arrive as they were sent': async ({ open, id }) => {
    const values = [0, '', false, null, { snake_case: 1, 'a-b': 2, '': 3, '10': 1, '9': 2, __proto__x: 1 }];
    const runtime = open({
      activities: { Echo: (_ctx, input: unknown) => input },
      orchestrations: {
        *Paths(ctx, { value, round }) {
          if (round === 0) return yield ctx.continueAsNew({ value, round: 1 });
          const activity = yield ctx.scheduleActivity('Echo', value);
          const event = yield ctx.waitForEvent('go');
          const message = yield ctx.dequeueEvent('box');
          return [value, activity, event, message];
        },
      },
    });
    for (const value of values) {
      const instance = id();
      await runtime.client.startOrchestration(instance, 'Paths', { value, round: 0 });
      await runtime.settle();
      await runtime.client.raiseEvent(instance, 'go', value);
      await runtime.client.enqueueEvent(instance, 'box', value);
      const { output } = await runtime.runToEnd(instance);
      expect(JSON.stringify(output)).toBe(JSON.stringify(Array(4).fill(value)));
    }
  },

  'C-19 D-24 a NUL in an error text: U+FFFD for the orchestration, and its neighbour is well': async ({ open, id }) => {
    const runtime = open({
      activities: {
        Bad: () => {
          throw new Error('a\u0000b');
        },
        Echo: (_ctx, input: unknown) => input,
      },
      orchestrations: {
        *Catch(ctx) {
          try {
            return yield ctx.scheduleActivity('Bad');
          } catch (error) {
            return [(error as Error).message, yield ctx.scheduleActivity('Echo', { s: 'a\u0000b' })];
          }
        },
        *Neighbour() {
          return 'well';
        },
      },
    });
    const [instance, neighbour] = [id(), id()];
    await runtime.client.startOrchestration(instance, 'Catch');
    await runtime.client.startOrchestration(neighbour, 'Neighbour');
    const { output } = await runtime.runToEnd(instance);
    expect(output).toEqual(["Activity 'Bad' JS execution failed: GenericFailure, Error: a\uFFFDb", { s: 'a\u0000b' }]);
    expect((await runtime.runToEnd(neighbour)).output).toBe('well');
  },

  'D-22 a raw input of another SDK is the string itself': async ({ open, id, provider }) => {
    const runtime = open({
      orchestrations: {
        *Raw(_ctx, input) {
          return { input };
        },
      },
    });
    for (const [raw, input] of [
      ['not json', 'not json'],
      ['', undefined],
    ] as const) {
      const instance = id();
      await provider.enqueueForOrchestrator([
        {
          item: {
            kind: 'StartOrchestration',
            instance,
            orchestration: 'Raw',
            input: raw,
            version: null,
            parentInstance: null,
            parentId: null,
            executionId: 1,
          },
        },
      ]);
      expect((await runtime.runToEnd(instance)).output).toEqual(input === undefined ? {} : { input });
    }
  },
});
