import { bigint, boolean, integer, text, timestamp } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Runtimes that work on this schema, as they tell of themselves. Nothing but tools reads it. */
export const workersTable = (table: TableFactory) =>
  table('ddz_workers', {
    runtimeId: text('runtime_id').primaryKey(),
    host: text('host').notNull(),
    pid: integer('pid').notNull(),
    packageVersion: text('package_version').notNull(),
    orchestrationSlotsInUse: integer('orchestration_slots_in_use').notNull(),
    orchestrationSlots: integer('orchestration_slots').notNull(),
    activitySlotsInUse: integer('activity_slots_in_use').notNull(),
    activitySlots: integer('activity_slots').notNull(),
    startedAt: timestamp('started_at', { withTimezone: true }).notNull(),
    /** Unix ms of the provider's clock. */
    lastSeenMs: bigint('last_seen_ms', { mode: 'number' }).notNull(),
    isStopped: boolean('is_stopped').notNull().default(false),
    /** JSON object of numbers. */
    counters: text('counters').notNull(),
  });
