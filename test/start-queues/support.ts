import type { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { StartQueueStore } from '../../src/provider/start-queues.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { StartQueueLoop } from '../../src/runtime/start-queue-loop.js';
import { orchestration } from '../../src/typed/definitions.js';
import { databaseUrl } from '../support/database.js';

/** Ends at once, with its input. */
export const echo = orchestration('echo', async (_ctx, input: string) => input);
/** Runs until somebody says so. */
export const held = orchestration('held', async (ctx) => ctx.waitForEvent<string>('go'));
/** Takes what stands in its mailbox. */
export const mailbox = orchestration('mailbox', async (ctx) => [
  await ctx.dequeue<string>('m'),
  await ctx.dequeue<string>('m'),
]);

/** A process: a provider of its own, and a runtime whose steps the test decides. */
export interface Process {
  readonly provider: DrizzleProvider;
  readonly client: Client;
  readonly store: StartQueueStore;
  readonly loop: StartQueueLoop;
  /** Runs turns until there are none. */
  readonly settle: () => Promise<void>;
}

export function processOn(provider: DrizzleProvider, clock: FakeClock): Process {
  const runtime = new Runtime(provider, { clock, logger: silentLogger, logLevel: 'off' });
  runtime.register(echo, held, mailbox);
  const { core, parts } = runtime['prepare']();
  const store = provider.startQueues();
  if (!store) throw new Error('no start queues');
  return {
    provider,
    client: new Client(provider),
    store,
    loop: new StartQueueLoop(core, store),
    async settle() {
      while ((await parts.orchestrations.runOnce()).fetched > 0);
    },
  };
}

export async function openProcess(schema: string, clock: FakeClock, options: object = {}): Promise<Process> {
  const provider = await DrizzleProvider.connect(databaseUrl(), {
    schema,
    clock,
    logger: silentLogger,
    maxConnections: 4,
    ...options,
  });
  return processOn(provider, clock);
}
