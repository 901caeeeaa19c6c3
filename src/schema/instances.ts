import { bigint, index, integer, text, timestamp } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** One row per orchestration instance, made by its first acknowledgement. */
export const instancesTable = (table: TableFactory) =>
  table(
    'instances',
    {
      instanceId: text('instance_id').primaryKey(),
      orchestrationName: text('orchestration_name').notNull(),
      orchestrationVersion: text('orchestration_version'),
      /** The highest execution acknowledged so far. */
      currentExecutionId: bigint('current_execution_id', { mode: 'number' }).notNull().default(1),
      createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
      updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
      parentInstanceId: text('parent_instance_id'),
      customStatus: text('custom_status'),
      /** +1 per acknowledgement that changes the status. */
      customStatusVersion: integer('custom_status_version').notNull().default(0),
    },
    (t) => [index('idx_instances_parent').on(t.parentInstanceId)],
  );
