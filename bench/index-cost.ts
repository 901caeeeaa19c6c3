/**
 * What each of our indexes costs a hello, in bytes of WAL and index pages: the operations of
 * a hello for 4,000 instances, in batches of 50, with all indexes and without each in turn.
 * Full page images are off, so that the bytes hardly drift. Run: `npx tsx bench/index-cost.ts`.
 */
import pg from 'pg';
import { silentLogger } from '../src/base/logger.js';
import {
  activityCompleted,
  activityItem,
  completedEvent,
  event,
  startedEvent,
  startItem,
} from '../src/conformance/records.js';
import { ackOf, type Turn } from '../src/conformance/trial.js';
import { DrizzleProvider } from '../src/provider/drizzle/drizzle-provider.js';
import { ownIndexes } from '../src/provider/drizzle/migrate/expected-objects.js';
import type { LockedOrchestrationItem } from '../src/provider/provider.js';
import { targetInstance } from '../src/wire/work-item.js';
import { startPostgresServer } from '../test/support/postgres-server.js';
import { formatTable, short } from './harness/table.js';

const INSTANCES = 4_000;
const BATCH = 50;
const LOCK_MS = 60_000;
const metadata = { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' };

const server = await startPostgresServer({ settings: ['fsync=off', 'full_page_writes=off', 'autovacuum=off'] });
const control = new pg.Client({ connectionString: server.url });
await control.connect();

const all = await walOfHello(undefined);
const rows: (string | number)[][] = [];
for (const { name, table } of ownIndexes) {
  const without = await walOfHello(name);
  rows.push([name, table, Math.round(all.wal - without.wal), short((100 * (all.wal - without.wal)) / all.wal)]);
}
console.log(`a hello writes ${Math.round(all.wal)} bytes of WAL, with all indexes`);
console.log(formatTable(['index', 'table', 'bytes of WAL', '%'], rows));
await control.end();
await server.destroy();

/** Bytes of WAL for each instance. */
async function walOfHello(withoutIndex: string | undefined): Promise<{ wal: number }> {
  await control.query('drop schema if exists index_cost cascade');
  const provider = await DrizzleProvider.connect(server.url, {
    schema: 'index_cost',
    notifications: false,
    logger: silentLogger,
  });
  if (withoutIndex) await control.query(`drop index index_cost.${pg.escapeIdentifier(withoutIndex)}`);
  const before = await walPosition();
  for (let from = 0; from < INSTANCES; from += BATCH) await helloes(provider, from);
  const after = await walPosition();
  await provider.close();
  return { wal: (after - before) / INSTANCES };
}

async function helloes(provider: DrizzleProvider, from: number): Promise<void> {
  const ids = Array.from({ length: BATCH }, (_, n) => `hello-${from + n}`);
  await provider.enqueueForOrchestrator(ids.map((id) => ({ item: startItem(id) })));
  const firstTurn = ({ instance }: LockedOrchestrationItem) => ({
    historyDelta: [
      startedEvent(instance),
      event(instance, 2, { kind: 'ActivityScheduled', name: 'Work', input: '{}' }),
    ],
    workerItems: [activityItem(instance, 2)],
    metadata,
  });
  await turns(provider, firstTurn);
  const work = await provider.fetchWorkItems({ limit: BATCH, lockTimeoutMs: LOCK_MS, tagFilter: { kind: 'any' } });
  if (work.length !== BATCH) throw new Error(`${work.length} activities, expected ${BATCH}`);
  await provider.ackWorkItems(
    work.map(({ item, instance, lockToken }) => ({
      instance,
      lockToken,
      completion: activityCompleted(targetInstance(item), 2),
    })),
  );
  await turns(provider, ({ instance }) => ({
    historyDelta: [
      event(instance, 3, { kind: 'ActivityCompleted', result: '"done"' }),
      event(instance, 4, completedEvent()),
    ],
    metadata: { ...metadata, status: 'Completed', output: '"done"' },
  }));
}

async function turns(provider: DrizzleProvider, turnOf: (item: LockedOrchestrationItem) => Turn): Promise<void> {
  const { items } = await provider.fetchOrchestrationItems({ limit: BATCH, lockTimeoutMs: LOCK_MS });
  if (items.length !== BATCH) throw new Error(`${items.length} instances, expected ${BATCH}`);
  for (const result of await provider.ackOrchestrationItems(items.map((item) => ackOf(item, turnOf(item))))) {
    if (!result.ok) throw result.error;
  }
}

async function walPosition(): Promise<number> {
  const { rows: found } = await control.query<{ wal: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal",
  );
  return Number(found[0]?.wal);
}
