import { PgSchema } from 'drizzle-orm/pg-core';
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

export type DuroxideTables = ReturnType<typeof makeTables>;

/**
 * The tables as they stand in the schema `name`, for queries and joins. Always through
 * `new PgSchema`, because `pgSchema('public')` throws.
 */
export function defineSchema(name: string): DuroxideTables {
  const schema = new PgSchema(name);
  return makeTables(schema.table as unknown as TableFactory);
}
