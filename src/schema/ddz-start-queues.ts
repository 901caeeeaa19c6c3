import { bigint, boolean, integer, text } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Limits on how orchestrations are started. Null: no such limit. Moments are Unix ms of the provider's clock. */
export const startQueuesTable = (table: TableFactory) =>
  table('ddz_start_queues', {
    queueId: text('queue_id').primaryKey(),
    concurrency: integer('concurrency'),
    concurrencyPerKey: integer('concurrency_per_key'),
    /** At most so many starts in `rate_period_ms`; both or neither. */
    rateLimit: integer('rate_limit'),
    ratePeriodMs: bigint('rate_period_ms', { mode: 'number' }),
    keyRateLimit: integer('key_rate_limit'),
    keyRatePeriodMs: bigint('key_rate_period_ms', { mode: 'number' }),
    isPaused: boolean('is_paused').notNull(),
    createdMs: bigint('created_ms', { mode: 'number' }).notNull(),
    updatedMs: bigint('updated_ms', { mode: 'number' }).notNull(),
  });
