import { bigint, text } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Which worker owns a session, so that its activities run in one place. Times are Unix ms. */
export const sessionsTable = (table: TableFactory) =>
  table('sessions', {
    sessionId: text('session_id').primaryKey(),
    /** The owner id. */
    workerId: text('worker_id').notNull(),
    lockedUntil: bigint('locked_until', { mode: 'number' }).notNull(),
    lastActivityAt: bigint('last_activity_at', { mode: 'number' }).notNull(),
  });
