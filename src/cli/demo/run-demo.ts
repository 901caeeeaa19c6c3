import { silentLogger } from '../../base/logger.js';
import { Client } from '../../client/client.js';
import type { OrchestrationStatus } from '../../client/status.js';
import type { Provider } from '../../provider/provider.js';
import { Runtime } from '../../runtime/runtime.js';
import { orderActivities, orderOrchestrations } from './order-workflow.js';

/** A guard, not a schedule. */
const PATIENCE_MS = 60_000;

export interface Demo {
  readonly provider: Provider;
  readonly instanceId: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * An order, from payment to delivery, by a worker that is stopped in the middle, and another
 * one that goes on. Nothing is lost and nothing is asked for twice.
 */
export async function runDemo({ provider, instanceId, say, signal }: Demo): Promise<OrchestrationStatus> {
  const client = new Client(provider);
  await client.startOrchestration(instanceId, 'Order', { item: 'a teapot', euros: 40 });
  say('the order is stored; a worker begins');
  await working(provider, say, async () => {
    await statusFrom(client, instanceId, signal, (status) => status.startsWith('paid'));
  });
  say('the worker is stopped as soon as the order is paid; another one takes its place');
  return working(provider, say, async () => {
    await statusFrom(client, instanceId, signal, (status) => status.startsWith('waiting'));
    say('the customer signs');
    await client.raiseEvent(instanceId, 'signed', { by: 'the neighbour' });
    return client.waitForOrchestration(instanceId, PATIENCE_MS, { signal });
  });
}

/** A worker for as long as `use` takes, stopped without waiting for what it does. */
async function working<T>(provider: Provider, say: (text: string) => void, use: () => Promise<T>): Promise<T> {
  const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
  for (const [name, activity] of Object.entries(orderActivities(say))) runtime.registerActivity(name, activity);
  for (const [name, code] of Object.entries(orderOrchestrations)) runtime.registerOrchestration(name, code);
  await runtime.start();
  try {
    return await use();
  } finally {
    await runtime.shutdown(0);
  }
}

async function statusFrom(
  client: Client,
  instanceId: string,
  signal: AbortSignal,
  isIt: (customStatus: string) => boolean,
): Promise<void> {
  for (let version = 0; ;) {
    const status = await client.waitForStatusChange(instanceId, version, 50, PATIENCE_MS, { signal });
    if (status.status === 'Completed' || status.status === 'Failed' || isIt(status.customStatus ?? '')) return;
    version = status.customStatusVersion ?? version;
  }
}
