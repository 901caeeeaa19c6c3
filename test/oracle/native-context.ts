import { type NativeAddon, nativeAddon } from './addon.js';
import type { OrchestrationCtx, RetryPolicy, TaggableTask, Task } from './sdk.js';

/** What native tells a generator about its instance. */
export interface CtxInfo {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
}

/** JSON text of a payload; a missing one travels as `null`. */
export function toPayload(value: unknown): string {
  // The result is `undefined` for a function or a symbol, as in native's SDK.
  return JSON.stringify(value === undefined ? null : value);
}

/** A payload that is no JSON (written by another SDK) is handed on as it is. */
export function fromPayload(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The context of an orchestration that native runs: builds the task descriptors of
 * node-api.md 6.1 and calls the binding for what takes effect at once.
 */
export class NativeOrchestrationContext implements OrchestrationCtx {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
  readonly #native: NativeAddon = nativeAddon();

  constructor(info: CtxInfo) {
    this.instanceId = info.instanceId;
    this.executionId = info.executionId;
    this.orchestrationName = info.orchestrationName;
    this.orchestrationVersion = info.orchestrationVersion;
  }

  scheduleActivity(name: string, input?: unknown, options: { sessionId?: string } = {}): TaggableTask {
    return taggable({ type: 'activity', name, input: toPayload(input), ...session(options.sessionId) });
  }
  scheduleActivityOnSession(name: string, input: unknown, sessionId: string): TaggableTask {
    return taggable({ type: 'activity', name, input: toPayload(input), sessionId });
  }
  scheduleActivityWithRetry(name: string, input: unknown, retry: RetryPolicy): Task {
    return task({ type: 'activityWithRetry', name, input: toPayload(input), retry: retryFields(retry) });
  }
  scheduleActivityWithRetryOnSession(name: string, input: unknown, retry: RetryPolicy, sessionId: string): Task {
    return task({ type: 'activityWithRetry', name, input: toPayload(input), retry: retryFields(retry), sessionId });
  }
  scheduleTimer(delayMs: number): Task {
    return task({ type: 'timer', delayMs });
  }
  waitForEvent(name: string): Task {
    return task({ type: 'waitEvent', name });
  }
  dequeueEvent(queueName: string): Task {
    return task({ type: 'dequeueEvent', queueName });
  }
  getValueFromInstance(instanceId: string, key: string): Task {
    return task({ type: 'getValueFromInstance', instanceId, key: String(key) });
  }
  scheduleSubOrchestration(name: string, input?: unknown): Task {
    return task({ type: 'subOrchestration', name, input: toPayload(input) });
  }
  scheduleSubOrchestrationWithId(name: string, instanceId: string, input?: unknown): Task {
    return task({ type: 'subOrchestrationWithId', name, instanceId, input: toPayload(input) });
  }
  scheduleSubOrchestrationVersioned(name: string, version: string | null, input?: unknown): Task {
    return task({ type: 'subOrchestrationVersioned', name, version: version || null, input: toPayload(input) });
  }
  scheduleSubOrchestrationVersionedWithId(
    name: string,
    version: string | null,
    instanceId: string,
    input?: unknown,
  ): Task {
    return task({
      type: 'subOrchestrationVersionedWithId',
      name,
      version: version || null,
      instanceId,
      input: toPayload(input),
    });
  }
  startOrchestration(name: string, instanceId: string, input?: unknown): Task {
    return task({ type: 'orchestration', name, instanceId, input: toPayload(input) });
  }
  startOrchestrationVersioned(name: string, version: string | null, instanceId: string, input?: unknown): Task {
    return task({
      type: 'orchestrationVersioned',
      name,
      version: version || null,
      instanceId,
      input: toPayload(input),
    });
  }
  newGuid(): Task {
    return task({ type: 'newGuid' });
  }
  utcNow(): Task {
    return task({ type: 'utcNow' });
  }
  continueAsNew(input?: unknown): Task {
    return task({ type: 'continueAsNew', input: toPayload(input) });
  }
  continueAsNewVersioned(input: unknown, version: string | null): Task {
    return task({ type: 'continueAsNewVersioned', input: toPayload(input), version: version || null });
  }
  all(tasks: readonly Task[]): Task {
    return task({ type: 'join', tasks });
  }
  race(...tasks: readonly Task[]): Task {
    return task({ type: 'select', tasks });
  }

  setCustomStatus(status: unknown): void {
    this.#native.orchestrationSetCustomStatus(this.instanceId, String(status));
  }
  resetCustomStatus(): void {
    this.#native.orchestrationResetCustomStatus(this.instanceId);
  }
  getCustomStatus(): string | null {
    return this.#native.orchestrationGetCustomStatus(this.instanceId);
  }
  setValue(key: unknown, value: unknown): void {
    this.#native.orchestrationSetValue(this.instanceId, String(key), String(value));
  }
  getValue(key: unknown): string | null {
    return this.#native.orchestrationGetValue(this.instanceId, String(key));
  }
  clearValue(key: unknown): void {
    this.#native.orchestrationClearValue(this.instanceId, String(key));
  }
  clearAllValues(): void {
    this.#native.orchestrationClearAllValues(this.instanceId);
  }
  getKvAllValues(): Record<string, string> {
    return this.#native.orchestrationGetKvAllValues(this.instanceId);
  }
  getKvAllKeys(): string[] {
    return this.#native.orchestrationGetKvAllKeys(this.instanceId);
  }
  getKvLength(): number {
    return this.#native.orchestrationGetKvLength(this.instanceId);
  }
  pruneKvValuesUpdatedBefore(cutoffMs: number): number {
    return this.#native.orchestrationPruneKvValues(this.instanceId, cutoffMs);
  }
  traceInfo(message: unknown): void {
    this.#native.orchestrationTraceLog(this.instanceId, 'info', String(message));
  }
  traceWarn(message: unknown): void {
    this.#native.orchestrationTraceLog(this.instanceId, 'warn', String(message));
  }
  traceError(message: unknown): void {
    this.#native.orchestrationTraceLog(this.instanceId, 'error', String(message));
  }
  traceDebug(message: unknown): void {
    this.#native.orchestrationTraceLog(this.instanceId, 'debug', String(message));
  }
}

/** Descriptors carry more fields than orchestration code may look at. */
function task(descriptor: Task & Record<string, unknown>): Task {
  return descriptor;
}

function taggable(descriptor: Task & Record<string, unknown>): TaggableTask {
  return Object.assign(descriptor, {
    withTag(this: TaggableTask & { tag?: string }, tag: string): TaggableTask {
      this.tag = tag;
      return this;
    },
  });
}

function session(sessionId: string | undefined): { sessionId?: string } {
  return sessionId ? { sessionId } : {};
}

function retryFields(retry: RetryPolicy): RetryPolicy {
  const { maxAttempts, backoff, timeoutMs, totalTimeoutMs } = retry;
  return { maxAttempts, timeoutMs, totalTimeoutMs, backoff } as RetryPolicy;
}
