/**
 * A worker with an orchestration and an activity that kill their process, in a batch with
 * good ones. With the default options for attempts and suspects. `ackDelayMs` holds up every
 * acknowledgement, so that a process that dies is certain to hold something of the good ones.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DrizzleProvider, Runtime, silentLogger } from '../../../src/index.js';

const { url, schema, ackDelayMs } = JSON.parse(process.env['DDZ_POISON_WORKER'] ?? '{}') as {
  url: string;
  schema: string;
  ackDelayMs: number;
};

const provider = await DrizzleProvider.connect(url, { schema, logger: silentLogger, maxConnections: 3 });
if (ackDelayMs > 0) {
  const ackTurns = provider.ackOrchestrationItems.bind(provider);
  const ackActivities = provider.ackWorkItems.bind(provider);
  provider.ackOrchestrationItems = async (turns) => ackTurns(await sleep(ackDelayMs, turns));
  provider.ackWorkItems = async (elements) => ackActivities(await sleep(ackDelayMs, elements));
}
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
