import type { Client } from '../../client/client.js';
import type { ScheduleInfo } from '../../client/schedules.js';
import type { ScheduleRow, SchedulesView } from '../views.js';
import { supported } from './supported.js';

/** Schedules that a page shows. */
export const MAX_SCHEDULES = 500;

/** `client.schedules.list`. */
export const SCHEDULES_STATEMENTS = 1;

/** All schedules as the page shows them; a store without the table says what it lacks. */
export function readSchedules(client: Client): Promise<SchedulesView['schedules']> {
  return supported(async () => {
    const all = await client.schedules.list();
    return { rows: all.slice(0, MAX_SCHEDULES).map(rowOf), total: all.length };
  });
}

function rowOf(schedule: ScheduleInfo): ScheduleRow {
  const { id, orchestration, version, cron, timeZone, everyMs, overlap, queue, isPaused, problem } = schedule;
  const { lastInstanceId, firedCount, overlapCount } = schedule;
  return {
    ...{ id, orchestration, version, cron, timeZone, everyMs, overlap, queue, isPaused, problem },
    ...{ lastInstanceId, firedCount, overlapCount },
    nextFireAtMs: schedule.nextFireAt?.getTime() ?? null,
    lastFireAtMs: schedule.lastFireAt?.getTime() ?? null,
  };
}
