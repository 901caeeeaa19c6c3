import { errorText } from '../base/error-text.js';
import type { CatchUp, Overlap, ScheduleDefinition } from '../provider/schedules.js';
import { problemOfRootId } from '../wire/identifiers.js';
import { fireTimesOf } from './decide.js';

/** What comes behind the id of a schedule in the ids of its instances. */
const LONGEST_SUFFIX = '@+275760-09-13T00:00:00.000Z+00000000-0000-0000-0000-000000000000';
/** Shortest interval, in ms. */
const MIN_EVERY_MS = 1_000;
const MAX_CATCH_UP = 1_000;
const CATCH_UPS: readonly CatchUp[] = ['one', 'all', 'skip'];
const OVERLAPS: readonly Overlap[] = ['allow', 'skip'];

/** When a schedule fires, and how it behaves. */
export interface ScheduleTiming {
  /**
   * A cron expression of five fields, such as `0 2 * * *`, six with seconds in front, or
   * seven with a year behind, too; or {@link everyMs}.
   */
  readonly cron?: string | undefined;
  /** The IANA name of the time zone whose clocks the expression means. @defaultValue `UTC` */
  readonly timeZone?: string | undefined;
  /** An interval in ms, at least 1,000, counted from the creation; or {@link cron}. */
  readonly everyMs?: number | undefined;
  /**
   * What happens with fire times that passed while no runtime was there to fire:
   * - `one`: the latest of them fires, the others are dropped;
   * - `all`: all of them fire, the latest {@link maxCatchUp} at most;
   * - `skip`: none fires, but one that is late by {@link graceMs} at most.
   * @defaultValue `one`
   */
  readonly catchUp?: CatchUp | undefined;
  /** From 1 to 1,000. @defaultValue `100` */
  readonly maxCatchUp?: number | undefined;
  /** How late a fire may be with `catchUp: 'skip'`, in ms. @defaultValue `60_000` */
  readonly graceMs?: number | undefined;
  /**
   * Whether an instance is started while the one before it still runs: `allow`, or `skip`
   * to leave this fire out. @defaultValue `allow`
   */
  readonly overlap?: Overlap | undefined;
}

/** What is started, and through which start queue. */
export type ScheduleTarget = Pick<
  ScheduleDefinition,
  'orchestration' | 'version' | 'input' | 'queue' | 'key' | 'priority'
>;

/** A schedule cannot be meant like this; the message names it, and what was expected. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';

  constructor(
    readonly scheduleId: string,
    reason: string,
  ) {
    super(`schedule '${scheduleId}': ${reason}`);
  }
}

/** @throws ScheduleError for an id that could not be the beginning of instance ids */
export function checkedScheduleId(id: unknown): string {
  if (typeof id !== 'string' || id === '') {
    throw new ScheduleError(String(id), `expected a non-empty string as the id, got ${id === '' ? "''" : typeof id}`);
  }
  const problem = problemOfRootId(`${id}${LONGEST_SUFFIX}`);
  if (problem !== undefined) {
    throw new ScheduleError(id.slice(0, 60), `the id cannot be the beginning of an instance id: ${problem}`);
  }
  return id;
}

/** The schedule with its defaults, checked. @throws ScheduleError */
export function resolveSchedule(
  id: string,
  target: ScheduleTarget,
  timing: ScheduleTiming,
  anchorMs: number,
): ScheduleDefinition {
  const fail = (reason: string): never => {
    throw new ScheduleError(id, reason);
  };
  const {
    cron,
    everyMs,
    timeZone = 'UTC',
    catchUp = 'one',
    overlap = 'allow',
    maxCatchUp = 100,
    graceMs = 60_000,
  } = timing;
  if ((cron === undefined) === (everyMs === undefined)) {
    fail(`expected either cron or everyMs, got ${cron === undefined ? 'neither' : 'both'}`);
  }
  if (cron !== undefined && typeof cron !== 'string') fail(`cron must be a string, got ${typeof cron}`);
  if (everyMs !== undefined && !(Number.isSafeInteger(everyMs) && everyMs >= MIN_EVERY_MS)) {
    fail(`everyMs must be a whole number of at least ${MIN_EVERY_MS}, got ${String(everyMs)}`);
  }
  if (everyMs !== undefined && timing.timeZone !== undefined) fail('timeZone means nothing with everyMs: leave it out');
  if (!isTimeZone(timeZone)) {
    fail(`timeZone must be an IANA name such as 'Europe/Berlin', got '${String(timeZone)}'`);
  }
  if (!CATCH_UPS.includes(catchUp)) fail(`catchUp must be 'one', 'all' or 'skip', got '${String(catchUp)}'`);
  if (!OVERLAPS.includes(overlap)) fail(`overlap must be 'allow' or 'skip', got '${String(overlap)}'`);
  if (!(Number.isInteger(maxCatchUp) && maxCatchUp >= 1 && maxCatchUp <= MAX_CATCH_UP)) {
    fail(`maxCatchUp must be a whole number from 1 to ${MAX_CATCH_UP}, got ${String(maxCatchUp)}`);
  }
  if (!(Number.isSafeInteger(graceMs) && graceMs >= 0)) {
    fail(`graceMs must be a whole number of at least 0, got ${String(graceMs)}`);
  }
  const definition: ScheduleDefinition = {
    ...target,
    cron: cron ?? null,
    timeZone,
    everyMs: everyMs ?? null,
    anchorMs,
    catchUp,
    maxCatchUp,
    graceMs,
    overlap,
  };
  if (nextFireOf(id, definition, anchorMs) === null) fail(`cron '${String(cron)}' never fires`);
  return definition;
}

/** The first fire time after a moment; `null` when there is none. @throws ScheduleError when it is not understood */
export function nextFireOf(id: string, definition: ScheduleDefinition, afterMs: number): number | null {
  try {
    return fireTimesOf(definition).nextAfter(afterMs);
  } catch (error) {
    const reason = errorText(error);
    throw new ScheduleError(id, `cron '${String(definition.cron)}' is not understood: ${reason}`);
  }
}

function isTimeZone(name: unknown): boolean {
  if (typeof name !== 'string') return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
