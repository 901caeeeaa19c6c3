import type { Clock } from '../../base/clock.js';
import type { Provider } from '../../provider/provider.js';
import type { HistoryEvent } from '../../wire/event.js';
import { historyView, statusOf } from '../model/history-model.js';
import { InstanceReader } from '../model/instance-reader.js';
import { type LiveTask, Topic } from './topic.js';

/** How often a running instance is read, in ms, and one that has ended: it may be deleted or taken up again. */
const RUNNING_EVERY_MS = 1_000;
const ENDED_EVERY_MS = 5_000;
/** A history is read at most for one twentieth of the time. */
const REST_FACTOR = 20;
/** Above so many events the number of events is asked first. */
const LONG_HISTORY = 1_000;
/** New events that one message holds; a page that misses some asks for them. */
const MAX_NEW_EVENTS = 200;

/** One instance: its history whenever it grew, and the parts that its new events have changed. */
export class InstanceTopic extends Topic {
  readonly tasks: readonly LiveTask[];
  private readonly history: LiveTask;
  private readonly onDemand: Record<'head' | 'executions' | 'values' | 'children', LiveTask>;
  private executionId = 0;
  private lastEventId = 0;
  /** Events of the execution; −1 while it was not read. */
  private total = -1;
  private mustRead = false;

  constructor(
    private readonly id: string,
    private readonly provider: Provider,
    reader: InstanceReader,
    private readonly clock: Clock,
  ) {
    super();
    this.history = { dueAtMs: clock.nowMs(), statements: 1, run: () => this.look() };
    const part = (read: () => Promise<object>, statements = 1): LiveTask => {
      const task: LiveTask = {
        dueAtMs: Infinity,
        statements,
        run: async () => {
          task.dueAtMs = Infinity;
          this.publish('instance', await read());
        },
      };
      return task;
    };
    this.onDemand = {
      head: part(() => reader.head(id)),
      executions: part(async () => ({ executions: await reader.executions(id) })),
      values: part(async () => ({ values: await reader.values(id) })),
      children: part(async () => ({ children: await reader.children(id) }), InstanceReader.childrenStatements),
    };
    this.tasks = [this.history, ...Object.values(this.onDemand)];
  }

  private async look(): Promise<void> {
    const startedAtMs = this.clock.nowMs();
    this.history.dueAtMs = startedAtMs + RUNNING_EVERY_MS;
    if (this.total > LONG_HISTORY && !this.mustRead) return this.askForGrowth();
    this.mustRead = false;
    const events = await this.provider.read(this.id);
    const tookMs = this.clock.nowMs() - startedAtMs;
    const pauseMs = statusOf(events) === 'Running' ? RUNNING_EVERY_MS : ENDED_EVERY_MS;
    this.history.dueAtMs = startedAtMs + Math.max(pauseMs, tookMs * REST_FACTOR);
    this.say(events);
  }

  /** What grew is read with the next look: one statement each. */
  private async askForGrowth(): Promise<void> {
    const { eventCount } = await this.provider.asManagement().getExecutionInfo(this.id, this.executionId);
    this.mustRead = eventCount !== this.total;
  }

  private say(events: readonly HistoryEvent[]): void {
    const [first] = events;
    if (!first) {
      if (this.total >= 0) this.publish('gone', {});
      this.total = -1;
      return;
    }
    const isFirstLook = this.total < 0;
    const isOther = first.executionId !== this.executionId || events.length < this.total;
    if (!isOther && events.length === this.total) return;
    const fresh = isOther ? events : events.filter(({ eventId }) => eventId > this.lastEventId);
    this.executionId = first.executionId;
    this.lastEventId = events.at(-1)?.eventId ?? 0;
    this.total = events.length;
    // The first look tells who opened the page before it what happened between the two.
    const after = isFirstLook ? Math.max(0, this.lastEventId - MAX_NEW_EVENTS) : (fresh[0]?.eventId ?? 1) - 1;
    const view = historyView(first.executionId, events, { after, limit: MAX_NEW_EVENTS });
    this.publish('history', { ...view, nowMs: this.provider.nowMs() });
    this.refreshChanged(fresh, isOther);
  }

  /** A reading for each part that the new events have changed. */
  private refreshChanged(fresh: readonly HistoryEvent[], isOther: boolean): void {
    const { head, executions, values, children } = this.onDemand;
    const now = (task: LiveTask) => (task.dueAtMs = Math.min(task.dueAtMs, this.clock.nowMs()));
    if (isOther) [head, executions].forEach(now);
    for (const { kind } of fresh) {
      if (kind.startsWith('KeyValue')) now(values);
      else if (kind.startsWith('SubOrchestration')) now(children);
      else if (/^Orchestration(Completed|Failed|ContinuedAsNew)$/.test(kind)) now(head);
    }
  }
}
