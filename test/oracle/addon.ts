import { createRequire } from 'node:module';

/**
 * The raw binding of native duroxide (native-addon.md): what the Node addon exports,
 * as far as the tests use it. Payloads that cross it are JSON texts.
 */
export interface NativeAddon {
  readonly JsPostgresProvider: {
    connect(url: string): Promise<RawProvider>;
    connectWithSchema(url: string, schema: string): Promise<RawProvider>;
  };
  readonly JsClient: { fromPostgres(provider: RawProvider): RawClient };
  readonly JsRuntime: { fromPostgres(provider: RawProvider, options?: RawRuntimeOptions | null): RawRuntime };
  initTracing(options: { logFile: string; logLevel?: string; logFormat?: string }): void;

  orchestrationTraceLog(instanceId: string, level: string, message: string): void;
  orchestrationSetCustomStatus(instanceId: string, status: string): void;
  orchestrationResetCustomStatus(instanceId: string): void;
  orchestrationGetCustomStatus(instanceId: string): string | null;
  orchestrationSetValue(instanceId: string, key: string, value: string): void;
  orchestrationGetValue(instanceId: string, key: string): string | null;
  orchestrationClearValue(instanceId: string, key: string): void;
  orchestrationClearAllValues(instanceId: string): void;
  orchestrationGetKvAllValues(instanceId: string): Record<string, string>;
  orchestrationGetKvAllKeys(instanceId: string): string[];
  orchestrationGetKvLength(instanceId: string): number;
  orchestrationPruneKvValues(instanceId: string, updatedBeforeMs: number): number;

  activityTraceLog(traceToken: string, level: string, message: string): void;
  activityIsCancelled(traceToken: string): boolean;
  activityTag(traceToken: string): string | null;
  activityGetClient(traceToken: string): RawClient | null;
}

/** An opaque handle on a schema. It cannot be closed: its connections live until the process ends. */
export interface RawProvider {
  readonly rawProvider?: never;
}

export interface RawRuntimeOptions {
  orchestrationConcurrency?: number;
  workerConcurrency?: number;
  dispatcherPollIntervalMs?: number;
  workerLockTimeoutMs?: number;
  logFormat?: string;
  logLevel?: string;
  serviceName?: string;
  maxSessionsPerRuntime?: number;
  sessionIdleTimeoutMs?: number;
  workerNodeId?: string;
  workerTagFilter?: string;
  workerTagFilterTags?: string[];
}

/** A status as the binding gives it: `output` is a JSON text. */
export interface RawStatus {
  readonly status: string;
  readonly output?: string;
  readonly error?: string;
  readonly customStatus?: string;
  readonly customStatusVersion: number;
}

export interface RawClient {
  startOrchestration(instanceId: string, name: string, input: string): Promise<void>;
  startOrchestrationVersioned(instanceId: string, name: string, input: string, version: string): Promise<void>;
  getStatus(instanceId: string): Promise<RawStatus>;
  waitForOrchestration(instanceId: string, timeoutMs: number): Promise<RawStatus>;
  waitForStatusChange(
    instanceId: string,
    lastSeenVersion: number,
    pollIntervalMs: number,
    timeoutMs: number,
  ): Promise<RawStatus>;
  cancelInstance(instanceId: string, reason?: string): Promise<void>;
  raiseEvent(instanceId: string, eventName: string, data: string): Promise<void>;
  enqueueEvent(instanceId: string, queueName: string, data: string): Promise<void>;
  getValue(instanceId: string, key: string): Promise<string | null>;
  getKvAllValues(instanceId: string): Promise<Record<string, string>>;
  listAllInstances(): Promise<string[]>;
  listInstancesByStatus(status: string): Promise<string[]>;
  getInstanceInfo(instanceId: string): Promise<Record<string, unknown>>;
  getExecutionInfo(instanceId: string, executionId: number): Promise<Record<string, unknown>>;
  listExecutions(instanceId: string): Promise<number[]>;
  readExecutionHistory(instanceId: string, executionId: number): Promise<Record<string, unknown>[]>;
  getInstanceTree(instanceId: string): Promise<{ rootId: string; allIds: string[]; size: number }>;
  getOrchestrationStats(instanceId: string): Promise<Record<string, number> | null>;
  getSystemMetrics(): Promise<Record<string, number>>;
  getQueueDepths(): Promise<Record<string, number>>;
  deleteInstance(instanceId: string, force: boolean): Promise<Record<string, number>>;
  deleteInstanceBulk(filter: Record<string, unknown>): Promise<Record<string, number>>;
  pruneExecutions(instanceId: string, options: Record<string, number>): Promise<Record<string, number>>;
  pruneExecutionsBulk(
    filter: Record<string, unknown>,
    options: Record<string, number>,
  ): Promise<Record<string, number>>;
}

export interface RawRuntime {
  /** The callback gets the context as JSON, a newline, and the input; it answers with a JSON text. */
  registerActivity(name: string, callback: (payload: string) => Promise<string>): void;
  registerOrchestration(name: string): void;
  registerOrchestrationVersioned(name: string, version: string): void;
  setGeneratorDriver(
    create: (payload: string) => string,
    next: (payload: string) => string,
    dispose: (generatorId: string) => string,
  ): void;
  /** May stay pending for as long as the runtime runs. */
  start(): Promise<void>;
  /** Waits the whole time, whatever is left to do; 0 aborts at once. */
  shutdown(timeoutMs: number): Promise<void>;
  metricsSnapshot(): Record<string, number> | null;
}

interface Loaded {
  readonly addon?: NativeAddon;
  readonly reason: string;
}

const loaded = load();

/** Whether this machine has the native runtime: Linux x64 with glibc, and the optional dependency installed. */
export const nativeAvailable = loaded.addon !== undefined;

/** Why it is missing, for the title of a skipped test; empty when it is there. */
export const nativeUnavailableReason = loaded.reason;

/** @throws when the addon is missing; ask {@link nativeAvailable} first. */
export function nativeAddon(): NativeAddon {
  if (!loaded.addon) throw new Error(loaded.reason);
  return loaded.addon;
}

function load(): Loaded {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return {
      reason: `native duroxide exists for Linux x64 with glibc only, this is ${process.platform} ${process.arch}`,
    };
  }
  try {
    const addon = createRequire(import.meta.url)('duroxide-linux-x64-gnu') as NativeAddon;
    silence(addon);
    return { addon, reason: '' };
  } catch (error) {
    return { reason: `native duroxide cannot be loaded: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/**
 * Without a tracer of its own the engine writes WARN and ERROR lines to stdout, whatever
 * its log level. `DUROXIDE_NATIVE_LOG` names a file that keeps them.
 */
function silence(addon: NativeAddon): void {
  try {
    addon.initTracing({ logFile: process.env['DUROXIDE_NATIVE_LOG'] ?? '/dev/null', logLevel: 'info' });
  } catch (error) {
    // Once per process; test files that share a worker process meet the tracer of the first one.
    if (!String(error).includes('already been set')) throw error;
  }
}
