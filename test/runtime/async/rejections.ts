/**
 * Run by `rejections.test.ts` in a process of its own: what an unhandled rejection of an
 * orchestration, of an activity and of nobody does to a process with a runtime.
 */
import { activity, Client, type Logger, orchestration, Runtime } from '../../../src/index.js';
import { SystemClock } from '../../../src/base/clock.js';
import { MemoryProvider } from '../../support/memory-provider.js';

const [what] = process.argv.slice(2);
const logger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (_fields, message) => console.log(`warning: ${message}`),
  error: (_fields, message) => console.log(`error: ${message}`),
};

const fail = activity('fail', async (): Promise<string> => {
  throw new TypeError('boom');
});
const pass = activity('pass', async () => 'passed');

/** Rejects while the code waits for something else, and is awaited afterwards. */
const late = orchestration('late', async (ctx) => {
  const call = ctx.call(fail);
  const helper = (async () => call)();
  await call.catch(() => undefined);
  await ctx.call(pass);
  return helper.catch((error: Error) => `late ${(error.cause as Error).name}`);
});
/** The same, but never awaited. */
const lost = orchestration('lost', async (ctx) => {
  const call = ctx.call(fail);
  void (async () => call)();
  await call.catch(() => undefined);
  return 'without it';
});

const provider = new MemoryProvider(new SystemClock());
const runtime = new Runtime(provider, { logger, dispatcherPollIntervalMs: 5 });
runtime.register(fail, pass, late, lost);
await runtime.start();
const client = new Client(provider);

if (what === 'stray') {
  const handle = await client.start(late);
  void Promise.reject(new Error('a stray rejection'));
  console.log(await handle.result());
} else {
  const handle = await client.start(what === 'late' ? late : lost);
  console.log(await handle.result());
  // What Node has to say about rejections it says within these turns.
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
await runtime.shutdown();
