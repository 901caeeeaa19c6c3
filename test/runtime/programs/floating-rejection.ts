/**
 * Run by a test as a process of its own, because test runners replace Node's handling of
 * unhandled rejections. Ends by itself when the runtime has released every handle.
 */
import { SystemClock } from '../../../src/base/clock.js';
import { Client } from '../../../src/client/client.js';
import { Runtime } from '../../../src/runtime/runtime.js';
import { MemoryProvider } from '../../support/memory-provider.js';
import { RecordingLogger } from '../../support/runtime-harness.js';

const provider = new MemoryProvider(new SystemClock());
const logger = new RecordingLogger();
const runtime = new Runtime(provider, { logger, logLevel: 'off' });
runtime.registerActivity('Leave', () => {
  void Promise.reject(new Error('floating'));
  return 'done';
});
runtime.registerOrchestration('Leave', function* (ctx) {
  return yield ctx.scheduleActivity('Leave');
});
await runtime.start();
const client = new Client(provider);
const outputs: unknown[] = [];
for (const id of ['first', 'second']) {
  await client.startOrchestration(id, 'Leave');
  outputs.push(await client.waitForOrchestrationTyped(id));
}
await runtime.shutdown();
const reports = logger.lines
  .filter(({ message }) => message.includes('an activity left a promise'))
  .map(({ fields }) => ({ instance: fields['instance'], activity: fields['activity'] }));
console.log(JSON.stringify({ outputs, reports }));
// Nobody's rejection is still nobody's: with `--foreign` the process has to end as Node ends it.
if (process.argv.includes('--foreign')) {
  await runtime.start();
  void Promise.reject(new Error('of somebody else'));
  setTimeout(() => process.exit(0), 10_000);
}
