import { Gate } from '../base/gate.js';
import { MinHeap } from '../base/min-heap.js';
import type { Provider, QueueName } from '../provider/provider.js';
import type { RuntimeCore } from './core.js';
import { pause } from './core.js';
import { fetchErrorPauseMs } from './fetch-errors.js';
import { timed } from './timed.js';

/** Moments that are remembered at once; what comes later is found by polling. */
const MAX_KNOWN_MOMENTS = 10_000;
/** From here on a wait has more jitter. */
const LONG_STEP_MS = 1_000;
const QUEUES = ['orchestrator', 'worker'] as const satisfies readonly QueueName[];

/** A dispatcher that waits, as the probe knows it. */
export interface ProbedQueue {
  /** There is, or may be, something to fetch. */
  wake(): void;
  /** What a look found that was asked for after news which everybody got. */
  sawAmongMany(isDue: boolean, areSeveral: boolean): void;
}

/**
 * Finds out, for both dispatchers together, when there is something to fetch while they
 * are idle: at moments that are known, and by one query at growing intervals.
 */
export class IdleProbe {
  private readonly idle = new Set<QueueName>();
  private readonly gate: Gate;
  /** Moments of the provider's clock at which messages of this process become visible. */
  private readonly moments: Readonly<Record<QueueName, MinHeap>> = {
    orchestrator: new MinHeap(),
    worker: new MinHeap(),
  };
  /** The next moment that the last query told, in either queue. */
  private nextVisibleAtMs = Infinity;
  private readonly firstStepMs: number;
  private readonly maxStepMs: number;
  private stepMs: number;
  private pollAtMs = -Infinity;
  private askedAtMs = Infinity;

  constructor(
    private readonly core: RuntimeCore,
    private readonly dispatcher: (queue: QueueName) => ProbedQueue,
  ) {
    this.gate = new Gate(core.clock);
    this.firstStepMs = core.options.pollIntervalMs;
    this.maxStepMs = Math.max(this.firstStepMs, core.options.maxPollIntervalMs ?? defaultMaxPollMs(core.provider));
    this.stepMs = this.firstStepMs;
  }

  /** A dispatcher found nothing and waits to be woken. */
  enterIdle(queue: QueueName): void {
    if (this.idle.size === 0) this.scheduleLook();
    this.idle.add(queue);
    this.gate.wake();
  }

  /** A dispatcher is at work again; nothing is said about whether it will find something. */
  leaveIdle(queue: QueueName): void {
    this.idle.delete(queue);
  }

  /** A fetch found something: the next idle time begins with short waits. */
  found(): void {
    this.stepMs = this.firstStepMs;
    const atMs = this.core.clock.nowMs() + this.stepMs;
    if (this.pollAtMs <= atMs) return;
    this.pollAtMs = atMs;
    if (this.idle.size > 0) this.gate.wake();
  }

  /** Looks after so long at the latest, once for all who ask meanwhile, and tells both dispatchers. */
  lookWithin(ms: number): void {
    this.askedAtMs = Math.min(this.askedAtMs, this.core.clock.nowMs() + ms);
    if (this.idle.size > 0) this.gate.wake();
  }

  /** A message of this process becomes visible at this moment of the provider's clock. */
  noteTimer(visibleAtMs: number, queue: QueueName = 'orchestrator'): void {
    const moments = this.moments[queue];
    if (moments.size >= MAX_KNOWN_MOMENTS) return;
    const isNext = visibleAtMs < (moments.smallest ?? Infinity);
    moments.push(visibleAtMs);
    if (isNext && this.idle.size > 0) this.gate.wake();
  }

  /** Runs until the runtime stops. */
  async run(): Promise<void> {
    const stop = () => this.gate.wake();
    this.core.stopping.addEventListener('abort', stop, { once: true });
    let errors = 0;
    while (!this.core.stopping.aborted) {
      if (this.idle.size === 0) {
        await this.gate.wait();
        continue;
      }
      const waitMs = this.waitMs();
      if (waitMs > 0) {
        await this.gate.wait(waitMs);
        continue;
      }
      for (const queue of QUEUES) if (this.takeDueMoments(queue)) this.dispatcher(queue).wake();
      if (this.core.clock.nowMs() < this.lookAtMs && this.core.provider.nowMs() < this.nextVisibleAtMs) continue;
      try {
        await this.look();
        errors = 0;
      } catch (error) {
        errors += 1;
        this.core.metrics.providerErrors += 1;
        this.core.logger.warn({ error }, 'the idle probe failed');
        await pause(this.core, fetchErrorPauseMs(errors));
      }
    }
  }

  private waitMs(): number {
    const { orchestrator, worker } = this.moments;
    const momentMs =
      Math.min(orchestrator.smallest ?? Infinity, worker.smallest ?? Infinity, this.nextVisibleAtMs) -
      this.core.provider.nowMs();
    return Math.min(momentMs, this.lookAtMs - this.core.clock.nowMs());
  }

  /** The next look by time, whoever wants it. */
  private get lookAtMs(): number {
    return Math.min(this.pollAtMs, this.askedAtMs);
  }

  private takeDueMoments(queue: QueueName): boolean {
    const moments = this.moments[queue];
    const nowMs = this.core.provider.nowMs();
    let any = false;
    while ((moments.smallest ?? Infinity) <= nowMs) {
      moments.pop();
      any = true;
    }
    return any;
  }

  private async look(): Promise<void> {
    const nowMs = this.core.clock.nowMs();
    // Of a look that is made in any case the dispatchers are told as of one that nobody asked for.
    const isAsked = nowMs >= this.askedAtMs;
    const isOnlyAsked = isAsked && nowMs < this.pollAtMs;
    if (isAsked) this.askedAtMs = Infinity;
    const due = await timed(this.core.clock, 'due', () => this.core.provider.due());
    const next = due.nextVisibleAtMs ?? Infinity;
    // A moment that has passed would be asked for again and again.
    this.nextVisibleAtMs = next > this.core.provider.nowMs() ? next : Infinity;
    if (!isOnlyAsked) {
      // Grows even when something is due: it may be for others, by tag or version.
      this.stepMs = Math.min(this.stepMs * 2, this.maxStepMs);
      this.scheduleLook();
    }
    for (const queue of QUEUES) {
      if (isOnlyAsked) this.dispatcher(queue).sawAmongMany(due[queue], due.several?.includes(queue) ?? false);
      else if (due[queue] && this.idle.has(queue)) this.dispatcher(queue).wake();
    }
  }

  /**
   * Jitter only lengthens, so that many processes drift apart and none asks more often. Of
   * long steps it makes room for heartbeats and the like below one query a second.
   */
  private scheduleLook(): void {
    const jitter = this.stepMs < LONG_STEP_MS ? 1 / 4 : 3 / 4;
    this.pollAtMs = this.core.clock.nowMs() + this.stepMs * (1 + this.core.random() * jitter);
  }
}

/** Native's enqueues notify nobody: where it may share the schema, the ceiling is the latency of its items. */
function defaultMaxPollMs(provider: Provider): number {
  const { sharedWithNative, notifyTriggers } = provider.wakeUps();
  return sharedWithNative && !notifyTriggers ? 100 : 1_000;
}
