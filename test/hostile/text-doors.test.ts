import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { startItem } from '../../src/conformance/records.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { type Handlers, SteppedRuntime } from '../support/runtime-harness.js';
import { asStored, nested, RAW_TEXTS, ROUND_TRIPPING } from './hostile-values.js';

type Ctx = any;

const schema = uniqueSchema('doors');
const clock = new FakeClock();
let provider: DrizzleProvider;
let runtime: SteppedRuntime;
let serial = 0;
const unique = (what: string) => `${what}-${++serial}`;

const handlers: Handlers = {
  activities: {
    Echo: (_ctx, value: unknown) => value,
    Throw: (_ctx, value: unknown) => Promise.reject(new Error(value as string)),
    Deep: (_ctx, depth: number) => nested(depth),
  },
  orchestrations: {
    *Echo(_ctx: Ctx, value: unknown) {
      return value;
    },
    *Activity(ctx: Ctx, value: unknown) {
      return yield ctx.scheduleActivity('Echo', value);
    },
    *Child(ctx: Ctx, value: unknown) {
      return yield ctx.scheduleSubOrchestration('Echo', value);
    },
    *Event(ctx: Ctx) {
      return yield ctx.waitForEvent('e');
    },
    *Queue(ctx: Ctx) {
      return yield ctx.dequeueEvent('q');
    },
    *Again(ctx: Ctx, input: { value: unknown; again: boolean }) {
      return input.again ? yield ctx.continueAsNew({ value: input.value, again: false }) : input.value;
    },
    *Raw(ctx: Ctx, text: string) {
      ctx.setValue(`key ${text}`, text);
      ctx.setCustomStatus(text);
      yield ctx.scheduleTimer(0);
      return [ctx.getValue(`key ${text}`), ctx.getCustomStatus(), ctx.getKvAllKeys()];
    },
    *Failing(ctx: Ctx, text: string) {
      try {
        yield ctx.scheduleActivity('Throw', text);
      } catch (error) {
        throw new Error((error as Error).message, { cause: error });
      }
    },
    *Depth(ctx: Ctx, value: unknown) {
      let depth = 0;
      for (let at = value; Array.isArray(at); at = at[0]) depth += 1;
      try {
        yield ctx.scheduleActivity('Echo', value);
      } catch (error) {
        return { depth, error: (error as Error).name };
      }
      return { depth };
    },
    *DeepOutput(_ctx: Ctx, depth: number) {
      return nested(depth);
    },
    *DeepResult(ctx: Ctx, depth: number) {
      yield ctx.scheduleActivity('Deep', depth);
      return 'passed';
    },
  },
};

beforeAll(async () => {
  provider = await DrizzleProvider.connect(databaseUrl(), {
    schema,
    clock,
    logger: silentLogger,
    notifications: false,
  });
});
afterAll(async () => {
  await provider.close();
  await dropSchema(schema);
});
beforeEach(() => {
  runtime = new SteppedRuntime(provider, clock, handlers, { warmInstances: serial % 2 === 0 ? 0 : 100 });
});
afterEach(async () => {
  // Whatever a test sent: a healthy instance still ends, and nothing global has changed.
  const neighbour = unique('neighbour');
  expect(await runtime.run(neighbour, 'Activity', 'healthy')).toMatchObject({ status: 'Completed', output: 'healthy' });
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  await runtime.stop();
});

const values = Object.entries(ROUND_TRIPPING).map(([what, value]) => ({ what, value }));

describe('C-19 C-20 C-22 C-24 every door for values gives back what it was given', () => {
  test.each(values)('$what', async ({ value }) => {
    const stored = asStored(value);
    const { client } = runtime;
    for (const door of ['Echo', 'Activity', 'Child']) {
      const { status, output } = await runtime.run(unique('v'), door, value);
      expect([door, status]).toEqual([door, 'Completed']);
      // Compared as text: what is 2,000 deep is too much for `toEqual`.
      expect(JSON.stringify(output) === JSON.stringify(stored)).toBe(true);
    }
    const again = await runtime.run(unique('v'), 'Again', { value, again: true });
    expect(JSON.stringify(again.output) === JSON.stringify(stored)).toBe(true);
    for (const [door, send] of [
      ['Event', (id: string) => client.raiseEvent(id, 'e', value)],
      ['Queue', (id: string) => client.enqueueEvent(id, 'q', value)],
    ] as const) {
      const id = unique('v');
      await client.startOrchestration(id, door);
      await runtime.settle();
      await send(id);
      const { status, output } = await runtime.runToEnd(id);
      expect([door, status]).toEqual([door, 'Completed']);
      expect(JSON.stringify(output) === JSON.stringify(stored)).toBe(true);
    }
  });

  test('an own key `__proto__` stays an own key', async () => {
    const value: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
    const { output } = await runtime.run(unique('p'), 'Activity', value);
    expect(Object.keys(output as object)).toEqual(['__proto__']);
  });
});

describe('C-19 doors for raw text clean what PostgreSQL cannot store, and nothing else', () => {
  test.each(Object.entries(RAW_TEXTS).map(([what, texts]) => ({ what, ...texts })))(
    '$what',
    async ({ given, kept }) => {
      const id = unique('raw');
      const { status, output } = await runtime.run(id, 'Raw', given);
      expect({ status, output }).toEqual({ status: 'Completed', output: [kept, kept, [`key ${kept}`]] });
      expect(await runtime.client.getKvAllValues(id)).toEqual({ [`key ${kept}`]: kept });
      expect((await runtime.client.getStatus(id)).customStatus).toBe(kept);
      const failed = await runtime.run(unique('raw'), 'Failing', given);
      expect(failed).toMatchObject({ status: 'Failed', error: expect.stringContaining(kept) });
      await runtime.client.startOrchestration(`cancel-${id}`, 'Event');
      await runtime.settle();
      await runtime.client.cancelInstance(`cancel-${id}`, given);
      expect(await runtime.runToEnd(`cancel-${id}`)).toMatchObject({
        status: 'Failed',
        error: expect.stringContaining(kept),
      });
    },
  );

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    '%s is an id, a name, an event and a key like any other',
    async (text) => {
      const named = new SteppedRuntime(provider, clock, {
        activities: { [text]: () => 'ran' },
        orchestrations: {
          [`o ${text}`]: function* (ctx: Ctx) {
            ctx.setValue(text, 'value');
            const event: unknown = yield ctx.waitForEvent(text);
            const message: unknown = yield ctx.dequeueEvent(text);
            const result: unknown = yield ctx.scheduleActivity(text);
            return [event, message, result, ctx.getKvAllValues(), ctx.getValue(text)];
          },
        },
      });
      await named.client.startOrchestration(text, `o ${text}`);
      await named.settle();
      await named.client.raiseEvent(text, text, 1);
      await named.client.enqueueEvent(text, text, 2);
      const { output } = await named.runToEnd(text);
      const [event, message, result, all, value] = output as unknown[];
      expect([event, message, result, value]).toEqual([1, 2, 'ran', 'value']);
      expect(Object.entries(all as object)).toEqual([[text, 'value']]);
      expect(await named.client.getValue(text, text)).toBe('value');
      expect(Object.entries(await named.client.getKvAllValues(text))).toEqual([[text, 'value']]);
      expect(await named.client.deleteInstance(text)).toMatchObject({ instancesDeleted: 1 });
      await named.stop();
    },
  );
});

describe('C-33 what cannot become JSON fails where it is, and nothing else', () => {
  /** More than the stack of JSON.stringify takes. */
  const TOO_DEEP = 2_000_000;

  test('at the client', async () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const value of [nested(TOO_DEEP), cycle, 1n, () => 1, Symbol('s')]) {
      await expect(runtime.client.startOrchestration(unique('x'), 'Echo', value)).rejects.toThrow();
      await expect(runtime.client.raiseEvent('x', 'e', value)).rejects.toThrow();
    }
  });

  test('what another SDK sends may be nested deeper than JavaScript can write again', async () => {
    const send = async (depth: number) => {
      const instance = unique('deep');
      const input = '['.repeat(depth) + ']'.repeat(depth);
      await provider.enqueueForOrchestrator([
        { item: startItem(instance, { orchestration: 'Depth', version: null, input }) },
      ]);
      return runtime.runToEnd(instance);
    };
    expect(await send(1_000)).toMatchObject({ status: 'Completed', output: { depth: 1_000 } });
    // Read whole; what passes it on fails, as an error of the code.
    expect(await send(100_000)).toMatchObject({ output: { depth: 100_000, error: 'RangeError' } });
  });

  test('in an activity, and as an output', async () => {
    expect(await runtime.run(unique('deep'), 'DeepResult', 2_000)).toMatchObject({
      status: 'Completed',
      output: 'passed',
    });
    expect(await runtime.run(unique('deep'), 'DeepResult', TOO_DEEP)).toMatchObject({
      status: 'Failed',
      error: expect.stringMatching(/nested too deeply/),
    });
    expect(await runtime.run(unique('deep'), 'DeepOutput', TOO_DEEP)).toMatchObject({ status: 'Failed' });
  });
});
