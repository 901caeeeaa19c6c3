import type { AsyncLocalStorage } from 'node:async_hooks';
import type { Client } from '../client/client.js';
import { ActivityContext, type ActivityContextParams } from './activity-context.js';
import type { ActivityResult } from './activity-failure.js';
import type { ActivityHandler } from './activity-handler.js';
import type { ActivityRow, CancelReason } from './activity-run.js';
import { activityKey, RunningActivity } from './activity-run.js';
import type { ActivityEnd, ActivityFacts } from '../provider/telemetry.js';
import type { RuntimeCore } from './core.js';
import type { NamesOfInstances } from './execution-names.js';
import type { SessionSlots } from './session-slots.js';
import type { WriteTrace } from './tracing/trace-record.js';
import type { SettledActivity } from './transactional-run.js';
import { runTransactional } from './transactional-run.js';

/** Handlers may be synchronous: after so long in one go the event loop gets a turn. In ms. */
const LONGEST_STRETCH_MS = 10;

export interface ActivityRunnerParts {
  readonly names: NamesOfInstances;
  readonly sessions: SessionSlots;
  readonly client: () => Client;
  readonly trace: WriteTrace;
  /** Tells later which activity a rejection belongs to that nobody handled. */
  readonly storage: AsyncLocalStorage<RunningActivity>;
  /** The handler of a row that may run. */
  readonly handlerOf: (activity: string) => ActivityHandler | undefined;
  /** A row that waited has got its slot. */
  readonly started: () => void;
  /** A handler has answered, whatever becomes of it. */
  readonly answered: (durationMs: number) => void;
  /** A handler ended, and its result is wanted. */
  readonly ended: (activity: ActivityRow, result: ActivityResult) => void;
  /** A transactional activity ended, and its row needs no acknowledgement. */
  readonly settled: (activity: ActivityRow, how: SettledActivity) => void;
  /** The lock of the row need not be renewed any more. */
  readonly releaseLock: (activity: ActivityRow) => void;
  /** A handler ended or was given up, and nobody wants the result: the row is gone or somebody else's. */
  readonly discarded: (activity: ActivityRow) => void;
  /** A slot became free. */
  readonly slotFreed: () => void;
}

/** Runs activities in a bounded number of slots, in the order in which they came. */
export class ActivityRunner {
  /** Indexes of free slots; the lowest is used first. */
  private readonly freeSlots: number[];
  private ready: ActivityRow[] = [];
  private readonly running = new Map<string, RunningActivity>();
  private pumping = false;
  private stretchBeganAtMs = 0;

  constructor(
    private readonly core: RuntimeCore,
    private readonly parts: ActivityRunnerParts,
  ) {
    const { workerConcurrency } = core.options;
    this.freeSlots = Array.from({ length: workerConcurrency }, (_, index) => workerConcurrency - 1 - index);
  }

  get runningCount(): number {
    return this.running.size;
  }

  get hasFreeSlot(): boolean {
    return this.freeSlots.length > 0;
  }

  /** `work-<slot>-<node>`. */
  workerId(slot: number): string {
    return `work-${slot}-${this.core.options.workerNodeId ?? this.core.runtimeId}`;
  }

  /** Runs the activities as soon as there are slots for them. */
  enqueue(activities: readonly ActivityRow[]): void {
    for (const activity of activities) this.ready.push(activity);
    if (this.pumping) return;
    this.pumping = true;
    this.stretchBeganAtMs = performance.now();
    this.pump();
  }

  /** The run of an activity, if this process runs it. */
  find(instance: string, executionId: number, activityId: number): RunningActivity | undefined {
    return this.running.get(activityKey(instance, executionId, activityId));
  }

  /** Takes out what has not started; sessions forget it. */
  withdraw(activities: ReadonlySet<ActivityRow>): void {
    this.ready = this.ready.filter((activity) => !activities.has(activity));
    for (const activity of activities) this.parts.sessions.forget(activity);
  }

  /** Tells the handler, and frees its slot when it has not ended within the grace period. */
  cancel(run: RunningActivity, reason: CancelReason): void {
    if (!run.cancel(reason)) return;
    const graceMs = this.core.options.activityCancellationGracePeriodMs;
    this.core.clock.sleep(graceMs, this.core.stopping).then(
      () => this.giveUp(run, graceMs),
      () => undefined,
    );
  }

  /** Ends all runs at once: tells the handlers, frees the slots and answers the rows. */
  stopAll(): ActivityRow[] {
    return [...this.running.values()].flatMap((run) => {
      const wanted = !run.cancelled;
      run.cancel('shutdown');
      run.end();
      this.running.delete(keyOf(run.activity));
      if (!wanted) this.parts.discarded(run.activity);
      return wanted ? [run.activity] : [];
    });
  }

  private readonly pump = (): void => {
    while (this.ready.length > 0 && this.freeSlots.length > 0) {
      if (performance.now() - this.stretchBeganAtMs > LONGEST_STRETCH_MS) {
        setImmediate(() => {
          this.stretchBeganAtMs = performance.now();
          this.pump();
        });
        return;
      }
      const activity = this.ready.shift();
      if (activity && this.parts.sessions.enter(activity)) this.start(activity);
    }
    this.pumping = false;
  };

  private start(activity: ActivityRow): void {
    const { item } = activity;
    const handler = this.parts.handlerOf(item.name);
    const slot = this.freeSlots.pop();
    // Neither can happen: rows without a handler are not enqueued, and a slot was seen to be free.
    if (!handler || slot === undefined) throw new Error('an activity was started without handler or slot');
    const names = this.parts.names.get(item.instance);
    const run = new RunningActivity(activity, slot, this.workerId(slot), names, this.parts);
    activity.state = 'running';
    this.parts.started();
    this.running.set(keyOf(activity), run);
    const context = {
      instanceId: item.instance,
      executionId: item.executionId,
      orchestrationName: names.name,
      orchestrationVersion: names.version,
      activityName: item.name,
      workerId: run.workerId,
      sessionId: item.sessionId ?? null,
      tag: item.tag ?? null,
      run,
    };
    const startedAtMs = this.core.clock.nowMs();
    const perform = () => this.perform(run, handler, context);
    const { telemetry } = this.core.options;
    const result = this.parts.storage.run(run, () =>
      telemetry ? telemetry.activity(activityFacts(run, names.name), perform, endOf) : perform(),
    );
    const ended = (value: ActivityResult | SettledActivity) => {
      this.parts.answered(this.core.clock.nowMs() - startedAtMs);
      this.ended(run, value);
    };
    if (result instanceof Promise) void result.then(ended);
    else ended(result);
  }

  private perform(run: RunningActivity, handler: ActivityHandler, context: ActivityContextParams) {
    const { inTransaction: code } = handler;
    if (!code) {
      return handler(new ActivityContext(context), run.activity.item.input, this.core.options.maxPayloadBytes);
    }
    const releaseLock = () => this.parts.releaseLock(run.activity);
    return runTransactional(this.core, { run, code, context, releaseLock });
  }

  private ended(run: RunningActivity, result: ActivityResult | SettledActivity): void {
    // Given up before: nobody waits for it any more.
    if (!run.end()) return;
    const isUnwanted = run.cancelled && (!('kind' in result) || result.kind === 'lost');
    if ('kind' in result && !isUnwanted) this.parts.settled(run.activity, result);
    else if ('kind' in result || isUnwanted) this.parts.discarded(run.activity);
    else this.parts.ended(run.activity, result);
    this.leaveSlot(run);
  }

  /** JavaScript cannot be stopped: the slot is freed, and the code may run on without a listener. */
  private giveUp(run: RunningActivity, graceMs: number): void {
    if (!run.end()) return;
    const { instance, name } = run.activity.item;
    this.core.logger.warn(
      { instance, activity: name, graceMs },
      'a cancelled activity did not end in time and was given up',
    );
    this.parts.discarded(run.activity);
    this.leaveSlot(run);
  }

  private leaveSlot(run: RunningActivity): void {
    this.running.delete(keyOf(run.activity));
    this.freeSlots.push(run.slot);
    const next = this.parts.sessions.leave(run.activity);
    if (next) this.ready.unshift(next);
    this.enqueue([]);
    this.parts.slotFreed();
  }
}

function keyOf({ item }: ActivityRow): string {
  return activityKey(item.instance, item.executionId, item.id);
}

function activityFacts(run: RunningActivity, orchestration: string): ActivityFacts {
  const { item, row } = run.activity;
  return {
    instance: item.instance,
    executionId: item.executionId,
    activity: item.name,
    orchestration,
    workerId: run.workerId,
    attempt: row.attemptCount,
    trace: item.trace,
  };
}

function endOf(result: ActivityResult | SettledActivity): ActivityEnd {
  if ('ok' in result) return result.ok ? 'completed' : 'failed';
  switch (result.kind) {
    case 'committed':
      return 'completed';
    case 'lost':
      return 'discarded';
    case 'unavailable':
    case 'unknown':
      return 'unavailable';
  }
}
