import { bigint, index, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Every event of every execution. Rows are only ever inserted, or deleted with their execution. */
export const historyTable = (table: TableFactory) =>
  table(
    'history',
    {
      instanceId: text('instance_id').notNull(),
      executionId: bigint('execution_id', { mode: 'number' }).notNull(),
      eventId: bigint('event_id', { mode: 'number' }).notNull(),
      /** The word `Event` for every row (P:T-32). */
      eventType: text('event_type').notNull(),
      /** JSON text of a `HistoryEvent`; only `wire/` encodes or decodes it. */
      eventData: text('event_data').notNull(),
      createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    },
    (t) => [
      primaryKey({ name: 'history_pkey', columns: [t.instanceId, t.executionId, t.eventId] }),
      // Native's; it doubles the primary key and is kept so that both schemas are equal.
      index('idx_history_lookup').on(t.instanceId, t.executionId, t.eventId),
    ],
  );
