import { errorText } from '../base/error-text.js';
import type { ScheduleDecision, ScheduleDefinition, ScheduleFacts, StoredSchedule } from '../provider/schedules.js';
import type { WorkItem } from '../wire/work-item.js';
import { cronTimes, type FireTimes, intervalTimes, lastFireTimes } from './fire-times.js';

/** The fire times of a schedule. @throws Error with the reason, when it is not understood */
export function fireTimesOf({ cron, timeZone, everyMs, anchorMs }: ScheduleDefinition): FireTimes {
  if (cron !== null) return cronTimes(cron, timeZone);
  if (everyMs !== null) return intervalTimes(everyMs, anchorMs);
  throw new Error('it has neither a cron expression nor an interval');
}

/** The instance that a schedule starts at a fire time: the same for whoever fires it, so that a repetition is a no-op. */
export function instanceOfFire(scheduleId: string, fireMs: number): string {
  return `${scheduleId}@${new Date(fireMs).toISOString()}`;
}

/** The message that starts an instance of a schedule. */
export function startOf(
  { orchestration, input, version }: ScheduleDefinition,
  instance: string,
): WorkItem & { readonly kind: 'StartOrchestration' } {
  return {
    kind: 'StartOrchestration',
    instance,
    orchestration,
    input,
    version,
    parentInstance: null,
    parentId: null,
    executionId: 1,
  };
}

/**
 * What a schedule that is due starts, and when it is due again. Pure, because it may be
 * asked several times for one fire. One that cannot be understood is paused and says why,
 * so that it does not stop the others.
 */
export function decideFire(schedule: StoredSchedule, facts: ScheduleFacts): ScheduleDecision {
  try {
    return fire(schedule, facts);
  } catch (error) {
    const problem = errorText(error);
    return { starts: [], overlaps: 0, after: { ...schedule, isPaused: true, nextFireMs: null, problem } };
  }
}

function fire(schedule: StoredSchedule, { nowMs, isLastRunning }: ScheduleFacts): ScheduleDecision {
  const { id, nextFireMs, overlap } = schedule;
  const times = fireTimesOf(schedule);
  const caughtUp = nextFireMs === null ? [] : caughtUpTimes(schedule, times, nextFireMs, nowMs);
  // One runs: nothing is started beside it. None runs: the latest alone, because it will.
  const started = overlap === 'allow' ? caughtUp : isLastRunning ? [] : caughtUp.slice(-1);
  const lastFireMs = started.at(-1);
  return {
    starts: started.map((atMs) => startOf(schedule, instanceOfFire(id, atMs))),
    overlaps: caughtUp.length - started.length,
    after: {
      isPaused: false,
      problem: null,
      nextFireMs: times.nextAfter(nowMs),
      lastFireMs: lastFireMs ?? schedule.lastFireMs,
      lastInstance: lastFireMs === undefined ? schedule.lastInstance : instanceOfFire(id, lastFireMs),
    },
  };
}

/** Of the fire times that have come, those that count by the rule of the schedule. */
function caughtUpTimes(
  { catchUp, maxCatchUp, graceMs }: StoredSchedule,
  times: FireTimes,
  fromMs: number,
  nowMs: number,
): readonly number[] {
  const last = lastFireTimes(times, fromMs, nowMs, catchUp === 'all' ? maxCatchUp : 1);
  return catchUp === 'skip' ? last.filter((atMs) => nowMs - atMs <= graceMs) : last;
}
