// An instance that never ends: it looks, waits, and continues as new, so that its history
// stays short however long it lives. Its key-value entries go with it.
//
//     node examples/monitor.mjs
import { Client, Runtime } from 'duroxide-drizzle';
import { newId, withStore } from './store.mjs';

await withStore(async (provider) => {
  const runtime = new Runtime(provider);
  runtime.registerActivity('Measure', (ctx, round) => 18 + (round % 5));

  runtime.registerOrchestration('Monitor', function* (ctx, { round, everyMs }) {
    const degrees = yield ctx.scheduleActivity('Measure', round);
    const highest = Math.max(degrees, Number(ctx.getValue('highest') ?? degrees));
    ctx.setValue('highest', highest);
    ctx.setCustomStatus(`round ${round}: ${degrees} degrees, highest ${highest}`);
    yield ctx.scheduleTimer(everyMs);
    return yield ctx.continueAsNew({ round: round + 1, everyMs });
  });

  await runtime.start();
  const client = new Client(provider);
  const id = newId('monitor');
  await client.startOrchestration(id, 'Monitor', { round: 1, everyMs: 100 });
  let version = 0;
  for (let changes = 0; changes < 5; changes++) {
    const { customStatus, customStatusVersion } = await client.waitForStatusChange(id, version, 50, 30_000);
    version = customStatusVersion;
    console.log(`  ${customStatus}`);
  }
  await client.cancelInstance(id, 'enough seen');
  const { error } = await client.waitForOrchestration(id, 30_000);
  const executions = await client.listExecutions(id);
  console.log(`${id}: ${error}; ${executions.length} executions, the last one with a short history`);
  await runtime.shutdown();
});
