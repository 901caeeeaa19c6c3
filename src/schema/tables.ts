import { PgSchema } from 'drizzle-orm/pg-core';
import { historyArchiveTable } from './ddz-history-archive.js';
import { queuedStartsTable } from './ddz-queued-starts.js';
import { schedulesTable } from './ddz-schedules.js';
import { startQueuesTable } from './ddz-start-queues.js';
import { workersTable } from './ddz-workers.js';
import { executionsTable } from './executions.js';
import { historyTable } from './history.js';
import { instanceLocksTable } from './instance-locks.js';
import { instancesTable } from './instances.js';
import { kvDeltaTable } from './kv-delta.js';
import { kvStoreTable } from './kv-store.js';
import { orchestratorQueueTable } from './orchestrator-queue.js';
import { sessionsTable } from './sessions.js';
import type { TableFactory } from './table-factory.js';
import { workerQueueTable } from './worker-queue.js';

/** All nine tables of native, made by `table`. */
export function makeTables(table: TableFactory) {
  return {
    instances: instancesTable(table),
    executions: executionsTable(table),
    history: historyTable(table),
    orchestratorQueue: orchestratorQueueTable(table),
    workerQueue: workerQueueTable(table),
    instanceLocks: instanceLocksTable(table),
    sessions: sessionsTable(table),
    kvStore: kvStoreTable(table),
    kvDelta: kvDeltaTable(table),
  };
}

/**
 * Tables of our own, beside native's (provider.md 3.4.12). A schema that native made has
 * them on request only, so that a query of them has to expect that they are missing.
 */
export function makeOwnTables(table: TableFactory) {
  return {
    workers: workersTable(table),
    historyArchive: historyArchiveTable(table),
    schedules: schedulesTable(table),
    startQueues: startQueuesTable(table),
    queuedStarts: queuedStartsTable(table),
  };
}

export type OwnTables = ReturnType<typeof makeOwnTables>;

export type DuroxideTables = ReturnType<typeof makeTables>;

/**
 * The tables as they stand in the schema `name`, for queries and joins. Always through
 * `new PgSchema`, because `pgSchema('public')` throws.
 */
export function defineSchema(name: string): DuroxideTables {
  const schema = new PgSchema(name);
  return makeTables(schema.table as unknown as TableFactory);
}

/** Our own tables as they stand in the schema `name`. */
export function defineOwnTables(name: string): OwnTables {
  const schema = new PgSchema(name);
  return makeOwnTables(schema.table as unknown as TableFactory);
}
