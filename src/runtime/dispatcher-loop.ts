import { Gate } from '../base/gate.js';
import { jitterMs } from '../base/backoff.js';
import type { QueueName } from '../provider/provider.js';
import { ProviderError } from '../provider/provider-error.js';
import type { RuntimeCore } from './core.js';
import { pause } from './core.js';
import { fetchErrorPauseMs, PERMANENT_ERROR_PAUSE_MS } from './fetch-errors.js';
import type { IdleProbe, ProbedQueue } from './idle-probe.js';
import { WakeDamper } from './wake-damper.js';

/** Pause after a fetch that only lost candidates to others: long enough for them to be done. */
const LOST_PAUSE_MS = [2, 20] as const;

/** What one look at a queue brought. */
export interface Look {
  readonly fetched: number;
  /** Candidates that went to somebody else: not empty, try again. */
  readonly lost: number;
  /** As much was fetched as was asked for: there may be more. */
  readonly isFull: boolean;
}

/** One kind of work, fetched and begun. */
export interface Dispatchable {
  readonly queue: QueueName;
  /** Whether there is room for more work now. */
  hasRoom(): boolean;
  /** Fetches as much as there is room for, and begins it. */
  look(): Promise<Look>;
}

/**
 * The loop of a dispatcher (runtime.md 1.3): fetch while there is work and room, back off
 * from errors, and wait for a wake-up when there is nothing. It ends when the runtime
 * stops; an error never ends it.
 */
export class DispatcherLoop implements ProbedQueue {
  private readonly gate: Gate;
  private errors = 0;
  private idle = false;
  private waitsForRoom = false;
  private wakeUps = 0;
  /** Of them, those that came before the look that saw the end of the queue. */
  private wakeUpsAtEnd = 0;
  private readonly damper: WakeDamper;
  private isToldOfOthers = false;
  private patientUntilMs: number | undefined;

  constructor(
    private readonly core: RuntimeCore,
    private readonly probe: IdleProbe,
    private readonly work: Dispatchable,
  ) {
    this.gate = new Gate(core.clock);
    this.damper = new WakeDamper(core.random);
  }

  /** How many wake-ups came so far: tells whether one came since some moment. */
  get wakeUpCount(): number {
    return this.wakeUps;
  }

  /** The last look saw the end of the queue, and nobody has told of anything since. */
  get foundNothingMore(): boolean {
    return this.idle && this.wakeUps === this.wakeUpsAtEnd;
  }

  /** There may be work. */
  wake(): void {
    this.wakeUps += 1;
    this.gate.wake();
  }

  /** Another process enqueued something, and all processes know. */
  wakeFromElsewhere(): void {
    const pauseMs = this.idle ? this.damper.pauseMs() : 0;
    this.isToldOfOthers = true;
    if (pauseMs === 0) return this.wake();
    this.wakeUps += 1;
    this.probe.lookWithin(pauseMs);
  }

  /**
   * A fetch costs several times what the probe's look does, and a single item is about to be
   * taken by somebody quicker: it is left to them for a while. Of several items there may be
   * more than they have room for.
   */
  sawAmongMany(isDue: boolean, areSeveral: boolean): void {
    if (!this.idle) return;
    if (!isDue) {
      this.patientUntilMs = undefined;
      return this.foundTheNews(false);
    }
    this.isToldOfOthers = true;
    const nowMs = this.core.clock.nowMs();
    this.patientUntilMs ??= nowMs + this.damper.patienceMs();
    if (areSeveral || nowMs >= this.patientUntilMs) this.wake();
    else this.probe.lookWithin(this.patientUntilMs - nowMs);
  }

  /** Room became free: only of interest to a loop that waits for room. */
  roomFreed(): void {
    if (this.waitsForRoom) this.gate.wake();
  }

  async run(): Promise<void> {
    const stop = () => this.gate.wake();
    this.core.stopping.addEventListener('abort', stop, { once: true });
    while (!this.core.stopping.aborted) {
      if (!this.work.hasRoom()) {
        this.waitsForRoom = true;
        await this.gate.wait();
        this.waitsForRoom = false;
        continue;
      }
      // A wake-up that comes from here on may concern what the fetch does not see.
      this.gate.reset();
      this.wakeUpsAtEnd = this.wakeUps;
      try {
        await this.settle(await this.work.look());
      } catch (error) {
        await this.backOff(error);
      }
    }
    this.probe.leaveIdle(this.work.queue);
  }

  /**
   * After a fetch that brought less than it asked for, the queue was empty for a moment: one
   * more look would only stand in the way of what was fetched. Whatever comes later wakes
   * the loop, or is found by the probe, whose waits begin short again.
   */
  private async settle({ fetched, lost, isFull }: Look): Promise<void> {
    this.errors = 0;
    this.patientUntilMs = undefined;
    this.foundTheNews(fetched > 0);
    if (fetched > 0) this.probe.found();
    if (isFull) return;
    if (lost > 0) return pause(this.core, jitterMs(...LOST_PAUSE_MS, this.core.random));
    this.idle = true;
    this.probe.enterIdle(this.work.queue);
    await this.gate.wait();
    this.probe.leaveIdle(this.work.queue);
    this.idle = false;
  }

  /** Whether there was still something of what all were told of, if they were. */
  private foundTheNews(found: boolean): void {
    if (!this.isToldOfOthers) return;
    this.isToldOfOthers = false;
    if (found) this.damper.found();
    else this.damper.foundNothing();
  }

  private async backOff(error: unknown): Promise<void> {
    this.core.metrics.providerErrors += 1;
    const { queue } = this.work;
    // What is no error of the provider's is a fault somewhere; the loop has to live on all the same.
    const retryable = !ProviderError.is(error) || error.retryable;
    this.errors = retryable ? this.errors + 1 : 0;
    const pauseMs = retryable ? fetchErrorPauseMs(this.errors) : PERMANENT_ERROR_PAUSE_MS;
    this.core.logger.warn({ queue, pauseMs, errorsInARow: this.errors, error }, 'fetching failed');
    await pause(this.core, pauseMs);
  }
}
