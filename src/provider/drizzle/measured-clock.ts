import { errorText } from '../../base/error-text.js';
import { type Clock, type HostClock, sleepReal, systemHostClock } from '../../base/clock.js';
import type { Logger } from '../../base/logger.js';
import type { Ms } from '../provider.js';

/** How often the offset is measured again. */
const MEASURE_EVERY_MS: Ms = 60_000;
/** Apart by so much, the host's clock was set or the machine slept; then it is measured at once. */
const JUMP_MS: Ms = 500;
/** After a measurement that failed, and between two that a jump asks for. */
const RETRY_AFTER_MS: Ms = 1_000;
/** An offset that somebody should know about. */
const WORTH_A_WARNING_MS: Ms = 1_000;
/** The best of so many is taken: the shortest round trip says most. */
const SAMPLES = 3;
/** While it is ahead the clock runs at half speed, until the truth has caught up. */
const SLEW_RATE = 0.5;

export interface MeasuredClockOptions {
  /** Asks the database for its time, in Unix ms. */
  readonly measure: () => Promise<Ms>;
  readonly logger: Logger;
  readonly host?: HostClock | undefined;
}

/** A moment of both clocks that were together then. */
interface Anchor {
  readonly databaseMs: Ms;
  readonly monotonicMs: Ms;
  /** The host's time less the monotonic one. */
  readonly hostLead: Ms;
}

/**
 * The provider's clock: the database's time, as this host can know it (provider.md 3.0).
 * Hosts that disagree about the time then still agree about locks and timers (C-07).
 *
 * Between two measurements the monotonic clock carries it on, so that a host whose
 * time is set does not take the clock along. It never steps back: after a measurement
 * that says less it runs slowly until it is right.
 */
export class MeasuredClock implements Clock {
  private readonly host: HostClock;
  private anchor: Anchor;
  /** What was answered last, and when: no answer may be smaller. */
  private last: { readonly ms: Ms; readonly monotonicMs: Ms };
  private measuring: Promise<void> | undefined;
  private attemptedAtMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private warned = false;
  private closed = false;

  constructor(private readonly options: MeasuredClockOptions) {
    this.host = options.host ?? systemHostClock;
    this.anchor = this.anchorNow(this.host.nowMs());
    this.last = { ms: -Infinity, monotonicMs: this.host.monotonicMs() };
  }

  /** Measures for the first time, and then again and again. @throws what the database answered */
  async start(): Promise<void> {
    await this.remeasure();
    this.timer = setInterval(() => this.remeasureInBackground(), MEASURE_EVERY_MS);
    this.timer.unref();
  }

  close(): void {
    this.closed = true;
    clearInterval(this.timer);
  }

  nowMs(): Ms {
    const monotonicMs = this.host.monotonicMs();
    if (Math.abs(this.host.nowMs() - monotonicMs - this.anchor.hostLead) > JUMP_MS) this.remeasureAfterJump(monotonicMs);
    const trueMs = this.anchor.databaseMs + (monotonicMs - this.anchor.monotonicMs);
    // Behind the truth it goes there at once; ahead of it, it is slow.
    const slowMs = this.last.ms + (monotonicMs - this.last.monotonicMs) * SLEW_RATE;
    const ms = Math.max(trueMs, slowMs);
    this.last = { ms, monotonicMs };
    return Math.floor(ms);
  }

  sleep(ms: Ms, signal?: AbortSignal): Promise<void> {
    return sleepReal(ms, signal);
  }

  /** Measures now; concurrent callers share one measurement. */
  remeasure(): Promise<void> {
    this.measuring ??= this.measure().finally(() => (this.measuring = undefined));
    return this.measuring;
  }

  private remeasureAfterJump(monotonicMs: Ms): void {
    if (this.measuring || this.closed || monotonicMs - this.attemptedAtMs < RETRY_AFTER_MS) return;
    this.remeasureInBackground();
  }

  private remeasureInBackground(): void {
    this.remeasure().catch((error: unknown) => {
      const reason = errorText(error);
      this.options.logger.debug({ reason }, "the database's time could not be measured; the old offset stays");
    });
  }

  private async measure(): Promise<void> {
    this.attemptedAtMs = this.host.monotonicMs();
    let best: { readonly anchor: Anchor; readonly roundTripMs: Ms } | undefined;
    for (let sample = 0; sample < SAMPLES; sample++) {
      const sentMs = this.host.monotonicMs();
      const databaseMs = await this.options.measure();
      const roundTripMs = this.host.monotonicMs() - sentMs;
      if (best && best.roundTripMs <= roundTripMs) continue;
      // The answer is taken to be from the middle of the round trip.
      best = { anchor: this.anchorNow(databaseMs + roundTripMs / 2), roundTripMs };
    }
    if (best) this.anchor = best.anchor;
    this.warnOnce();
  }

  private anchorNow(databaseMs: Ms): Anchor {
    const monotonicMs = this.host.monotonicMs();
    return { databaseMs, monotonicMs, hostLead: this.host.nowMs() - monotonicMs };
  }

  private warnOnce(): void {
    const offsetMs = Math.round(this.anchor.databaseMs - this.anchor.monotonicMs - this.anchor.hostLead);
    if (this.warned || Math.abs(offsetMs) <= WORTH_A_WARNING_MS) return;
    this.warned = true;
    this.options.logger.warn(
      { offsetMs },
      "this host's clock differs from the database's; the difference is allowed for, but native workers do not " +
        'allow for theirs: synchronise the hosts',
    );
  }
}
