const MINUTE_MS = 60_000;
/** No change of the clocks is larger, and no two of them are as close. In ms. */
const DAY_MS = 86_400_000;

/** The clocks of a time zone. A time on them is the Unix ms at which UTC's would show the same. */
export class ZoneClock {
  private readonly format: Intl.DateTimeFormat;

  /** @throws RangeError for an unknown time zone */
  constructor(timeZone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** How far the clocks are ahead of UTC, in minutes. */
  offsetAt(ms: number): number {
    const fields: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.format.formatToParts(ms)) fields[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
    return Math.round(
      (Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1_000) * 1_000) / MINUTE_MS,
    );
  }

  /**
   * When the clocks show a time first. One that they skip counts as much later as they are
   * put forward.
   */
  firstMomentOf(clockMs: number): number {
    const before = this.offsetAt(clockMs - DAY_MS);
    const after = this.offsetAt(clockMs + DAY_MS);
    const moment = clockMs - before * MINUTE_MS;
    // The earlier one of two, and the later time of a skipped one, are both told by the offset before the change.
    if (before === after || this.offsetAt(moment) === before) return moment;
    const late = clockMs - after * MINUTE_MS;
    return this.offsetAt(late) === after ? late : moment;
  }

  /** The earliest time on the clocks whose {@link firstMomentOf} may be later than this moment. */
  earliestAfter(ms: number): number {
    const now = this.offsetAt(ms);
    const forward = Math.max(0, now - this.offsetAt(ms - DAY_MS));
    // Just put forward: times that were skipped are still to come.
    return ms + Math.min(now, this.offsetAt(ms - forward * MINUTE_MS)) * MINUTE_MS;
  }
}
