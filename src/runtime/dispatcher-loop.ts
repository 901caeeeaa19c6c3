import { Gate } from '../base/gate.js';
import { jitterMs } from '../base/backoff.js';
import type { QueueName } from '../provider/provider.js';
import { ProviderError } from '../provider/provider-error.js';
import type { RuntimeCore } from './core.js';
import { pause } from './core.js';
import { fetchErrorPauseMs, PERMANENT_ERROR_PAUSE_MS } from './fetch-errors.js';
import type { IdleProbe } from './idle-probe.js';
import { WakeDamper } from './wake-damper.js';

/** Pause after a fetch that only lost candidates to others: long enough for them to be done. */
const LOST_PAUSE_MS = [2, 20] as const;

/** What one look at a queue brought. */
export interface Look {
  readonly fetched: number;
  /** Candidates that went to somebody else: not empty, try again. */
  readonly lost: number;
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
export class DispatcherLoop {
  private readonly gate: Gate;
  private errors = 0;
  private idle = false;
  private wakeUps = 0;
  private readonly damper: WakeDamper;
  private isToldOfOthers = false;

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
    this.probe.lookWithin(pauseMs, () => {
      this.isToldOfOthers = false;
      this.damper.foundNothing();
    });
  }

  /** Room became free: only of interest to a loop that waits for room. */
  roomFreed(): void {
    if (!this.idle) this.gate.wake();
  }

  async run(): Promise<void> {
    const stop = () => this.gate.wake();
    this.core.stopping.addEventListener('abort', stop, { once: true });
    while (!this.core.stopping.aborted) {
      if (!this.work.hasRoom()) {
        await this.gate.wait();
        continue;
      }
      // A wake-up that comes from here on may concern what the fetch does not see.
      this.gate.reset();
      try {
        await this.settle(await this.work.look());
      } catch (error) {
        await this.backOff(error);
      }
    }
    this.probe.leaveIdle(this.work.queue);
  }

  private async settle({ fetched, lost }: Look): Promise<void> {
    this.errors = 0;
    if (this.isToldOfOthers) {
      this.isToldOfOthers = false;
      if (fetched > 0) this.damper.found();
      else this.damper.foundNothing();
    }
    if (fetched > 0) return this.probe.found();
    if (lost > 0) return pause(this.core, jitterMs(...LOST_PAUSE_MS, this.core.random));
    this.idle = true;
    this.probe.enterIdle(this.work.queue);
    await this.gate.wait();
    this.probe.leaveIdle(this.work.queue);
    this.idle = false;
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
