/** The worker of `order.ts`: a runtime with the order workflow, and a client that starts or rejoins the order. */
import { Client, DrizzleProvider, Runtime } from '../src/index.js';
import { orderActivities, orderOrchestrations } from './order-workflow.js';

const ORDER = 'order-1001';

const url = process.env['DATABASE_URL'];
const directory = process.argv[2];
const provider = url
  ? await DrizzleProvider.connect(url, { schema: 'duroxide_demo' })
  : await DrizzleProvider.embedded({ directory: directory ?? 'demo-store' });
const runtime = new Runtime(provider, {
  logLevel: 'error',
  // A killed worker keeps its locks until they end; the demo does not want to wait half a minute for that.
  workerLockTimeoutMs: 3_000,
  orchestratorLockTimeoutMs: 2_000,
});
for (const [name, run] of Object.entries(orderActivities)) runtime.registerActivity(name, run);
for (const [name, run] of Object.entries(orderOrchestrations)) runtime.registerOrchestration(name, run);
await runtime.start();

const client = new Client(provider);
const { status } = await client.getStatus(ORDER);
console.log(
  status === 'NotFound' ? `${ORDER} is started` : `${ORDER} is there already, ${status.toLowerCase()}: it goes on`,
);
await client.startOrchestration(ORDER, 'Order', { item: 'a book', euros: 18 });

let seen = 0;
for (;;) {
  const now = await client.waitForStatusChange(ORDER, seen, 100, 60_000);
  seen = now.customStatusVersion;
  if (now.status !== 'Running') {
    console.log(`${ORDER}: ${now.status}, ${now.status === 'Completed' ? String(now.output) : String(now.error)}`);
    break;
  }
  console.log(`status: ${String(now.customStatus)}`);
  // The courier signs at the door: an event from outside.
  if (now.customStatus === 'waiting for the signature') await client.raiseEvent(ORDER, 'signed', { by: 'Ann' });
}
// In a database that outlives the demo the order must not be found next time.
await client.deleteInstance(ORDER, true);
await runtime.shutdown();
await provider.close();
