import { sql } from 'drizzle-orm';
import { bigint, index, integer, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/**
 * One row per execution, which is one run of an instance between continue-as-new.
 * Status is `Running`, `Completed`, `Failed` (also when cancelled) or `ContinuedAsNew`.
 */
export const executionsTable = (table: TableFactory) =>
  table(
    'executions',
    {
      instanceId: text('instance_id').notNull(),
      executionId: bigint('execution_id', { mode: 'number' }).notNull(),
      status: text('status').notNull().default('Running'),
      output: text('output'),
      startedAt: timestamp('started_at', { withTimezone: true }).notNull(),
      /** Stays null for `ContinuedAsNew`, as native leaves it (P:T-12). */
      completedAt: timestamp('completed_at', { withTimezone: true }),
      duroxideVersionMajor: integer('duroxide_version_major'),
      duroxideVersionMinor: integer('duroxide_version_minor'),
      duroxideVersionPatch: integer('duroxide_version_patch'),
    },
    (t) => [
      primaryKey({ name: 'executions_pkey', columns: [t.instanceId, t.executionId] }),
      // Ours, for lists and counts by status; the others are too many to be worth it.
      index('ddz_executions_status')
        .on(t.status, t.instanceId)
        .where(sql`${t.status} in ('Running', 'Failed')`),
    ],
  );
