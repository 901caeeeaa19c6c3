import type { FakeClock } from '../../base/clock.js';
import { type Clock, sleepReal, systemHostClock } from '../../base/clock.js';

/** Sleepers further away than this wait for nothing: loops of the runtime that only ever poll. In ms. */
const HORIZON_MS = 100 * 31_556_952_000;

/** Longest real pause of somebody who waits; a hint wakes it long before. In ms. */
const LONGEST_REAL_PAUSE_MS = 50;

/** Intervals of background loops in a test environment: never. In ms. */
export const NEVER_MS = 900 * 31_556_952_000;

/** The moment of the next sleeper that waits for something, if there is one. */
export function nextWakeAtMs(clock: FakeClock): number | undefined {
  const next = clock.nextWakeAtMs;
  return next === undefined || next - clock.nowMs() > HORIZON_MS ? undefined : next;
}

/**
 * The clock of a test's own client: real time, so that time-outs of the test are real,
 * in short pauses. While somebody sleeps on it, a result is waited for.
 */
export class WaitingClock implements Clock {
  private sleeping = 0;

  /** @param onWait called whenever somebody begins to wait */
  constructor(private readonly onWait: () => void) {}

  get isAwaited(): boolean {
    return this.sleeping > 0;
  }

  nowMs(): number {
    return Math.floor(systemHostClock.monotonicMs());
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const untilMs = systemHostClock.monotonicMs() + ms;
    this.sleeping += 1;
    this.onWait();
    try {
      for (let restMs = ms; restMs > 0; restMs = untilMs - systemHostClock.monotonicMs()) {
        await sleepReal(Math.min(restMs, LONGEST_REAL_PAUSE_MS), signal);
      }
    } finally {
      this.sleeping -= 1;
    }
  }
}
