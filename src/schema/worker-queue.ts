import { isNotNull, isNull } from 'drizzle-orm';
import { bigint, bigserial, index, integer, text, timestamp } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/**
 * Activities that wait to run. The last five columns copy fields of `ActivityExecute`
 * and are null for any other kind (provider.md 2.6).
 */
export const workerQueueTable = (table: TableFactory) =>
  table(
    'worker_queue',
    {
      id: bigserial('id', { mode: 'number' }).primaryKey(),
      /** JSON text of a `WorkItem`; only `wire/` encodes or decodes it. */
      workItem: text('work_item').notNull(),
      visibleAt: timestamp('visible_at', { withTimezone: true }).notNull(),
      lockToken: text('lock_token'),
      /** Unix ms of the provider's clock. */
      lockedUntil: bigint('locked_until', { mode: 'number' }),
      createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
      attemptCount: integer('attempt_count').notNull().default(0),
      instanceId: text('instance_id'),
      executionId: bigint('execution_id', { mode: 'number' }),
      activityId: bigint('activity_id', { mode: 'number' }),
      sessionId: text('session_id'),
      tag: text('tag'),
    },
    (t) => [
      index('idx_worker_visible').on(t.visibleAt, t.lockToken),
      index('idx_worker_available').on(t.lockToken, t.id),
      index('idx_worker_activity_lookup').on(t.instanceId, t.executionId, t.activityId),
      index('idx_worker_queue_session_id').on(t.sessionId).where(isNotNull(t.sessionId)),
      index('idx_worker_queue_tag').on(t.tag).where(isNotNull(t.tag)),
      // Ours. Serves `fetchWorkItems` and `due`: delayed and locked rows in front cost nothing (P:T-34).
      index('ddz_worker_ready').on(t.visibleAt, t.id).where(isNull(t.lockToken)),
      // Ours. Serves `fetchWorkItems` for rows whose lock expired.
      index('ddz_worker_expired').on(t.lockedUntil).where(isNotNull(t.lockToken)),
    ],
  );
