/**
 * Run by `dynamic-import.test.ts` as plain JavaScript, because under Jest it is Jest that
 * imports: an async orchestration that imports a module which nobody has loaded yet.
 */
import { type Logger, orchestration, Client, Runtime } from '../../../src/index.js';
import { SystemClock } from '../../../src/base/clock.js';
import { MemoryProvider } from '../../support/memory-provider.js';

const [module = ''] = process.argv.slice(2);
const silent = () => {};
const logger: Logger = {
  debug: silent,
  info: silent,
  warn: silent,
  error: ({ error }) => console.log(`error: ${(error as Error).message.split('\n')[0] ?? ''}`),
};

const imports = orchestration('imports', async () => ((await import(module)) as { default: string }).default);
const provider = new MemoryProvider(new SystemClock());
const runtime = new Runtime(provider, { logger, dispatcherPollIntervalMs: 5 });
runtime.register(imports);
await runtime.start();
const handle = await new Client(provider).start(imports, undefined, { id: 'i-1' });
console.log(await handle.result());
await runtime.shutdown();
