/**
 * The part of the drop-in API (node-api.md) that test programs use, as interfaces: native's
 * runtime (through `native.ts`) and ours fulfil them, so one `function*` runs on both.
 */

/** A scheduled task, to be yielded. Orchestration code treats it as opaque. */
export interface Task {
  readonly type: string;
}

/** Activities outside of a retry can be sent to a tag. */
export interface TaggableTask extends Task {
  withTag(tag: string): TaggableTask;
}

export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly backoff?: string;
  readonly timeoutMs?: number;
  readonly totalTimeoutMs?: number;
}

export interface OrchestrationCtx {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
  scheduleActivity(name: string, input?: unknown, options?: { sessionId?: string }): TaggableTask;
  scheduleActivityOnSession(name: string, input: unknown, sessionId: string): TaggableTask;
  scheduleActivityWithRetry(name: string, input: unknown, retry: RetryPolicy): Task;
  scheduleActivityWithRetryOnSession(name: string, input: unknown, retry: RetryPolicy, sessionId: string): Task;
  scheduleTimer(delayMs: number): Task;
  waitForEvent(name: string): Task;
  dequeueEvent(queueName: string): Task;
  getValueFromInstance(instanceId: string, key: string): Task;
  scheduleSubOrchestration(name: string, input?: unknown): Task;
  scheduleSubOrchestrationWithId(name: string, instanceId: string, input?: unknown): Task;
  scheduleSubOrchestrationVersioned(name: string, version: string | null, input?: unknown): Task;
  scheduleSubOrchestrationVersionedWithId(
    name: string,
    version: string | null,
    instanceId: string,
    input?: unknown,
  ): Task;
  startOrchestration(name: string, instanceId: string, input?: unknown): Task;
  startOrchestrationVersioned(name: string, version: string | null, instanceId: string, input?: unknown): Task;
  newGuid(): Task;
  utcNow(): Task;
  continueAsNew(input?: unknown): Task;
  continueAsNewVersioned(input: unknown, version: string | null): Task;
  all(tasks: readonly Task[]): Task;
  race(...tasks: readonly Task[]): Task;
  setCustomStatus(status: unknown): void;
  resetCustomStatus(): void;
  getCustomStatus(): string | null;
  setValue(key: unknown, value: unknown): void;
  getValue(key: unknown): string | null;
  clearValue(key: unknown): void;
  clearAllValues(): void;
  getKvAllValues(): Record<string, string>;
  getKvAllKeys(): string[];
  getKvLength(): number;
  pruneKvValuesUpdatedBefore(cutoffMs: number): number;
  traceInfo(message: unknown): void;
  traceWarn(message: unknown): void;
  traceError(message: unknown): void;
  traceDebug(message: unknown): void;
}

/** What an orchestration of the tests looks like; a yielded value comes back as `unknown`. */
export type OrchestrationFunction = (ctx: OrchestrationCtx, input: unknown) => Generator<unknown, unknown, unknown>;

export interface ActivityCtx {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
  readonly activityName: string;
  readonly workerId: string;
  readonly sessionId: string | null;
  tag(): string | null;
  isCancelled(): boolean;
  getClient(): DurableClient | null;
  traceInfo(message: unknown): void;
}

export type ActivityFunction = (ctx: ActivityCtx, input: unknown) => unknown;

export interface InstanceStatus {
  readonly status: string;
  readonly output?: unknown;
  readonly error?: string;
  readonly customStatus?: string;
  readonly customStatusVersion: number;
}

export interface DurableClient {
  startOrchestration(instanceId: string, name: string, input?: unknown): Promise<unknown>;
  startOrchestrationVersioned(instanceId: string, name: string, input: unknown, version: string): Promise<unknown>;
  /** `output` is the JSON text here, and parsed where one waits. */
  getStatus(instanceId: string): Promise<InstanceStatus>;
  waitForOrchestration(instanceId: string, timeoutMs?: number): Promise<InstanceStatus>;
  waitForStatusChange(
    instanceId: string,
    lastSeenVersion: number,
    pollIntervalMs?: number,
    timeoutMs?: number,
  ): Promise<InstanceStatus>;
  cancelInstance(instanceId: string, reason?: string): Promise<unknown>;
  raiseEvent(instanceId: string, eventName: string, data?: unknown): Promise<unknown>;
  enqueueEvent(instanceId: string, queueName: string, data?: unknown): Promise<unknown>;
  getValue(instanceId: string, key: string): Promise<string | null>;
  getKvAllValues(instanceId: string): Promise<Record<string, string>>;
}

export type TagFilterOption = string | { tags: string[] } | { defaultAnd: string[] };

export interface RuntimeOptions {
  orchestrationConcurrency?: number;
  workerConcurrency?: number;
  dispatcherPollIntervalMs?: number;
  workerLockTimeoutMs?: number;
  logFormat?: string;
  logLevel?: string;
  maxSessionsPerRuntime?: number;
  sessionIdleTimeoutMs?: number;
  workerNodeId?: string;
  workerTagFilter?: TagFilterOption;
  workerTagFilterTags?: string[];
}

export interface DurableRuntime {
  registerActivity(name: string, fn: ActivityFunction): unknown;
  registerOrchestration(name: string, fn: OrchestrationFunction): unknown;
  registerOrchestrationVersioned(name: string, version: string, fn: OrchestrationFunction): unknown;
  start(): Promise<unknown>;
  shutdown(timeoutMs?: number): Promise<unknown>;
}

/** One way to run a program: which engine, on which schema. */
export interface DurableSdk {
  /** For titles of tests: `native` or `ours`. */
  readonly name: string;
  client(): DurableClient;
  runtime(options?: RuntimeOptions): DurableRuntime;
  /** Ends what can be ended; native keeps its connections. */
  close(): Promise<void>;
}
