import { Cron } from 'croner';
import { EveryHour, firesEveryHour } from './every-hour.js';
import { TimesOfDay } from './times-of-day.js';

/** When something fires. Moments are Unix ms. */
export interface FireTimes {
  /** The first one after a moment; `null` when there is none. */
  nextAfter(afterMs: number): number | null;
}

/** A look back of {@link lastFireTimes} that brings more than so many is given up. */
const MAX_STEPS = 20_000;
/** How far is looked back first, in ms; then twice as far, until there are enough. */
const FIRST_LOOK_BACK_MS = 60_000;

/**
 * The fire times of a cron expression on the clocks of a time zone. At a change of the
 * clocks a time of day that is skipped fires as much later as the clocks were put forward,
 * and one that comes twice fires the first time only; an expression of every hour fires
 * as if nothing had happened.
 * @throws Error with the reason, when the expression is not understood
 */
export function cronTimes(expression: string, timeZone: string): FireTimes {
  // Says what is wrong with an expression or a time zone.
  void new Cron(expression, { timezone: timeZone, paused: true });
  return firesEveryHour(expression, timeZone)
    ? new EveryHour(expression, timeZone)
    : new TimesOfDay(expression, timeZone);
}

/** Fire times every so many ms, counted from `anchorMs`; the first one is an interval after it. */
export function intervalTimes(everyMs: number, anchorMs: number): FireTimes {
  return {
    nextAfter: (afterMs) => anchorMs + Math.max(1, Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs,
  };
}

/**
 * The last `count` fire times from `fromMs`, which is one, to `toMs`, in order. Fewer, the
 * newest, where very many would have to be looked at for the others.
 */
export function lastFireTimes(times: FireTimes, fromMs: number, toMs: number, count: number): number[] {
  const lastMs = lastFireTime(times, fromMs, toMs);
  let found = [lastMs];
  for (let backMs = FIRST_LOOK_BACK_MS; found.length < count; backMs *= 2) {
    const startMs = Math.max(fromMs, lastMs - backMs);
    const more = fireTimesBetween(times, startMs, lastMs);
    if (more === undefined) break;
    found = startMs === fromMs ? [fromMs, ...more] : more;
    if (startMs === fromMs) break;
  }
  return found.slice(-count);
}

/** Found by halves: however many times there are, some forty are looked at. */
function lastFireTime(times: FireTimes, fromMs: number, toMs: number): number {
  const isLast = (ms: number) => (times.nextAfter(ms) ?? Infinity) > toMs;
  if (isLast(fromMs)) return fromMs;
  let [before, last] = [fromMs, toMs];
  while (last - before > 1) {
    const middle = Math.floor((before + last) / 2);
    if (isLast(middle)) last = middle;
    else before = middle;
  }
  return last;
}

/** Those after `fromMs`, up to `toMs`; `undefined`: too many. */
function fireTimesBetween(times: FireTimes, fromMs: number, toMs: number): number[] | undefined {
  const found: number[] = [];
  for (let at = times.nextAfter(fromMs); at !== null && at <= toMs; at = times.nextAfter(at)) {
    if (found.push(at) > MAX_STEPS) return undefined;
  }
  return found;
}
