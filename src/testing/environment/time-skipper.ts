import type { FakeClock, TimerHandle } from '../../base/clock.js';
import { setLongTimeout, systemHostClock } from '../../base/clock.js';
import type { Due } from '../../provider/provider.js';
import { nextWakeAtMs } from './virtual-clock.js';

/** Laps of the event loop without a sign of work after which nothing goes on by itself. */
const QUIET_LAPS = 3;
/** While an activity does real work, the virtual clock follows the real one in steps of so many ms. */
const REAL_STEP_MS = 20;

/** What the skipper asks of its environment. */
export interface TimeSkipperParts {
  readonly clock: FakeClock;
  /** Calls of the store that have not answered yet. */
  pendingCalls(): number;
  /** Activities that run and do not sleep on the virtual clock. */
  busyActivities(): number;
  /** Activities that run, those included that sleep: their locks have to be renewed on the way. */
  heldActivities(): number;
  /** Whether the test waits for something: only then time may go on. */
  isAwaited(): boolean;
  due(): Promise<Due>;
  /** Has the runtime look at its queues. */
  wake(): void;
  /** The store could not say what is due. */
  failed(error: unknown): void;
}

/**
 * Moves the virtual clock to the next moment at which something happens, as soon as the
 * test waits and nothing is left to do now: the environment is a simulation of discrete
 * events. Without a test that waits, time stands still.
 */
export class TimeSkipper {
  private stopped = false;
  private checking = false;
  private again = false;
  private calls = 0;
  /** The moment at which something was due that nobody took. */
  private leftAtMs: number | undefined;
  /** Moments of {@link expect} that are to come. */
  private expected: number[] = [];
  /** When the next schedule fires. */
  private fireAtMs = Infinity;
  private realStep: TimerHandle | undefined;

  constructor(private readonly parts: TimeSkipperParts) {}

  /** Something happened, or somebody waits: look whether time may go on. */
  check(): void {
    this.calls += 1;
    if (this.stopped) return;
    this.again = true;
    if (!this.checking) void this.run();
  }

  /** Something may happen at this moment of the virtual clock, of which the store does not know. */
  expect(atMs: number): void {
    this.expected.push(atMs);
  }

  /** The next schedule fires at this moment; `Infinity`: none does. */
  fires(atMs: number): void {
    this.fireAtMs = atMs;
  }

  stop(): void {
    this.stopped = true;
    this.realStep?.cancel();
  }

  private async run(): Promise<void> {
    this.checking = true;
    try {
      while (this.again && !this.stopped) {
        this.again = false;
        if (await this.isQuiet()) await this.skip();
      }
    } catch (error) {
      // The store does not answer: whoever waits finds out by itself, and the next call looks again.
      if (!this.stopped) this.parts.failed(error);
    } finally {
      this.checking = false;
    }
  }

  private async isQuiet(): Promise<boolean> {
    const { calls } = this;
    for (let lap = 0; lap < QUIET_LAPS; lap++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      // Whoever ends or begins a call checks again.
      if (this.calls !== calls || this.parts.pendingCalls() > 0) return false;
    }
    if (!this.parts.isAwaited()) return false;
    if (this.parts.busyActivities() === 0) return true;
    this.followRealTime();
    return false;
  }

  private async skip(): Promise<void> {
    const { clock } = this.parts;
    const due = await this.parts.due();
    if (this.stopped) return;
    const nowMs = clock.nowMs();
    // Rows of other clients, or of a runtime that crashed: no wake-up has told of them.
    if ((due.orchestrator || due.worker) && this.leftAtMs !== nowMs) {
      this.leftAtMs = nowMs;
      this.again = true;
      return this.parts.wake();
    }
    const nextMs = this.nextMs(due, nowMs);
    if (nextMs === Infinity) return;
    this.again = true;
    clock.set(nextMs);
    this.expected = this.expected.filter((atMs) => atMs > nextMs);
    // The loop looks now, and knows the next one.
    if (this.fireAtMs <= nextMs) this.fireAtMs = Infinity;
    this.parts.wake();
  }

  /**
   * The next moment that counts. Pauses of background loops (heartbeats, polls) do not: they
   * only lie on the way, where there is something to wait for behind them.
   */
  private nextMs({ orchestrator, worker, nextVisibleAtMs }: Due, nowMs: number): number {
    const { clock } = this.parts;
    const sleeperMs = nextWakeAtMs(clock) ?? Infinity;
    const goalMs = Math.min(nextVisibleAtMs ?? Infinity, this.fireAtMs, ...this.expected);
    // What is due and was not taken waits for a pause of the runtime, such as the one after an error.
    const stepsMatter = this.parts.heldActivities() > 0 || ((orchestrator || worker) && goalMs === Infinity);
    // Pauses with jitter end between two milliseconds; the time of a store is whole.
    return Math.max(nowMs, Math.ceil(stepsMatter ? Math.min(goalMs, sleeperMs) : goalMs));
  }

  /** An activity takes real time: what waits beside it (polls, lock renewals) must not stand still. */
  private followRealTime(): void {
    if (this.realStep) return;
    const beganAtMs = systemHostClock.monotonicMs();
    this.realStep = setLongTimeout(() => {
      this.realStep = undefined;
      if (this.stopped) return;
      if (this.parts.busyActivities() > 0) {
        this.parts.clock.advance(Math.round(systemHostClock.monotonicMs() - beganAtMs));
      }
      this.check();
    }, REAL_STEP_MS);
  }
}
