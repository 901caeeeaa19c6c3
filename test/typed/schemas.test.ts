import { describe, expect, test } from '@jest/globals';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { activity, Client, FakeClock, orchestration, type StandardSchema } from '../../src/index.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { SteppedRuntime } from '../support/runtime-harness.js';

interface Order {
  id: string;
  lines: { sku: string; count: number }[];
}

const schemas: readonly (readonly [string, StandardSchema<Order, Order>])[] = [
  ['zod', z.object({ id: z.string(), lines: z.array(z.object({ sku: z.string(), count: z.number() })) })],
  ['valibot', v.object({ id: v.string(), lines: v.array(v.object({ sku: v.string(), count: v.number() })) })],
  ['arktype', type({ id: 'string', lines: type({ sku: 'string', count: 'number' }).array() })],
];
const good: Order = { id: 'o-1', lines: [{ sku: 'a', count: 1 }] };
const bad = {
  id: 'o-2',
  lines: [
    { sku: 'a', count: 1 },
    { sku: 'b', count: 'secret' },
  ],
} as unknown as Order;

describe.each(schemas)('schemas of %s', (_vendor, schema) => {
  const clock = new FakeClock();
  const provider = new MemoryProvider(clock);
  const count = activity('count', async (_ctx, order: Order) => order.lines.length, { input: schema });
  const produce = activity('produce', async () => bad, { output: schema });
  const takes = orchestration('takes', async (ctx, order: Order) => ctx.call(count, order), { input: schema });
  const passes = orchestration('passes', async (ctx, order: Order) => {
    try {
      return await ctx.call(count, order);
    } catch (error) {
      return (error as Error).message;
    }
  });
  const starts = orchestration('starts', async (ctx, order: Order) => ctx.call(takes, order));
  const returns = orchestration('returns', async () => bad, { output: schema });
  const produces = orchestration('produces', async (ctx) => ctx.call(produce));
  const runtime = new SteppedRuntime(provider, clock, {
    definitions: [count, produce, takes, passes, starts, returns, produces],
  });
  const { client } = runtime;

  test('what fits passes the client, the orchestration and the activity', async () => {
    const handle = await client.start(takes, good);
    await runtime.settle();
    expect(await handle.result({ timeoutMs: 0 })).toBe(1);
  });

  test('an input that is refused at the start names the path, not the value, and nothing is stored', async () => {
    const calls = provider.calls.length;
    const error = await client.start(takes, bad, { id: 'refused' }).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({
      name: 'SchemaValidationError',
      place: { definition: "orchestration 'takes'", part: 'input' },
      issues: [{ path: 'lines.1.count' }],
    });
    expect((error as Error).message).toMatch(
      /^the input of orchestration 'takes' does not fit its schema: lines\.1\.count: /,
    );
    expect(provider.calls.length).toBe(calls);
    expect((await client.getStatus('refused')).status).toBe('NotFound');
  });

  test('an input that a call would pass on is refused there: no activity is scheduled, the code may catch it', async () => {
    const handle = await client.start(passes, bad);
    await runtime.settle();
    expect(await handle.result({ timeoutMs: 0 })).toMatch(
      /^the input of activity 'count' does not fit its schema: lines\.1\.count: /,
    );
    expect(await runtime.kinds(handle.id)).toEqual(['OrchestrationStarted', 'OrchestrationCompleted']);
  });

  test('a child is refused by its parent', async () => {
    const handle = await client.start(starts, bad);
    await runtime.settle();
    await expect(handle.result({ timeoutMs: 0 })).rejects.toMatchObject({
      message: expect.stringMatching(/SchemaValidationError: the input of orchestration 'takes'.*lines\.1\.count/),
    });
    expect(await runtime.kinds(handle.id)).toEqual(['OrchestrationStarted', 'OrchestrationFailed']);
  });

  test('what was started past the schema is refused before the handler runs', async () => {
    await client.startOrchestration('past', 'takes', bad);
    await runtime.settle();
    await expect(client.handle(takes, 'past').result({ timeoutMs: 0 })).rejects.toMatchObject({
      message: expect.stringMatching(/the input of orchestration 'takes'.*lines\.1\.count/),
    });
  });

  test('outputs are checked, too: of activities and of orchestrations', async () => {
    const [byActivity, byOrchestration] = [await client.start(produces), await client.start(returns)];
    await runtime.settle();
    await expect(byActivity.result({ timeoutMs: 0 })).rejects.toMatchObject({
      message: expect.stringMatching(/the output of activity 'produce'.*lines\.1\.count/),
    });
    await expect(byOrchestration.result({ timeoutMs: 0 })).rejects.toMatchObject({
      message: expect.stringMatching(/the output of orchestration 'returns'.*lines\.1\.count/),
    });
  });
});

describe('schemas that convert', () => {
  test('callers give what the schema takes, handlers get what it makes', async () => {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const due = orchestration('due', async (_ctx, input) => input.at.getTime() + input.days, {
      input: z.object({ at: z.string().transform((text) => new Date(text)), days: z.number().default(2) }),
    });
    const runtime = new SteppedRuntime(provider, clock, { definitions: [due] });
    const handle = await new Client(provider).start(due, { at: '1970-01-01T00:00:01Z' });
    await runtime.settle();
    expect(await handle.result({ timeoutMs: 0 })).toBe(1_002);
  });

  test('an asynchronous schema is refused where nothing may be awaited', async () => {
    const slow = orchestration('slow', async (_ctx, input: string) => input, {
      input: z.string().refine(async () => true),
    });
    const client = new Client(new MemoryProvider(new FakeClock()));
    await expect(client.start(slow, 'x')).rejects.toThrow(
      "the schema for the input of orchestration 'slow' is asynchronous; use a synchronous one",
    );
  });
});
