import type { Clock } from '../../base/clock.js';
import { Gate } from '../../base/gate.js';
import type { Logger } from '../../base/logger.js';
import { problemOf } from '../api/problem.js';
import type { LiveListener, LiveTask, Topic } from './topic.js';

/** From the beginning of a reading to the next, in ms, per statement of it: one per second, whatever is open. */
export const LIVE_SPACING_MS = 1_000;
/** Between tries while the store does not answer, at most, in ms. */
const MAX_PAUSE_MS = 10_000;

/**
 * The one loop behind all open pages of a process. It takes the reading that is most
 * overdue, then rests one second for each statement that it may have sent, and stops
 * when nobody looks.
 */
export class LivePoll {
  private readonly topics = new Map<string, Topic>();
  private readonly gate: Gate;
  private running = false;
  private nextReadAtMs = -Infinity;
  /** Between tries while the store does not answer. */
  private retryMs = LIVE_SPACING_MS;
  private trouble: string | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.gate = new Gate(clock);
  }

  /** Listens to a topic, which is made by the first who looks at it; returns the end of it. */
  watch(key: string, create: () => Topic, listener: LiveListener): () => void {
    let topic = this.topics.get(key);
    if (!topic) this.topics.set(key, (topic = create()));
    const watched = topic;
    const stop = watched.listen(listener);
    if (this.trouble !== undefined) listener('trouble', { message: this.trouble });
    this.gate.wake();
    if (!this.running) void this.run();
    return () => {
      stop();
      if (!watched.isWatched && this.topics.get(key) === watched) this.topics.delete(key);
      this.gate.wake();
    };
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.topics.size > 0) {
      this.gate.reset();
      const { topic, task, dueAtMs } = this.mostOverdue();
      const pauseMs = Math.max(dueAtMs, this.nextReadAtMs) - this.clock.nowMs();
      if (pauseMs > 0 || !topic || !task) await this.gate.wait(pauseMs);
      else await this.read(topic, task);
    }
    this.running = false;
  }

  private mostOverdue(): { topic?: Topic; task?: LiveTask; dueAtMs: number } {
    let most: { topic?: Topic; task?: LiveTask; dueAtMs: number } = { dueAtMs: Infinity };
    for (const topic of this.topics.values()) {
      for (const task of topic.tasks) {
        if (task.dueAtMs < most.dueAtMs) most = { topic, task, dueAtMs: task.dueAtMs };
      }
    }
    return most;
  }

  private async read(topic: Topic, task: LiveTask): Promise<void> {
    const startedAtMs = this.clock.nowMs();
    this.nextReadAtMs = startedAtMs + task.statements * LIVE_SPACING_MS;
    try {
      await task.run();
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status === 503) {
        this.noteTrouble(problem.message, error);
        this.nextReadAtMs = Math.max(this.nextReadAtMs, startedAtMs + this.retryMs);
        return;
      }
      // Of this topic alone, e.g. a history that cannot be read.
      this.logger.warn({ error }, 'dashboard: a reading for an open page failed');
      topic.publish('trouble', { message: problem.message });
      return;
    }
    this.noteAnswer();
  }

  private noteTrouble(message: string, error: unknown): void {
    this.retryMs = Math.min(this.retryMs * 2, MAX_PAUSE_MS);
    if (this.trouble !== undefined) return;
    this.trouble = message;
    this.logger.warn({ error }, 'dashboard: the store does not answer');
    for (const topic of this.topics.values()) topic.publish('trouble', { message });
  }

  private noteAnswer(): void {
    this.retryMs = LIVE_SPACING_MS;
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.logger.info({}, 'dashboard: the store answers again');
    for (const topic of this.topics.values()) topic.publish('recovered', {});
  }
}
