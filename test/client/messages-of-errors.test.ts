import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { failureOf } from '../../src/cli/failure.js';
import type { CliIo } from '../../src/cli/io.js';
import { Client } from '../../src/client/client.js';
import { WaitTimeoutError } from '../../src/client/errors.js';
import { activity, orchestration } from '../../src/typed/definitions.js';
import { encodePayload } from '../../src/wire/payload.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { SteppedRuntime } from '../support/runtime-harness.js';

const order = orchestration('Order', async (_, input: unknown) => typeof input);

const clientOf = () => new Client(new MemoryProvider(new FakeClock()));

describe('a wait that ends without what it waited for', () => {
  test('R:CL-09 names instance and time-out; the methods of native keep its words', async () => {
    const client = clientOf();
    const handle = client.handle(order, 'order-1');
    await expect(handle.result({ timeoutMs: 0 })).rejects.toMatchObject({
      name: 'WaitTimeoutError',
      code: 'GenericFailure',
      message: "Operation timed out: instance 'order-1' has not ended within 0 ms",
      instanceId: 'order-1',
      timeoutMs: 0,
    });
    for (const wait of [client.waitForOrchestration('order-2', 0), client.waitForStatusChange('order-2', 0, 10, 0)]) {
      const error: unknown = await wait.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(WaitTimeoutError);
      expect(error).toMatchObject({ message: 'Operation timed out', instanceId: 'order-2', timeoutMs: 0 });
    }
  });
});

test('the command line says it in words of its own, which name the instance', () => {
  const io = { env: {} } as CliIo;
  expect(failureOf(new WaitTimeoutError('order-1', 5_000), io)).toMatchObject({
    exitCode: 8,
    message: 'instance "order-1" has not ended within 5000 ms; it goes on',
  });
});

const cyclic: { lines: unknown[] } = { lines: [1] };
cyclic.lines.push({ order: cyclic });
const shared = { price: 1 };

describe('values without a JSON form', () => {
  test.each<[string, unknown, string]>([
    ['a BigInt', 1n, 'Do not know how to serialize a BigInt, at $'],
    [
      'a BigInt inside',
      { lines: [{ price: 1 }, { 'the price': 2n }] },
      'Do not know how to serialize a BigInt, at $.lines[1]["the price"]',
    ],
    ['a cycle', cyclic, 'Converting circular structure to JSON, at $.lines[1].order'],
    [
      'a BigInt behind what is there twice',
      { a: shared, b: shared, c: 3n },
      'Do not know how to serialize a BigInt, at $.c',
    ],
    [
      'a BigInt from toJSON',
      { at: { toJSON: () => ({ ms: 4n }) } },
      'Do not know how to serialize a BigInt, at $.at.ms',
    ],
    ['a function', () => 1, 'a function has no JSON form'],
    ['a symbol', Symbol('secret'), 'a symbol has no JSON form'],
  ])('%s: the error names definition, instance and place, and no value', async (_, value, reason) => {
    const client = clientOf();
    const started = await client.start(order, value, { id: 'o-1' }).catch((error: unknown) => error);
    expect(started).toBeInstanceOf(TypeError);
    expect((started as Error).message).toBe(
      `the input of orchestration 'Order' for instance 'o-1' cannot be sent: ${reason}`,
    );
    await expect(client.startOrchestration('o-2', 'Order', value)).rejects.toThrow(
      `the input of orchestration 'Order' for instance 'o-2' cannot be sent: ${reason}`,
    );
    await expect(client.raiseEvent('o-2', 'paid', value)).rejects.toThrow(
      `the data for event 'paid' for instance 'o-2' cannot be sent: ${reason}`,
    );
    expect((await client.getStatus('o-1')).status).toBe('NotFound');
  });

  test('what a toJSON throws is the error of the value itself, and a long path is cut', async () => {
    const own = new TypeError('not this one');
    const throwing = {
      toJSON: () => {
        throw own;
      },
    };
    await expect(clientOf().start(order, throwing, { id: 'o-1' })).rejects.toBe(own);
    const far = { ['k'.repeat(500)]: 1n };
    await expect(clientOf().start(order, far, { id: 'o-1' })).rejects.toThrow(/, at \$\.k{198}…$/);
  });

  test('without a name the words are those of the engine, as native has them', () => {
    expect(() => encodePayload({ a: 1n })).toThrow(new TypeError('Do not know how to serialize a BigInt'));
  });

  test('an orchestration that calls with one fails with the place', async () => {
    const pay = activity('Pay', (_, input: unknown) => typeof input);
    const caller = orchestration('Caller', async (ctx) => ctx.call(pay, { amounts: [1n] }));
    const clock = new FakeClock();
    const runtime = new SteppedRuntime(new MemoryProvider(clock), clock, { definitions: [pay, caller] });
    const handle = await runtime.client.start(caller, undefined, { id: 'c-1' });
    await runtime.settle();
    await expect(handle.result({ timeoutMs: 0 })).rejects.toThrow(
      "input of activity 'Pay' cannot be sent: Do not know how to serialize a BigInt, at $.amounts[0]",
    );
  });
});
