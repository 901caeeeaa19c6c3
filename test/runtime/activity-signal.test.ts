import { expect, test } from '@jest/globals';
import { activity, FakeClock, orchestration } from '../../src/index.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { SteppedRuntime } from '../support/runtime-harness.js';

test('any number of requests of an activity may listen to its signal: Node.js warns of none', async () => {
  let most: unknown;
  const many = activity('many', (ctx) => void (most = maxListeners(ctx.signal)));
  const calls = orchestration('calls', async (ctx) => ctx.call(many));
  const clock = new FakeClock();
  const runtime = new SteppedRuntime(new MemoryProvider(clock), clock, { definitions: [many, calls] });
  await runtime.client.start(calls, undefined, { id: 'c' });
  await runtime.settle();
  expect(most).toBe(0);
});

/** What `events.getMaxListeners` answers, but that one refuses to say 0. */
function maxListeners(signal: AbortSignal): unknown {
  const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description?.includes('maxEventTarget'));
  return key && Reflect.get(signal, key);
}
