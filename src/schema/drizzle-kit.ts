/**
 * What `drizzle-kit generate` reads, and nothing else: the tables without a schema
 * name, because the migrations run under a `search_path` of our migrator's choice.
 */
import { pgTable } from 'drizzle-orm/pg-core';
import { makeOwnTables, makeTables } from './tables.js';

export const {
  instances,
  executions,
  history,
  orchestratorQueue,
  workerQueue,
  instanceLocks,
  sessions,
  kvStore,
  kvDelta,
} = makeTables(pgTable);

export const { workers, historyArchive, schedules, startQueues, queuedStarts } = makeOwnTables(pgTable);
