import { Cron } from 'croner';
import { EveryHour, firesEveryHour } from './every-hour.js';

/** When something fires. Moments are Unix ms. */
export interface FireTimes {
  /** The first one after a moment; `null` when there is none. */
  nextAfter(afterMs: number): number | null;
}

/** Steps of {@link lastFireTimes} at most: a cron expression of every second, looked at for an hour. */
const MAX_STEPS = 4_000;
/** How far back is looked, in steps, until there are enough. In ms. */
const LOOK_BACK_MS = [60_000, 3_600_000, 86_400_000, 32 * 86_400_000, 367 * 86_400_000, Infinity];

/**
 * The fire times of a cron expression on the clocks of a time zone. At a change of the
 * clocks a time of day that is skipped fires as much later as the clocks were put forward,
 * and one that comes twice fires the first time only; an expression of every hour fires
 * as if nothing had happened.
 * @throws Error with the reason, when the expression is not understood
 */
export function cronTimes(expression: string, timeZone: string): FireTimes {
  const cron = new Cron(expression, { timezone: timeZone, paused: true });
  if (firesEveryHour(expression, timeZone)) return new EveryHour(expression, timeZone);
  return { nextAfter: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null };
}

/** Fire times every so many ms, counted from `anchorMs`; the first one is an interval after it. */
export function intervalTimes(everyMs: number, anchorMs: number): FireTimes {
  return {
    nextAfter: (afterMs) => anchorMs + Math.max(1, Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs,
  };
}

/** The last `count` fire times from `fromMs`, which is one, to `toMs`, in order. */
export function lastFireTimes(times: FireTimes, fromMs: number, toMs: number, count: number): number[] {
  for (const backMs of LOOK_BACK_MS) {
    const startMs = Math.max(fromMs, toMs - backMs);
    const found: number[] = startMs === fromMs ? [fromMs] : [];
    let steps = 0;
    for (
      let at = times.nextAfter(startMs);
      at !== null && at <= toMs && steps < MAX_STEPS;
      at = times.nextAfter(at), steps++
    ) {
      found.push(at);
    }
    if (found.length >= count || startMs === fromMs) return found.slice(-count);
  }
  return [];
}
