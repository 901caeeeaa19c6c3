import { Cron } from 'croner';
import { ZoneClock } from './zone-clock.js';

/**
 * Fire times of an expression that means times of day. It is asked for times on the clocks,
 * and the moment of each is worked out here: the cron library goes back in time within an
 * hour that comes twice, and loses what is still to come of one that is skipped.
 */
export class TimesOfDay {
  private readonly cron: Cron;
  private readonly clock: ZoneClock;

  constructor(expression: string, timeZone: string) {
    this.cron = new Cron(expression, { utcOffset: 0, paused: true });
    this.clock = new ZoneClock(timeZone);
  }

  nextAfter(afterMs: number): number | null {
    let earliest: number | null = null;
    let at = this.nextOnClock(this.clock.earliestAfter(afterMs));
    while (at !== null) {
      const moment = this.clock.firstMomentOf(at);
      if (moment > afterMs) {
        if (earliest === null || moment < earliest) earliest = moment;
        // Of a time that is skipped the moment is later than those of some times behind it.
        if (at >= this.clock.earliestAfter(earliest)) return earliest;
      }
      at = this.nextOnClock(at);
    }
    return earliest;
  }

  private nextOnClock(clockMs: number): number | null {
    return this.cron.nextRun(new Date(clockMs))?.getTime() ?? null;
  }
}
