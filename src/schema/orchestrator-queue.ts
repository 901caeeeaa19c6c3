import { isNotNull, isNull } from 'drizzle-orm';
import { bigint, bigserial, index, integer, text, timestamp } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/**
 * Messages that wait to be fed into a turn, timers included. A row leaves only when
 * the turn that read it is acknowledged: a crash costs a repeat, never a message.
 */
export const orchestratorQueueTable = (table: TableFactory) =>
  table(
    'orchestrator_queue',
    {
      id: bigserial('id', { mode: 'number' }).primaryKey(),
      instanceId: text('instance_id').notNull(),
      /** JSON text of a `WorkItem`; only `wire/` encodes or decodes it. */
      workItem: text('work_item').notNull(),
      visibleAt: timestamp('visible_at', { withTimezone: true }).notNull(),
      lockToken: text('lock_token'),
      /** Unix ms of the provider's clock. */
      lockedUntil: bigint('locked_until', { mode: 'number' }),
      createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
      attemptCount: integer('attempt_count').notNull().default(0),
    },
    (t) => [
      index('idx_orch_visible').on(t.visibleAt, t.lockToken),
      index('idx_orch_instance').on(t.instanceId),
      index('idx_orch_lock').on(t.lockToken).where(isNotNull(t.lockToken)),
      // Ours. Serves the peek of unlocked rows in `fetchOrchestrationItems`, oldest first, and `due`.
      index('ddz_orch_ready').on(t.visibleAt, t.id).where(isNull(t.lockToken)),
      // Ours. Serves the peek of rows whose lock expired.
      index('ddz_orch_expired').on(t.lockedUntil).where(isNotNull(t.lockToken)),
    ],
  );
