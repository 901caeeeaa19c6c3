/**
 * The heart of the store, to look at: ten instances wait, ten fetchers run for them at
 * the same moment, and every instance goes to exactly one of them.
 *
 *     npm run demo:fetch                       on PGlite, inside this process
 *     DATABASE_URL=postgres://… npm run demo:fetch
 *
 * An application never writes this loop: it is what a worker does. Exits with 1 if an
 * instance was fetched twice or not at all.
 */
import { randomBytes } from 'node:crypto';
import { DrizzleProvider, type HistoryEvent, type LockedOrchestrationItem, type Provider } from '../src/index.js';

const INSTANCES = 10;
const FETCHERS = 10;
const LOCK_TIMEOUT_MS = 30_000;

const url = process.env['DATABASE_URL'];
const schema = `ddz_demo_${randomBytes(4).toString('hex')}`;
const provider = await (url ? DrizzleProvider.connect(url, { schema }) : DrizzleProvider.embedded({ schema }));
try {
  await demo(provider);
} finally {
  await provider.asManagement().cleanupSchema();
  await provider.close();
}

async function demo(store: Provider): Promise<void> {
  say(`Database: ${url ? 'the PostgreSQL server of DATABASE_URL' : 'PGlite, a PostgreSQL inside this process'}.`);
  say(`Nine tables were made in the schema ${schema}; they are dropped at the end.`);

  title(`1. ${INSTANCES} orders come in`);
  const orders = Array.from({ length: INSTANCES }, (_, i) => `order-${String(i + 1).padStart(2, '0')}`);
  const started = await store.enqueueForOrchestrator(orders.map((instance) => ({ item: startOf(instance) })));
  say(`${started.filter(({ ok }) => ok).length} messages “start” lie in the queue, written by one statement.`);

  title(`2. ${FETCHERS} fetchers ask for work at the same moment`);
  say('Each takes one at a time until nothing is left, and passes over what another one is taking.');
  const got = (await Promise.all(Array.from({ length: FETCHERS }, (_, i) => fetchAll(store, i + 1)))).flat();
  const once = orders.filter((order) => got.filter(({ item }) => item.instance === order).length === 1);
  say(`${once.length} of ${orders.length} instances were fetched exactly once.`);
  const late = await store.fetchOrchestrationItems({ limit: INSTANCES, lockTimeoutMs: LOCK_TIMEOUT_MS });
  say(
    `Somebody who comes later gets ${late.items.length}: all are locked. If a worker dies, its locks end by themselves.`,
  );

  title('3. Each fetcher runs its turns and acknowledges what they decided');
  const turns = got.map(({ item }) => finishedTurn(item, store.nowMs()));
  const results = await store.ackOrchestrationItems(turns);
  say(
    `${results.filter(({ ok }) => ok).length} turns are committed: history, outcome and the end of the lock, all or nothing.`,
  );
  const [again] = await store.ackOrchestrationItems(turns.slice(0, 1));
  say(`Acknowledging one of them again is refused: ${again?.ok === false ? again.error.message : 'it was not!'}`);

  title(`4. What is stored of ${orders[0]}`);
  for (const event of await store.read(orders[0] ?? '')) say(describe(event));
  const metrics = await store.asManagement().getSystemMetrics();
  say(`All in all: ${metrics.completedInstances} instances completed, ${metrics.totalEvents} events.`);

  if (once.length !== orders.length || again?.ok !== false) process.exitCode = 1;
}

/** Takes instances one by one until none is left. Losing one to another fetcher is not yet the end. */
async function fetchAll(
  store: Provider,
  fetcher: number,
): Promise<{ fetcher: number; item: LockedOrchestrationItem }[]> {
  const got: { fetcher: number; item: LockedOrchestrationItem }[] = [];
  for (;;) {
    const { items, lost } = await store.fetchOrchestrationItems({ limit: 1, lockTimeoutMs: LOCK_TIMEOUT_MS });
    for (const item of items) {
      got.push({ fetcher, item });
      say(
        `fetcher ${String(fetcher).padStart(2)} got ${item.instance}${lost > 0 ? `, after losing ${lost} to others` : ''}`,
      );
    }
    if (items.length === 0 && lost === 0) return got;
  }
}

function startOf(instance: string) {
  return {
    kind: 'StartOrchestration',
    instance,
    orchestration: 'ProcessOrder',
    input: JSON.stringify({ order: instance }),
    version: '1.0.0',
    parentInstance: null,
    parentId: null,
    executionId: 1,
  } as const;
}

/** What the runtime would acknowledge for an orchestration that returns at once. */
function finishedTurn({ instance, lockToken, executionId, messages }: LockedOrchestrationItem, nowMs: number) {
  const [start] = messages;
  const input = start?.kind === 'StartOrchestration' ? start.input : 'null';
  const output = JSON.stringify({ shipped: instance });
  const envelope = {
    sourceEventId: null,
    instanceId: instance,
    executionId,
    timestampMs: nowMs,
    duroxideVersion: '0.1.30',
  };
  const historyDelta: HistoryEvent[] = [
    {
      ...envelope,
      eventId: 1,
      kind: 'OrchestrationStarted',
      name: 'ProcessOrder',
      version: '1.0.0',
      input,
      parentInstance: null,
      parentId: null,
    },
    { ...envelope, eventId: 2, kind: 'OrchestrationCompleted', output },
  ];
  return {
    instance,
    lockToken,
    executionId,
    historyDelta,
    workerItems: [],
    orchestratorItems: [],
    metadata: {
      orchestrationName: 'ProcessOrder',
      orchestrationVersion: '1.0.0',
      status: 'Completed' as const,
      output,
    },
    cancelledActivities: [],
  };
}

function describe(event: HistoryEvent): string {
  const payload = 'input' in event ? ` input ${event.input}` : 'output' in event ? ` output ${event.output}` : '';
  return `event ${event.eventId}: ${event.kind}${payload}`;
}

function title(text: string): void {
  console.log(`\n${text}`);
}

function say(text: string): void {
  console.log(`   ${text}`);
}
