/**
 * A worker with an orchestration and an activity that kill their process, in a batch with
 * good ones. With the default options for attempts and suspects.
 */
import { DrizzleProvider, Runtime, silentLogger } from '../../../src/index.js';

const { url, schema } = JSON.parse(process.env['DDZ_POISON_WORKER'] ?? '{}') as { url: string; schema: string };

const provider = await DrizzleProvider.connect(url, { schema, logger: silentLogger, maxConnections: 3 });
const runtime = new Runtime(provider, {
  logger: silentLogger,
  logLevel: 'off',
  // As short as a busy machine allows: a lock that ends while a good item is worked at costs it an attempt.
  orchestratorLockTimeoutMs: 1_000,
  workerLockTimeoutMs: 1_000,
  sessionIdleTimeoutMs: 10_000,
  maxPollIntervalMs: 50,
});
/** As an endless recursion in native code, or the kernel's killer of those who take all memory. */
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
};
runtime.registerActivity('Good', async (_ctx, input) => input);
runtime.registerActivity('Deadly', () => die());
runtime.registerOrchestration('Good', function* (ctx, input) {
  return yield ctx.scheduleActivity('Good', input);
});
runtime.registerOrchestration('DeadlyTurn', function* () {
  die();
});
runtime.registerOrchestration('DeadlyActivity', function* (ctx) {
  return yield ctx.scheduleActivity('Deadly');
});
await runtime.start();
process.send?.('ready');
process.on('message', () => void runtime.shutdown(1_000).then(() => process.exit(0)));
process.on('disconnect', () => process.exit(0));
