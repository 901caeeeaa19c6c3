/** Run by a test with a heap of 64 MB: payloads of several MiB through every path, many at once. */
import { Client } from '../../../src/client/client.js';
import { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../../src/runtime/runtime.js';

const [url = '', schema = ''] = process.argv.slice(2);
const MIB = 1024 * 1024;
const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const provider = await DrizzleProvider.connect(url, { schema, maxConnections: 4 });
const runtime = new Runtime(provider, { logLevel: 'off', maxPayloadBytes: 16 * MIB, workerConcurrency: 2 });
runtime.registerActivity('Make', (_ctx, bytes) => 'x'.repeat(bytes as number));
runtime.registerOrchestration('Large', function* (ctx, bytes: number) {
  const made = (yield ctx.scheduleActivity('Make', bytes)) as unknown as string;
  const event = (yield ctx.waitForEvent('e')) as unknown as string;
  return [made.length, event.length];
});
runtime.registerOrchestration('Caught', function* (ctx, bytes: number) {
  try {
    yield ctx.scheduleActivity('Make', bytes);
    return 'passed';
  } catch (error) {
    return (error as Error).message;
  }
});
await runtime.start();
const client = new Client(provider, { maxPayloadBytes: 16 * MIB });

async function run(id: string, mebibytes: number): Promise<unknown> {
  await client.startOrchestration(id, 'Large', mebibytes * MIB);
  for (;;) {
    const history = await client.getOrchestrationStats(id);
    if ((history?.historyEventCount ?? 0) >= 4) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await client.raiseEvent(id, 'e', 'y'.repeat(mebibytes * MIB));
  return (await client.waitForOrchestration(id, 120_000)).output;
}

print({ one: await run('one', 1) });
print({ four: await run('four', 4) });
// Beyond the limit: refused where it is made, once, without a copy too many.
print({
  over: await client.startOrchestration('over', 'Large', 'z'.repeat(17 * MIB)).catch((error: Error) => error.message),
});
await client.startOrchestration('caught', 'Caught', 17 * MIB);
print({ caught: (await client.waitForOrchestration('caught', 120_000)).output });
const many = Array.from({ length: 20 }, (_, n) => `many-${n}`);
for (const id of many) print({ [id]: await run(id, 1) });
print({ healthy: await run('healthy', 0), heapMb: Math.round(process.memoryUsage().heapTotal / MIB) });
await runtime.shutdown();
await provider.close();
process.exit(0);
