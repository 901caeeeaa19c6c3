import type { EnginePort, ExecutionInfo } from '../replay/driver.js';
import type { TraceLevel } from '../tracing/trace-record.js';
import { toPayload } from './payload.js';
import type { ActivityTask, RetryPolicy, ScheduledTask } from './scheduled-task.js';

/** What a context is made of; user code never makes one. @internal */
export interface ContextParts {
  readonly info: ExecutionInfo;
  readonly port: EnginePort;
  /** Called for traces that are not repetitions. */
  readonly trace: (level: TraceLevel, message: string) => void;
}

/**
 * What an orchestration generator works with.
 *
 * The scheduling methods do nothing by themselves: they return descriptors that take
 * effect when they are yielded. The others (status, key-value store, traces) act at once.
 * Inputs are anything that JSON can hold; an omitted one is `null`.
 */
export class OrchestrationContext {
  readonly instanceId: string;
  /** From 1; each continue-as-new adds one. */
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
  readonly #port: EnginePort;
  readonly #trace: ContextParts['trace'];

  /** @internal */
  constructor({ info, port, trace }: ContextParts) {
    this.instanceId = info.instance;
    this.executionId = info.executionId;
    this.orchestrationName = info.name;
    this.orchestrationVersion = info.version;
    this.#port = port;
    this.#trace = trace;
  }

  /** Runs an activity. The yield gives its result, or throws its failure. */
  scheduleActivity(name: string, input?: unknown, options?: { sessionId?: string }): ActivityTask {
    return activityTask({
      type: 'activity',
      name,
      input: toPayload(input),
      ...(options?.sessionId && { sessionId: options.sessionId }),
    });
  }

  /** As {@link scheduleActivity}, on the worker that owns the session. */
  scheduleActivityOnSession(name: string, input: unknown, sessionId: string): ActivityTask {
    return activityTask({ type: 'activity', name, input: toPayload(input), sessionId });
  }

  /** Runs an activity again after failures. The yield throws the last failure, or the time-out of an attempt. */
  scheduleActivityWithRetry(name: string, input: unknown, retry: RetryPolicy): ScheduledTask {
    return { type: 'activityWithRetry', name, input: toPayload(input), retry: copyOf(retry) };
  }

  /** As {@link scheduleActivityWithRetry}; every attempt runs on the same session. */
  scheduleActivityWithRetryOnSession(
    name: string,
    input: unknown,
    retry: RetryPolicy,
    sessionId: string,
  ): ScheduledTask {
    return { type: 'activityWithRetry', name, input: toPayload(input), retry: copyOf(retry), sessionId };
  }

  /** A durable pause in ms, a whole number. The yield gives `null`. */
  scheduleTimer(delayMs: number): ScheduledTask {
    return { type: 'timer', delayMs };
  }

  /** Waits for the next event of a name that is raised from now on. The yield gives its data. */
  waitForEvent(name: string): ScheduledTask {
    return { type: 'waitEvent', name };
  }

  /** Takes the next message of a mailbox, whether it has come already or comes later. The yield gives its data. */
  dequeueEvent(queueName: string): ScheduledTask {
    return { type: 'dequeueEvent', queueName };
  }

  /** Reads a value of another instance. The yield gives the string, or `null`. */
  getValueFromInstance(instanceId: string, key: string): ScheduledTask {
    return { type: 'getValueFromInstance', instanceId, key: String(key) };
  }

  /** Runs a child under an id derived from this instance's. The yield gives its output, or throws its error. */
  scheduleSubOrchestration(name: string, input?: unknown): ScheduledTask {
    return { type: 'subOrchestration', name, input: toPayload(input) };
  }

  /** As {@link scheduleSubOrchestration}, under the given instance id. */
  scheduleSubOrchestrationWithId(name: string, instanceId: string, input?: unknown): ScheduledTask {
    return { type: 'subOrchestrationWithId', name, instanceId, input: toPayload(input) };
  }

  /** As {@link scheduleSubOrchestration}, in the given version; without one, the latest. */
  scheduleSubOrchestrationVersioned(name: string, version: string | null, input?: unknown): ScheduledTask {
    return { type: 'subOrchestrationVersioned', name, version: version || null, input: toPayload(input) };
  }

  scheduleSubOrchestrationVersionedWithId(
    name: string,
    version: string | null,
    instanceId: string,
    input?: unknown,
  ): ScheduledTask {
    return {
      type: 'subOrchestrationVersionedWithId',
      name,
      version: version || null,
      instanceId,
      input: toPayload(input),
    };
  }

  /** Starts an independent instance and does not wait for it. The yield gives `null` at once. */
  startOrchestration(name: string, instanceId: string, input?: unknown): ScheduledTask {
    return { type: 'orchestration', name, instanceId, input: toPayload(input) };
  }

  /** As {@link startOrchestration}, in the given version; without one, the latest. */
  startOrchestrationVersioned(
    name: string,
    version: string | null,
    instanceId: string,
    input?: unknown,
  ): ScheduledTask {
    return { type: 'orchestrationVersioned', name, version: version || null, instanceId, input: toPayload(input) };
  }

  /** The yield gives a new UUID, the same on every replay. */
  newGuid(): ScheduledTask {
    return { type: 'newGuid' };
  }

  /** The yield gives the time in Unix ms, the same on every replay. */
  utcNow(): ScheduledTask {
    return { type: 'utcNow' };
  }

  /** Ends this execution and begins the next one with an empty history. The yield never returns. */
  continueAsNew(input?: unknown): ScheduledTask {
    return { type: 'continueAsNew', input: toPayload(input) };
  }

  /** As {@link continueAsNew}, in the given version; without one, the latest. */
  continueAsNewVersioned(input: unknown, version: string | null): ScheduledTask {
    return { type: 'continueAsNewVersioned', input: toPayload(input), version: version || null };
  }

  /** Waits for all tasks. The yield gives `{ ok }` or `{ err }` for each, in their order, and never throws for a failure. */
  all(tasks: readonly ScheduledTask[]): ScheduledTask {
    return { type: 'join', tasks };
  }

  /**
   * Waits for the first of exactly two tasks and cancels the other. The yield gives its
   * index and value; a task that fails wins, too, with the failure text as the value.
   */
  race(...tasks: ScheduledTask[]): ScheduledTask {
    return { type: 'select', tasks };
  }

  /** As {@link scheduleActivity}; a result that is a string holding JSON is decoded once more. */
  scheduleActivityTyped(name: string, input?: unknown): ActivityTask {
    return typed(this.scheduleActivity(name, input));
  }

  scheduleActivityOnSessionTyped(name: string, input: unknown, sessionId: string): ActivityTask {
    return typed(this.scheduleActivityOnSession(name, input, sessionId));
  }

  scheduleActivityWithRetryTyped(name: string, input: unknown, retry: RetryPolicy): ScheduledTask {
    return typed(this.scheduleActivityWithRetry(name, input, retry));
  }

  scheduleActivityWithRetryOnSessionTyped(
    name: string,
    input: unknown,
    retry: RetryPolicy,
    sessionId: string,
  ): ScheduledTask {
    return typed(this.scheduleActivityWithRetryOnSession(name, input, retry, sessionId));
  }

  scheduleSubOrchestrationTyped(name: string, input?: unknown): ScheduledTask {
    return typed(this.scheduleSubOrchestration(name, input));
  }

  scheduleSubOrchestrationWithIdTyped(name: string, instanceId: string, input?: unknown): ScheduledTask {
    return typed(this.scheduleSubOrchestrationWithId(name, instanceId, input));
  }

  waitForEventTyped(name: string): ScheduledTask {
    return typed(this.waitForEvent(name));
  }

  dequeueEventTyped(queueName: string): ScheduledTask {
    return typed(this.dequeueEvent(queueName));
  }

  allTyped(tasks: readonly ScheduledTask[]): ScheduledTask {
    return typed(this.all(tasks));
  }

  raceTyped(...tasks: ScheduledTask[]): ScheduledTask {
    return typed(this.race(...tasks));
  }

  /** The same as {@link startOrchestration}. */
  startOrchestrationTyped(name: string, instanceId: string, input?: unknown): ScheduledTask {
    return this.startOrchestration(name, instanceId, input);
  }

  /** The same as {@link startOrchestrationVersioned}. */
  startOrchestrationVersionedTyped(
    name: string,
    version: string | null,
    instanceId: string,
    input?: unknown,
  ): ScheduledTask {
    return this.startOrchestrationVersioned(name, version, instanceId, input);
  }

  /** The same as {@link continueAsNew}. */
  continueAsNewTyped(input?: unknown): ScheduledTask {
    return this.continueAsNew(input);
  }

  /** A text that clients can read beside the status; it survives continue-as-new. */
  setCustomStatus(status: string): void {
    this.#port.customStatus.set(String(status));
  }

  resetCustomStatus(): void {
    this.#port.customStatus.set(null);
  }

  /** After continue-as-new the carried status reads back even where this execution has set another at its start. */
  getCustomStatus(): string | null {
    return this.#port.customStatus.get();
  }

  /** Key and value are made strings. The value is seen here at once, elsewhere when the turn is committed. */
  setValue(key: string, value: string): void {
    this.#port.keyValues.set(String(key), String(value));
  }

  getValue(key: string): string | null {
    return this.#port.keyValues.get(String(key));
  }

  clearValue(key: string): void {
    this.#port.keyValues.clear(String(key));
  }

  clearAllValues(): void {
    this.#port.keyValues.clearAll();
  }

  getKvAllValues(): Record<string, string> {
    return Object.fromEntries(this.#port.keyValues.entries());
  }

  getKvAllKeys(): string[] {
    return [...this.#port.keyValues.entries().keys()];
  }

  getKvLength(): number {
    return this.#port.keyValues.size;
  }

  /** Removes the keys last written before a moment (Unix ms) and returns how many. */
  pruneKvValuesUpdatedBefore(cutoffMs: number): number {
    const cutoff = Math.trunc(Number(cutoffMs));
    return cutoff > 0 ? this.#port.keyValues.pruneUpdatedBefore(cutoff) : 0;
  }

  /** Traces are not repeated when the code is replayed. */
  traceInfo(message: unknown): void {
    this.#write('info', message);
  }

  traceWarn(message: unknown): void {
    this.#write('warn', message);
  }

  traceError(message: unknown): void {
    this.#write('error', message);
  }

  traceDebug(message: unknown): void {
    this.#write('debug', message);
  }

  #write(level: TraceLevel, message: unknown): void {
    if (!this.#port.replaying) this.#trace(level, String(message));
  }
}

function activityTask(fields: { type: 'activity'; name: string; input: string; sessionId?: string }): ActivityTask {
  const task: ActivityTask = Object.assign(fields, {
    withTag(tag: string) {
      task.tag = tag;
      return task;
    },
  });
  return task;
}

/** The four fields are always there, as in native; a missing policy throws. */
function copyOf(retry: RetryPolicy): Record<keyof RetryPolicy, unknown> {
  return {
    maxAttempts: retry.maxAttempts,
    timeoutMs: retry.timeoutMs,
    totalTimeoutMs: retry.totalTimeoutMs,
    backoff: retry.backoff,
  };
}

function typed<T extends ScheduledTask>(task: T): T {
  return Object.assign(task, { _typed: true });
}
