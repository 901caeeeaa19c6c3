import { Cron, CronPattern } from 'croner';
import { ZoneClock } from './zone-clock.js';

/** Whether an expression fires in every hour of the day, so that it means intervals and not times of day. */
export function firesEveryHour(expression: string, timeZone: string): boolean {
  return new CronPattern(expression, timeZone).hour.every((isSet) => isSet === 1);
}

/**
 * Fire times of an expression that fires in every hour. At the end of daylight-saving time
 * an hour is repeated on the clock, but not in the world: such an expression fires in both.
 * (The cron library fires each time on the clock once, which is right for times of day.)
 */
export class EveryHour {
  /** By the offset from UTC in minutes. */
  private readonly crons = new Map<number, Cron>();
  private readonly clock: ZoneClock;

  constructor(
    private readonly expression: string,
    timeZone: string,
  ) {
    this.clock = new ZoneClock(timeZone);
  }

  nextAfter(afterMs: number): number | null {
    const offset = this.clock.offsetAt(afterMs);
    const next = this.nextAt(offset, afterMs);
    if (next === null) return null;
    const then = this.clock.offsetAt(next);
    if (then === offset) return next;
    // The offset changes in between. The library counts whole seconds, and so do the changes.
    return this.nextAt(then, this.changeBetween(afterMs, next) - 1_000);
  }

  private nextAt(offset: number, afterMs: number): number | null {
    let cron = this.crons.get(offset);
    if (!cron) this.crons.set(offset, (cron = new Cron(this.expression, { utcOffset: offset, paused: true })));
    return cron.nextRun(new Date(afterMs))?.getTime() ?? null;
  }

  /** The first second with the offset of `untilMs`; between two fire times there is one change at most. */
  private changeBetween(fromMs: number, untilMs: number): number {
    const offset = this.clock.offsetAt(untilMs);
    let before = Math.floor(fromMs / 1_000);
    let since = Math.floor(untilMs / 1_000);
    while (since - before > 1) {
      const middle = Math.floor((before + since) / 2);
      if (this.clock.offsetAt(middle * 1_000) === offset) since = middle;
      else before = middle;
    }
    return since * 1_000;
  }
}
