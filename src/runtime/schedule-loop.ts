import { jitterMs } from '../base/backoff.js';
import { Gate } from '../base/gate.js';
import type { ScheduleStore } from '../provider/schedules.js';
import { decideFire } from '../schedule/decide.js';
import type { RuntimeCore } from './core.js';
import { runSideLoop } from './side-loop.js';

/** How long it takes at most to notice a schedule that another process created, where no notification arrives. In ms. */
const LONGEST_WAIT_MS = 30_000;
/** What is due but in another process's hands is looked at again so soon, in ms. */
const BUSY_PAUSE_MS = [50, 250] as const;

/**
 * Fires schedules when they are due. Every runtime that runs orchestrations does it; of
 * several the first one fires. While nothing is due it asks once in half a minute.
 */
export class ScheduleLoop {
  private readonly gate: Gate;

  constructor(
    private readonly core: RuntimeCore,
    private readonly store: ScheduleStore,
  ) {
    this.gate = new Gate(core.clock);
  }

  /** Runs until the runtime stops, or ends at once where the table of schedules is missing. */
  run(): Promise<void> {
    return runSideLoop(this.core, {
      gate: this.gate,
      failure: 'firing schedules failed',
      listen: (wake) => [this.store.onChanged(wake)],
      step: async () => this.wait(await this.look()),
    });
  }

  /** Fires what is due. @returns the next moment of the provider's clock at which something is, or `null` */
  async look(): Promise<number | null> {
    const { started, nextFireMs } = await this.store.fireDue(decideFire);
    if (started.length > 0) this.core.logger.debug({ started: started.length }, 'schedules were fired');
    return nextFireMs;
  }

  private async wait(nextFireMs: number | null): Promise<void> {
    const untilMs = (nextFireMs ?? Infinity) - this.core.provider.nowMs();
    const waitMs = untilMs > 0 ? Math.min(untilMs, this.longestWaitMs()) : jitterMs(...BUSY_PAUSE_MS, this.core.random);
    await this.gate.wait(waitMs);
  }

  /** Jitter only shortens, so that many processes do not ask in step. */
  private longestWaitMs(): number {
    return LONGEST_WAIT_MS * (1 - this.core.random() / 4);
  }
}
