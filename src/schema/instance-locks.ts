import { bigint, index, text } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Who runs an instance now. Inserting or taking over a row here is the fence of a fetch. */
export const instanceLocksTable = (table: TableFactory) =>
  table(
    'instance_locks',
    {
      instanceId: text('instance_id').primaryKey(),
      lockToken: text('lock_token').notNull(),
      /** Unix ms of the provider's clock. */
      lockedUntil: bigint('locked_until', { mode: 'number' }).notNull(),
      /** Unix ms of the provider's clock. */
      lockedAt: bigint('locked_at', { mode: 'number' }).notNull(),
    },
    (t) => [index('idx_instance_locks_locked_until').on(t.lockedUntil)],
  );
