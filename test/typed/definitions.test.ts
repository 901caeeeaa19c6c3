import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import {
  activity,
  declareActivity,
  declareOrchestration,
  event,
  FakeClock,
  orchestration,
  Runtime,
  silentLogger,
} from '../../src/index.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { describeScenarios } from '../support/scenarios.js';

const greet = activity('greet', async (_ctx, who: string) => `Hello, ${who}!`);
const hello = orchestration('hello', async (ctx, input: { who: string }) => {
  const text = await ctx.call(greet, input.who);
  return { text };
});
const helloSteps = orchestration('hello-steps', function* (ctx, input: { who: string }) {
  const text = yield* ctx.call(greet, input.who);
  return { text };
});
const approved = event('approved', { data: z.object({ by: z.string() }) });
const approval = orchestration('approval', async (ctx) => {
  ctx.status.set({ waiting: true });
  const { by } = await ctx.waitForEvent(approved);
  return by;
});

describeScenarios(
  'typed definitions',
  {
    'an async orchestration, and a generator, call an activity and give its typed result': async ({ open, id }) => {
      const runtime = open({ definitions: [greet, hello, helloSteps] });
      const { client } = runtime;
      for (const definition of [hello, helloSteps]) {
        const handle = await client.start(definition, { who: 'Ann' }, { id: id() });
        await runtime.settle();
        const { text } = await handle.result({ timeoutMs: 0 });
        expect(text).toBe('Hello, Ann!');
        expect(await handle.status()).toMatchObject({ status: 'Completed', output: { text: 'Hello, Ann!' } });
      }
    },

    'a call of something that is no definition says what was given': async ({ open, id }) => {
      /** A context as JavaScript sees it: anything may be given. */
      type Untyped = Record<'call' | 'start' | 'waitForEvent' | 'dequeue', (...given: unknown[]) => Promise<unknown>>;
      const wrong: Record<string, [(ctx: Untyped) => Promise<unknown>, string]> = {
        undefined: [
          (ctx) => ctx.call(undefined, 1),
          'ctx.call: expected what activity(…), declareActivity(…), orchestration(…)',
        ],
        circle: [(ctx) => ctx.call(undefined, 1), 'got undefined; modules that import each other in a circle'],
        text: [(ctx) => ctx.call('a', 1), 'got string'],
        function: [(ctx) => ctx.call(() => 1, 1), 'got function'],
        event: [(ctx) => ctx.call(approved, 1), "got event 'approved'"],
        start: [(ctx) => ctx.start(undefined, 1, { id: 'x' }), 'ctx.start: expected what orchestration(…)'],
        'start without id': [(ctx) => ctx.start(hello, 1), 'ctx.start: expected { id } of the instance'],
        wait: [(ctx) => ctx.waitForEvent(undefined), 'ctx.waitForEvent: expected what event(…) returns, or a name'],
        dequeue: [(ctx) => ctx.dequeue(hello), "or a name, got orchestration 'hello'"],
      };
      const calls = orchestration('calls', async (ctx, which: string) => {
        await wrong[which]?.[0](ctx as unknown as Untyped);
      });
      const runtime = open({ definitions: [calls] });
      for (const [which, [, message]] of Object.entries(wrong)) {
        const handle = await runtime.client.start(calls, which, { id: id() });
        await runtime.settle();
        await expect(handle.result({ timeoutMs: 0 })).rejects.toThrow(message);
        await expect(handle.events.raise(undefined as never)).rejects.toThrow(
          'expected what event(…) returns, or a name',
        );
      }
    },

    'a handle raises typed events; data that the schema refuses is not stored': async ({ open, id, provider }) => {
      const runtime = open({ definitions: [approval] });
      const { client } = runtime;
      const handle = await client.start(approval, undefined, { id: id() });
      await runtime.settle();
      expect(await handle.status()).toMatchObject({ status: 'Running', custom: { waiting: true } });
      const refused = handle.events.raise(approved, { by: 7 } as never);
      await expect(refused).rejects.toThrow("the data of event 'approved' does not fit its schema: by: ");
      expect(await provider.due()).toMatchObject({ orchestrator: false });
      await handle.events.raise(approved, { by: 'Bo' });
      await runtime.settle();
      expect(await handle.result({ timeoutMs: 0 })).toBe('Bo');
    },

    "data that came past the sender's check is refused where it is awaited, as data of the event": async ({
      open,
      id,
    }) => {
      const runtime = open({ definitions: [approval] });
      const handle = await runtime.client.start(approval, undefined, { id: id() });
      await runtime.settle();
      await handle.events.raise('approved', { by: 7 });
      await runtime.settle();
      const failure = await handle.result({ timeoutMs: 0 }).catch((error: Error) => error.cause);
      expect(String(failure)).toContain("the data of event 'approved' does not fit its schema: by: ");
    },
  },
  ['memory', 'postgres'],
);

describe('registration', () => {
  const runtime = () => new Runtime(new MemoryProvider(new FakeClock()), { logger: silentLogger });

  test('the same definition may come again; another handler under its name is refused by name', () => {
    const target = runtime();
    target.register(greet, greet);
    target.register(greet);
    const other = activity('greet', async (_ctx, who: string) => who);
    expect(() => target.register(other)).toThrow("activity 'greet' is registered already with another handler");
    expect(() => target.registerActivity('greet', () => 1)).toThrow("activity 'greet' is registered already");
    const same = orchestration('hello', async () => 1);
    target.register(hello);
    expect(() => target.register(same)).toThrow("orchestration 'hello@1.0.0' is registered already");
    expect(() => target.registerOrchestration('hello', function* () {})).toThrow("'hello@1.0.0' is registered already");
  });

  test('of a list with one that is refused, none is registered', () => {
    const target = runtime();
    target.register(greet);
    const other = activity('greet', async (_ctx, who: string) => who);
    expect(() => target.register(hello, other)).toThrow("activity 'greet'");
    expect(() => target.register(orchestration('hello', async () => 1))).not.toThrow();
  });

  test('what is only declared, or no definition at all, is refused with what it is', () => {
    const target = runtime();
    expect(() => target.register(declareActivity('a') as never)).toThrow("activity 'a' is only declared");
    expect(() => target.register(declareOrchestration('o') as never)).toThrow("orchestration 'o' is only declared");
    expect(() => target.register(null as never)).toThrow('as argument 1, got null');
    expect(() => target.register(greet, (() => 1) as never)).toThrow('as argument 2, got function');
    expect(() => target.register(undefined as never)).toThrow(
      'got undefined; modules that import each other in a circle',
    );
    expect(() => target.register([greet] as never)).toThrow('got an array');
  });

  test('a name that the drop-in API has registered is taken', () => {
    const target = runtime();
    target.registerActivity('greet', () => 1);
    target.registerOrchestration('hello', function* () {});
    expect(() => target.register(greet)).toThrow("activity 'greet' is registered already");
    expect(() => target.register(hello)).toThrow("orchestration 'hello@1.0.0' is registered already");
  });

  test('impossible definitions name themselves', () => {
    expect(() => activity('', async () => 1)).toThrow("expected a non-empty string as the name, got ''");
    expect(() => activity('a', 7 as never)).toThrow("activity 'a': expected a function as the handler, got number");
    expect(() => orchestration('o', async () => 1, { version: 'new' })).toThrow(
      "'o': expected a version such as 1.2.3",
    );
    expect(() => activity('a', async () => 1, { retry: { maxAttempts: 0 } })).toThrow(
      "activity 'a': retry.maxAttempts: expected an integer of at least 1, got 0",
    );
    const policies: [unknown, string][] = [
      [3, 'retry: expected an object such as { maxAttempts: 3 }, got number'],
      [null, 'retry: expected an object such as { maxAttempts: 3 }, got null'],
      [{ backoff: 'fixed' }, "retry.backoff: expected an object such as { kind: 'fixed', delayMs: 100 }, got 'fixed'"],
      [{ backoff: { kind: 'slow' } }, "retry.backoff.kind: expected 'fixed', 'linear' or 'exponential', got 'slow'"],
      [{ backoff: { kind: 'fixed' } }, 'retry.backoff.delayMs: expected a finite number from 0, got undefined'],
      [{ backoff: { kind: 'linear' } }, 'retry.backoff.stepMs'],
      [{ backoff: { kind: 'exponential' } }, 'retry.backoff.initialMs'],
    ];
    for (const [retry, message] of policies) {
      expect(() => activity('a', async () => 1, { retry: retry as never })).toThrow(message);
    }
  });
});
