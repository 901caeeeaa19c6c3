import { jitterMs } from '../base/backoff.js';
import { Gate } from '../base/gate.js';
import type { Admission, StartQueueStore } from '../provider/start-queues.js';
import type { RuntimeCore } from './core.js';
import { pause } from './core.js';
import { runSideLoop } from './side-loop.js';

/** How long it takes at most to notice a start that another process enqueued, where no notification arrives. In ms. */
const LONGEST_WAIT_MS = 30_000;
/** While starts wait for others to end: how soon ends in other processes are looked for, in ms. */
const BLOCKED_WAIT_MS = 1_000;
/** What one look cannot take is taken by the next one so soon, in ms. */
const MORE_PAUSE_MS = [5, 20] as const;
/** What is in another process's hands is looked at again so soon, in ms: many processes may be told of one start. */
const BUSY_PAUSE_MS = [50, 250] as const;
/** Looks follow each other at this distance at least, in ms: what comes up meanwhile shares one. */
const DAMPING_MS = 20;
/** Ends remembered between two looks; of more than these the looks for ends of others learn. */
const MAX_ENDED = 2_000;

/**
 * Admits the starts that wait in start queues. Every runtime that runs orchestrations does
 * it. While nothing waits it asks once in half a minute.
 */
export class StartQueueLoop {
  private readonly gate: Gate;
  private ended: string[] = [];
  /** Whether ends matter: of a schema without start queues nothing is remembered. */
  private isInUse = false;
  /** Whether starts are known to wait for ends. */
  private isBlocked = false;
  private lookedAtMs = -Infinity;

  constructor(
    private readonly core: RuntimeCore,
    private readonly store: StartQueueStore,
  ) {
    this.gate = new Gate(core.clock);
  }

  /** Runs until the runtime stops, or ends at once where the tables are missing. */
  run(): Promise<void> {
    return runSideLoop(this.core, {
      gate: this.gate,
      failure: 'admitting queued starts failed',
      listen: (wake) => [
        this.store.onChanged(wake),
        this.core.provider.onEnded((instances) => this.noteEnded(instances)),
        this.core.provider.onDeleted(() => this.isBlocked && wake()),
      ],
      step: async () => this.wait(await this.look()),
    });
  }

  /** Admits what the limits allow. */
  async look(): Promise<Admission> {
    this.lookedAtMs = this.core.clock.nowMs();
    // Also during the look: what it admits may have ended before it answers.
    this.isInUse = true;
    const admission = await this.store.admit(this.ended.splice(0));
    this.isInUse = admission.inUse;
    this.isBlocked = admission.blocked;
    const { admitted } = admission;
    if (admitted > 0) this.core.logger.debug({ admitted }, 'queued starts were admitted');
    return admission;
  }

  private noteEnded(instances: readonly string[]): void {
    const room = this.isInUse ? MAX_ENDED - this.ended.length : 0;
    if (room > 0) this.ended.push(...instances.slice(0, room));
    if (this.isBlocked) this.gate.wake();
  }

  private async wait({ again, busy, blocked, nextMs }: Admission): Promise<void> {
    if (again || busy) {
      const [fromMs, toMs] = again ? MORE_PAUSE_MS : BUSY_PAUSE_MS;
      await pause(this.core, jitterMs(fromMs, toMs, this.core.random));
      return;
    }
    const longestMs = blocked ? BLOCKED_WAIT_MS : LONGEST_WAIT_MS;
    const untilMs = nextMs === null ? Infinity : nextMs - this.core.provider.nowMs();
    // Jitter only shortens, so that many processes do not ask in step.
    const waitMs = Math.min(Math.max(untilMs, 1), longestMs * (1 - this.core.random() / 4));
    await this.gate.wait(waitMs);
    const restMs = this.lookedAtMs + DAMPING_MS - this.core.clock.nowMs();
    if (restMs > 0) await pause(this.core, Math.min(restMs, DAMPING_MS));
  }
}
