import { Client } from '../../src/client/client.js';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import type { OpenContestant } from './contestant.js';

/** With its defaults. */
export const openOurs: OpenContestant = async (url) => {
  const provider = await DrizzleProvider.connect(url, { schema: 'ours', logger: silentLogger });
  const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
  runtime.registerActivity('echo', (_ctx, input) => input);
  runtime.registerOrchestration('hello', function* (ctx, input) {
    return yield ctx.scheduleActivity('echo', input);
  });
  await runtime.start();
  const client = new Client(provider);
  return {
    name: 'duroxide-drizzle',
    async hello(id) {
      await client.startOrchestration(id, 'hello', { who: 'world' });
      const { status } = await client.waitForOrchestration(id, 600_000);
      if (status !== 'Completed') throw new Error(`${id} ended as ${status}`);
    },
    async close() {
      await runtime.shutdown();
      await provider.close();
    },
  };
};
