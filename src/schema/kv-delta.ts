import { bigint, primaryKey, text } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Key-value changes of the *current* execution, laid over `kv_store` for readers. */
export const kvDeltaTable = (table: TableFactory) =>
  table(
    'kv_delta',
    {
      instanceId: text('instance_id').notNull(),
      key: text('key').notNull(),
      /** Null is a tombstone: the key is deleted. */
      value: text('value'),
      lastUpdatedAtMs: bigint('last_updated_at_ms', { mode: 'number' }).notNull(),
    },
    (t) => [primaryKey({ name: 'kv_delta_pkey', columns: [t.instanceId, t.key] })],
  );
