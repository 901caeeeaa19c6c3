import { expect } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import type { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';

type Ctx = any;

/** Everything that an instance can do, on a runtime with its loops. */
export async function useEverything(provider: DrizzleProvider, text = 'x'): Promise<void> {
  const runtime = new Runtime(provider, {
    logger: silentLogger,
    logLevel: 'off',
    workerTagFilter: { defaultAnd: [text] },
  });
  runtime.registerActivity(text, (_ctx, value) => value);
  runtime.registerOrchestration('Child', function* (_ctx: Ctx, value: unknown) {
    return value;
  });
  runtime.registerOrchestration(text, function* (ctx: Ctx, value: unknown) {
    ctx.setValue(text, text);
    ctx.setCustomStatus(text);
    const results: unknown[] = [
      yield ctx.scheduleActivity(text, value),
      yield ctx.scheduleActivity(text, value).withTag(text),
      yield ctx.scheduleActivityOnSession(text, value, text),
      yield ctx.scheduleSubOrchestration('Child', value),
      yield ctx.waitForEvent(text),
      yield ctx.dequeueEvent(text),
    ];
    yield ctx.scheduleTimer(1);
    return results;
  });
  await runtime.start();
  const client = new Client(provider);
  const id = `${text} ${randomBytes(4).toString('hex')}`;
  await client.startOrchestrationVersioned(id, text, text, '1.0.0');
  await client.waitForStatusChange(id, 0, 10, 60_000);
  // A positional event is lost on nobody who waits: sent until it is taken.
  const raising = setInterval(() => void client.raiseEvent(id, text, text).catch(() => undefined), 50);
  await client.enqueueEvent(id, text, text);
  try {
    expect((await client.waitForOrchestration(id, 60_000)).output).toEqual([text, text, text, text, text, text]);
  } finally {
    clearInterval(raising);
  }
  expect(await client.getValue(id, text)).toBe(text);
  expect(await client.listInstancesByStatus(text)).toEqual([]);
  expect(await client.listInstancesByStatus('Completed')).toContain(id);
  await client.getSystemMetrics();
  await client.getQueueDepths();
  await client.getInstanceTree(id);
  await client.pruneExecutions(id, { keepLast: 1 });
  await client.cancelInstance(id, text);
  await runtime.shutdown();
  expect((await client.deleteInstance(id)).instancesDeleted).toBe(2);
}
