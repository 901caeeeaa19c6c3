import { isNotNull, isNull, sql } from 'drizzle-orm';
import { bigint, bigserial, index, integer, text, uniqueIndex } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/**
 * Starts of a start queue: those that wait, those that were admitted and have not ended,
 * and those that ended so lately that a rate counts them still.
 */
export const queuedStartsTable = (table: TableFactory) =>
  table(
    'ddz_queued_starts',
    {
      /** The order of those that have the same priority. */
      id: bigserial('id', { mode: 'number' }).primaryKey(),
      instanceId: text('instance_id').notNull(),
      queueId: text('queue_id').notNull(),
      /** Empty: none, and no limit per key applies. */
      startKey: text('start_key').notNull(),
      /** Higher is earlier. */
      priority: integer('priority').notNull(),
      /** JSON text of the `StartOrchestration`; null once it is admitted. */
      workItem: text('work_item'),
      /** Messages that arrived while it waits, in order, as they will stand in the orchestrator queue. */
      messages: text('messages').array(),
      enqueuedMs: bigint('enqueued_ms', { mode: 'number' }).notNull(),
      /** Null while it waits. */
      admittedMs: bigint('admitted_ms', { mode: 'number' }),
      /** When its end was noticed; null while it waits and while it runs. */
      endedMs: bigint('ended_ms', { mode: 'number' }),
    },
    (t) => [
      // An id waits or runs once; one that ended may come again.
      uniqueIndex('ddz_queued_starts_instance').on(t.instanceId).where(isNull(t.endedMs)),
      index('ddz_queued_starts_waiting')
        .on(t.queueId, t.priority.desc().nullsFirst(), t.id)
        .where(isNull(t.admittedMs)),
      index('ddz_queued_starts_waiting_key')
        .on(t.queueId, t.startKey, t.priority.desc().nullsFirst(), t.id)
        .where(isNull(t.admittedMs)),
      index('ddz_queued_starts_running')
        .on(t.queueId, t.startKey, t.id)
        .where(sql`${t.admittedMs} is not null and ${t.endedMs} is null`),
      index('ddz_queued_starts_admitted').on(t.queueId, t.admittedMs).where(isNotNull(t.admittedMs)),
      index('ddz_queued_starts_admitted_key').on(t.queueId, t.startKey, t.admittedMs).where(isNotNull(t.admittedMs)),
    ],
  );
