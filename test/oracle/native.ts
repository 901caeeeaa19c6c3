import {
  nativeAddon,
  type RawClient,
  type RawProvider,
  type RawRuntime,
  type RawRuntimeOptions,
  type RawStatus,
} from './addon.js';
import { type CtxInfo, fromPayload, NativeOrchestrationContext, toPayload } from './native-context.js';
import type {
  ActivityCtx,
  ActivityFunction,
  DurableClient,
  DurableRuntime,
  DurableSdk,
  InstanceStatus,
  OrchestrationFunction,
  RuntimeOptions,
} from './sdk.js';

export { nativeAvailable, nativeUnavailableReason } from './addon.js';

/**
 * Native duroxide on a schema, which it creates or migrates to level 23 (tables and the
 * stored functions). Its connections (up to `DUROXIDE_PG_POOL_MAX`, default 10) stay open
 * until the process ends, so a test file connects once per schema.
 */
export async function connectNative(url: string, schema: string): Promise<NativeSdk> {
  return new NativeSdk(await nativeAddon().JsPostgresProvider.connectWithSchema(url, schema));
}

/** Clients and runtimes of native on one schema. */
export class NativeSdk implements DurableSdk {
  readonly name = 'native';
  readonly provider: RawProvider;
  readonly #runtimes = new Set<NativeRuntime>();

  constructor(provider: RawProvider) {
    this.provider = provider;
  }

  client(): NativeClient {
    return new NativeClient(nativeAddon().JsClient.fromPostgres(this.provider));
  }

  runtime(options: RuntimeOptions = {}): NativeRuntime {
    const runtime = new NativeRuntime(this.provider, options);
    this.#runtimes.add(runtime);
    return runtime;
  }

  /** Stops the runtimes that still run; the connections stay. */
  async close(): Promise<void> {
    await Promise.all([...this.#runtimes].map((runtime) => runtime.shutdown(100)));
  }
}

/** Native's client with the drop-in conventions on top: payloads are values, outputs of waits are parsed. */
export class NativeClient implements DurableClient {
  /** The binding itself, for administration and statistics. */
  readonly raw: RawClient;

  constructor(raw: RawClient) {
    this.raw = raw;
  }

  async startOrchestration(instanceId: string, name: string, input?: unknown): Promise<void> {
    await this.raw.startOrchestration(instanceId, name, toPayload(input));
  }
  async startOrchestrationVersioned(instanceId: string, name: string, input: unknown, version: string): Promise<void> {
    await this.raw.startOrchestrationVersioned(instanceId, name, toPayload(input), version);
  }
  async getStatus(instanceId: string): Promise<InstanceStatus> {
    return this.raw.getStatus(instanceId);
  }
  async waitForOrchestration(instanceId: string, timeoutMs = 30_000): Promise<InstanceStatus> {
    return parsed(await this.raw.waitForOrchestration(instanceId, timeoutMs));
  }
  async waitForStatusChange(
    instanceId: string,
    lastSeenVersion: number,
    pollIntervalMs = 500,
    timeoutMs = 30_000,
  ): Promise<InstanceStatus> {
    return parsed(await this.raw.waitForStatusChange(instanceId, lastSeenVersion, pollIntervalMs, timeoutMs));
  }
  async cancelInstance(instanceId: string, reason?: string): Promise<void> {
    await this.raw.cancelInstance(instanceId, reason);
  }
  async raiseEvent(instanceId: string, eventName: string, data?: unknown): Promise<void> {
    await this.raw.raiseEvent(instanceId, eventName, toPayload(data));
  }
  async enqueueEvent(instanceId: string, queueName: string, data?: unknown): Promise<void> {
    await this.raw.enqueueEvent(instanceId, queueName, toPayload(data));
  }
  async getValue(instanceId: string, key: string): Promise<string | null> {
    return this.raw.getValue(instanceId, key);
  }
  async getKvAllValues(instanceId: string): Promise<Record<string, string>> {
    return this.raw.getKvAllValues(instanceId);
  }
}

function parsed(status: RawStatus): InstanceStatus {
  return status.output === undefined ? status : { ...status, output: fromPayload(status.output) };
}

/** Native's runtime, running generators registered with it as the drop-in API does. */
export class NativeRuntime implements DurableRuntime {
  readonly raw: RawRuntime;
  readonly #orchestrations = new Map<string, OrchestrationFunction>();
  readonly #latest = new Map<string, OrchestrationFunction>();
  readonly #generators = new Map<number, Iterator<unknown, unknown, unknown>>();
  #lastGeneratorId = 0;
  #state: 'new' | 'running' | 'stopped' = 'new';

  constructor(provider: RawProvider, options: RuntimeOptions = {}) {
    this.raw = nativeAddon().JsRuntime.fromPostgres(provider, flatTagFilter(options));
  }

  registerActivity(name: string, fn: ActivityFunction): void {
    this.raw.registerActivity(name, async (payload) => {
      const newline = payload.indexOf('\n');
      const info = JSON.parse(payload.slice(0, newline)) as ActivityInfo;
      return toPayload(await fn(new NativeActivityContext(info), fromPayload(payload.slice(newline + 1))));
    });
  }
  registerOrchestration(name: string, fn: OrchestrationFunction): void {
    this.raw.registerOrchestration(name);
    this.#orchestrations.set(versionKey(name, '1.0.0'), fn);
    this.#latest.set(name, fn);
  }
  registerOrchestrationVersioned(name: string, version: string, fn: OrchestrationFunction): void {
    this.raw.registerOrchestrationVersioned(name, version);
    this.#orchestrations.set(versionKey(name, version), fn);
    this.#latest.set(name, fn);
  }

  /** Resolves once the loops run. A native runtime starts once. */
  async start(): Promise<void> {
    this.raw.setGeneratorDriver(
      (payload) => this.#create(payload),
      (payload) => this.#next(payload),
      (id) => {
        this.#generators.delete(Number(id));
        return 'ok';
      },
    );
    this.#state = 'running';
    await this.raw.start();
  }

  /** Waits the whole time-out, as native does: give it little, but not 0, which leaves its loops running. */
  async shutdown(timeoutMs = 100): Promise<void> {
    if (this.#state !== 'running') return;
    this.#state = 'stopped';
    await this.raw.shutdown(timeoutMs);
  }

  #create(payload: string): string {
    const { ctxInfo, input } = JSON.parse(payload) as { ctxInfo: CtxInfo; input: string };
    const id = ++this.#lastGeneratorId;
    return this.#step(id, () => {
      const { orchestrationName, orchestrationVersion } = ctxInfo;
      const fn =
        this.#orchestrations.get(versionKey(orchestrationName, orchestrationVersion)) ??
        this.#latest.get(orchestrationName);
      if (!fn) throw new Error(`orchestration '${orchestrationName}' is not registered with the test's driver`);
      const generator = fn(
        new NativeOrchestrationContext(ctxInfo),
        input === '' ? undefined : (JSON.parse(input) as unknown),
      );
      this.#generators.set(id, generator);
      return generator.next();
    });
  }

  #next(payload: string): string {
    const { generatorId, result, isError } = JSON.parse(payload) as {
      generatorId: number;
      result: string;
      isError: boolean;
    };
    return this.#step(generatorId, () => {
      const generator = this.#generators.get(generatorId);
      if (!generator?.throw) throw new Error(`generator ${generatorId} is not there`);
      const value = fromPayload(result);
      if (!isError) return generator.next(value);
      return generator.throw(new Error(typeof value === 'string' ? value : JSON.stringify(value)));
    });
  }

  #step(generatorId: number, advance: () => IteratorResult<unknown, unknown>): string {
    try {
      const step = advance();
      if (!step.done) return JSON.stringify({ status: 'yielded', generatorId, task: step.value });
      this.#generators.delete(generatorId);
      return JSON.stringify({ status: 'completed', output: toPayload(step.value) });
    } catch (error) {
      this.#generators.delete(generatorId);
      return JSON.stringify({ status: 'error', message: failureText(error) });
    }
  }
}

function versionKey(name: string, version: string): string {
  return JSON.stringify([name, version]);
}

function failureText(error: unknown): string {
  const stack = typeof error === 'object' && error !== null ? (error as { stack?: unknown }).stack : undefined;
  return String(stack || error);
}

/** The raw binding spells a tag filter with a kind and a list. */
function flatTagFilter(options: RuntimeOptions): RawRuntimeOptions {
  const { workerTagFilter, ...rest } = options;
  if (workerTagFilter === undefined) return rest;
  if (typeof workerTagFilter === 'string') return { ...rest, workerTagFilter };
  return 'tags' in workerTagFilter
    ? { ...rest, workerTagFilter: 'tags', workerTagFilterTags: workerTagFilter.tags }
    : { ...rest, workerTagFilter: 'defaultAnd', workerTagFilterTags: workerTagFilter.defaultAnd };
}

interface ActivityInfo extends CtxInfo {
  readonly activityName: string;
  readonly workerId: string;
  readonly sessionId: string | null;
  readonly _traceToken: string;
}

class NativeActivityContext implements ActivityCtx {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
  readonly activityName: string;
  readonly workerId: string;
  readonly sessionId: string | null;
  readonly #token: string;

  constructor(info: ActivityInfo) {
    this.instanceId = info.instanceId;
    this.executionId = info.executionId;
    this.orchestrationName = info.orchestrationName;
    this.orchestrationVersion = info.orchestrationVersion;
    this.activityName = info.activityName;
    this.workerId = info.workerId;
    this.sessionId = info.sessionId;
    this.#token = info._traceToken;
  }

  tag(): string | null {
    return nativeAddon().activityTag(this.#token);
  }
  isCancelled(): boolean {
    return nativeAddon().activityIsCancelled(this.#token);
  }
  getClient(): NativeClient | null {
    const raw = nativeAddon().activityGetClient(this.#token);
    return raw && new NativeClient(raw);
  }
  traceInfo(message: unknown): void {
    nativeAddon().activityTraceLog(this.#token, 'info', String(message));
  }
}
