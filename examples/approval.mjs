// A person decides, or time runs out: an external event races a timer. The instance may
// wait for weeks; it costs one row in a table meanwhile.
//
//     node examples/approval.mjs
import { Client, Runtime } from 'duroxide-drizzle';
import { newId, withStore } from './store.mjs';

await withStore(async (provider) => {
  const runtime = new Runtime(provider);
  runtime.registerActivity('Notify', (ctx, text) => console.log(`  mail: ${text}`));

  runtime.registerOrchestration('Expense', function* (ctx, { amount, patienceMs }) {
    yield ctx.scheduleActivity('Notify', `please approve ${amount}`);
    ctx.setCustomStatus('waiting for approval');
    const { index, value } = yield ctx.race(ctx.waitForEvent('decision'), ctx.scheduleTimer(patienceMs));
    if (index === 1) return 'expired';
    return value.approved ? `approved by ${value.by}` : `refused by ${value.by}`;
  });

  await runtime.start();
  const client = new Client(provider);

  const approved = newId('expense');
  await client.startOrchestration(approved, 'Expense', { amount: 120, patienceMs: 7 * 24 * 3_600_000 });
  // An event that comes before somebody waits for it is lost, so wait for the status first.
  await client.waitForStatusChange(approved, 0, 50, 30_000);
  await client.raiseEvent(approved, 'decision', { approved: true, by: 'Ann' });
  console.log(`${approved}: ${(await client.waitForOrchestration(approved, 30_000)).output}`);

  const late = newId('expense');
  await client.startOrchestration(late, 'Expense', { amount: 80, patienceMs: 300 });
  console.log(`${late}: ${(await client.waitForOrchestration(late, 30_000)).output}`);
  await runtime.shutdown();
});
