import { bigint, bigserial, index, text, timestamp } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/**
 * Events that a reset took back, as they were. Resets may take the same event id back again
 * and again, so that the key is a number of the archive's own. Goes with its instance.
 */
export const historyArchiveTable = (table: TableFactory) =>
  table(
    'ddz_history_archive',
    {
      id: bigserial('id', { mode: 'number' }).primaryKey(),
      instanceId: text('instance_id').notNull(),
      executionId: bigint('execution_id', { mode: 'number' }).notNull(),
      eventId: bigint('event_id', { mode: 'number' }).notNull(),
      eventType: text('event_type').notNull(),
      eventData: text('event_data').notNull(),
      createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
      archivedAt: timestamp('archived_at', { withTimezone: true }).notNull(),
    },
    (t) => [index('ddz_history_archive_instance').on(t.instanceId, t.executionId, t.eventId)],
  );
