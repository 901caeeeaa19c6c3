import { bigint, boolean, index, integer, text } from 'drizzle-orm/pg-core';
import type { TableFactory } from './table-factory.js';

/** Orchestrations that are started at certain times. Moments are Unix ms of the provider's clock. */
export const schedulesTable = (table: TableFactory) =>
  table(
    'ddz_schedules',
    {
      scheduleId: text('schedule_id').primaryKey(),
      orchestration: text('orchestration').notNull(),
      /** Null: what the registry's policy names. */
      version: text('version'),
      /** The payload that each instance gets. */
      input: text('input').notNull(),
      /** A cron expression; null for an interval. */
      cron: text('cron'),
      timeZone: text('time_zone').notNull(),
      /** An interval, counted from `anchor_ms`; null for a cron expression. */
      everyMs: bigint('every_ms', { mode: 'number' }),
      anchorMs: bigint('anchor_ms', { mode: 'number' }).notNull(),
      catchUp: text('catch_up').notNull(),
      maxCatchUp: integer('max_catch_up').notNull(),
      graceMs: bigint('grace_ms', { mode: 'number' }).notNull(),
      overlap: text('overlap').notNull(),
      isPaused: boolean('is_paused').notNull(),
      /** Why it was paused by a runtime that could not understand it. */
      problem: text('problem'),
      /** Null while it is paused, and when nothing is left to fire. */
      nextFireMs: bigint('next_fire_ms', { mode: 'number' }),
      lastFireMs: bigint('last_fire_ms', { mode: 'number' }),
      /** The instance started last. */
      lastInstance: text('last_instance'),
      firedCount: bigint('fired_count', { mode: 'number' }).notNull(),
      /** Not started because the instance before still ran. */
      overlapCount: bigint('overlap_count', { mode: 'number' }).notNull(),
      /** The start queue that its instances go through; null: none. */
      startQueue: text('start_queue'),
      /** What limits per key count together; null: none. */
      startKey: text('start_key'),
      /** Null: 0. */
      startPriority: integer('start_priority'),
      createdMs: bigint('created_ms', { mode: 'number' }).notNull(),
      updatedMs: bigint('updated_ms', { mode: 'number' }).notNull(),
    },
    (t) => [index('ddz_schedules_next').on(t.nextFireMs)],
  );
