import { isNotNull, sql } from 'drizzle-orm';
import { bigint, index, integer, text, timestamp } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Characters of a custom status that its index holds: so many fit into an index for sure. */
export const INDEXED_STATUS_LENGTH = 128;

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
    (t) => [
      index('idx_instances_parent').on(t.parentInstanceId),
      // Ours, for `listInstancesPage`: newest first, of all and of a name (with the id, the longest
      // names would not fit into an index); by the beginning of the id, and of the custom status.
      index('ddz_instances_created').on(t.createdAt, t.instanceId),
      index('ddz_instances_name').on(t.orchestrationName, t.createdAt),
      index('ddz_instances_prefix').on(sql`${t.instanceId} collate "C"`),
      index('ddz_instances_custom_status')
        .on(sql`left(${t.customStatus}, ${sql.raw(String(INDEXED_STATUS_LENGTH))}) collate "C"`)
        .where(isNotNull(t.customStatus)),
    ],
  );
