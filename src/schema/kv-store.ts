import { bigint, index, primaryKey, text } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Key-value state of *finished* executions: what the next execution starts with. */
export const kvStoreTable = (table: TableFactory) =>
  table(
    'kv_store',
    {
      instanceId: text('instance_id').notNull(),
      key: text('key').notNull(),
      value: text('value').notNull(),
      /** The execution that merged the value last. */
      executionId: bigint('execution_id', { mode: 'number' }).notNull(),
      lastUpdatedAtMs: bigint('last_updated_at_ms', { mode: 'number' }).notNull().default(0),
    },
    (t) => [
      primaryKey({ name: 'kv_store_pkey', columns: [t.instanceId, t.key] }),
      index('idx_kv_store_execution').on(t.instanceId, t.executionId),
    ],
  );
