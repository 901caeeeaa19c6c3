import { setMaxListeners } from 'node:events';
import { integerArgument, stringArgument } from '../client/arguments.js';
import { providerArgument } from '../client/client.js';
import { ArgumentError } from '../client/errors.js';
import type { Provider } from '../provider/provider.js';
import type { ActivityFunction, ActivityHandler } from './activity-handler.js';
import { userActivity } from './activity-handler.js';
import { AsyncHost } from './async/async-host.js';
import { ConfigurationError } from './configuration-error.js';
import { makeCore, type RuntimeCore } from './core.js';
import { Definitions } from './definitions.js';
import type { GeneratorOrchestration } from './generator/generator-driver.js';
import { generatorOrchestration } from './generator/generator-driver.js';
import type { MetricsSnapshot } from './metrics.js';
import type { ResolvedRuntimeOptions, RuntimeOptions } from './options.js';
import { resolveRuntimeOptions } from './options.js';
import { ActivityRegistry, OrchestrationRegistry } from './registry.js';
import type { Registrable, Registration } from './registrable.js';
import type { CreateDriver } from './replay/driver.js';
import { RunningRuntime } from './running-runtime.js';
import { runtimeTracing } from './tracing/tracing.js';
import type { TraceRecord, WriteTrace } from './tracing/trace-record.js';
import { typeName } from '../base/type-name.js';

const DEFAULT_SHUTDOWN_MS = 1_000;

/**
 * Runs orchestrations and activities from a store. Any number of runtimes, in any number
 * of processes, may share one store; each takes what it has handlers for.
 *
 * Register first, then `start()`. `shutdown()` gives back what is unfinished, and `start()`
 * works again after it.
 */
export class Runtime {
  private readonly provider: Provider;
  private readonly options: ResolvedRuntimeOptions;
  private readonly orchestrations = new OrchestrationRegistry<CreateDriver>();
  private readonly activities = new ActivityRegistry<ActivityHandler>();
  private readonly definitions = new Definitions();
  private readonly host = new AsyncHost();
  private running:
    { readonly core: RuntimeCore; readonly parts: RunningRuntime; readonly stop: () => void } | undefined;
  private stopping: Promise<void> | undefined;
  private writeTrace: WriteTrace | undefined;

  /** @throws TypeError without a provider, ArgumentError or RangeError for an option, naming it */
  constructor(provider: Provider, options?: RuntimeOptions | null) {
    const store = providerArgument('Runtime', provider);
    this.options = resolveRuntimeOptions(options);
    this.provider = this.options.telemetry?.observe(store) ?? store;
  }

  /**
   * Registers what `activity(…)` and `orchestration(…)` returned. The same definition may
   * come again, as two modules may bring it along; versions may come in any order. If one
   * of them is refused, none is registered.
   * @throws ConfigurationError when a name, or a version of it, has another handler already,
   *   or while the runtime runs; TypeError for something that is no definition with code
   */
  register(...definitions: readonly Registrable[]): void {
    if (this.running) throw new ConfigurationError('register: the runtime runs already; register before start()');
    const { host, options } = this;
    const fresh = this.definitions.add(definitions, { host, logger: options.logger }, (registration) =>
      this.isTaken(registration),
    );
    for (const registration of fresh) {
      if (registration.kind === 'activity') this.activities.register(registration.name, registration.handler);
      else {
        const { name, version, createDriver } = registration;
        this.orchestrations.registerDefinition(name, version, createDriver);
      }
    }
  }

  /** Registers an activity, sync or async. Of several functions under one name the first one stays. */
  registerActivity(name: string, fn: ActivityFunction): void {
    const run = functionArgument('activity', name, fn);
    this.definitions.checkFree('activity', name);
    if (!this.running) this.activities.register(name, userActivity(name, run));
  }

  /** Registers a generator function as version 1.0.0. Of several the last one stays. */
  registerOrchestration(name: string, fn: GeneratorOrchestration): void {
    const driver = this.driverOf(name, fn);
    this.definitions.checkFree('orchestration', name);
    if (!this.running) this.orchestrations.register(name, driver);
  }

  /** Registers a version of an orchestration; versions of a name must ascend, or `start` rejects. */
  registerOrchestrationVersioned(name: string, version: string, fn: GeneratorOrchestration): void {
    stringArgument('version', version);
    const driver = this.driverOf(name, fn);
    this.definitions.checkFree('orchestration', name, version);
    if (!this.running) this.orchestrations.registerVersioned(name, version, driver);
  }

  /** Alias of {@link registerActivity}. */
  registerActivityTyped(name: string, fn: ActivityFunction): void {
    this.registerActivity(name, fn);
  }

  /** Alias of {@link registerOrchestration}. */
  registerOrchestrationTyped(name: string, fn: GeneratorOrchestration): void {
    this.registerOrchestration(name, fn);
  }

  /** Alias of {@link registerOrchestrationVersioned}. */
  registerOrchestrationVersionedTyped(name: string, version: string, fn: GeneratorOrchestration): void {
    this.registerOrchestrationVersioned(name, version, fn);
  }

  /**
   * Starts the loops and resolves; it does not wait for a shutdown. What was registered so
   * far counts, later registrations have no effect until the next start.
   * @throws ConfigurationError when versions do not ascend, options contradict each other, or it runs already;
   *   ProviderError when the store does not answer: call it again then; UnsupportedError when the provider
   *   cannot do what an option asks for
   */
  async start(): Promise<void> {
    if (this.running || this.stopping) {
      throw new ConfigurationError('the runtime runs already: await shutdown() before start()');
    }
    const { core, parts } = this.prepare();
    // A shutdown and another start may come in between: what runs then is not of this start.
    const isCurrent = () => this.running?.core === core;
    try {
      // A store that is down is told now, and not by a loop that fails in the background.
      await this.provider.due();
      await parts.prepare();
    } catch (error) {
      if (isCurrent()) this.running = undefined;
      throw error;
    }
    if (core.stopping.aborted) {
      await parts.discard();
      throw new ConfigurationError('the runtime was shut down while it started');
    }
    parts.start();
    const unwatch = this.options.telemetry?.watchQueues(this.provider);
    if (unwatch) core.stopping.addEventListener('abort', unwatch, { once: true });
  }

  /** Makes everything that `start` starts; tests go on by hand from here. @internal */
  private prepare(): { readonly core: RuntimeCore; readonly parts: RunningRuntime } {
    this.checkSetUp();
    const controller = new AbortController();
    // As many listen as activities wait for their end: no leak that Node would have to warn of.
    setMaxListeners(0, controller.signal);
    const { provider, options, orchestrations, activities, host } = this;
    const core = makeCore({ provider, options, orchestrations, activities, host, stopping: controller.signal });
    this.writeTrace = runtimeTracing(options);
    const parts = new RunningRuntime(core, this.writeTrace);
    this.running = { core, parts, stop: () => controller.abort() };
    return this.running;
  }

  /**
   * Stops fetching, lets turns and activities end, and gives back the rest, so that another
   * runtime may take it at once. Resolves as soon as nothing more will be written.
   * @param timeoutMs how long handlers may take to end; 0 gives everything back at once
   */
  async shutdown(timeoutMs = DEFAULT_SHUTDOWN_MS): Promise<void> {
    const ms = integerArgument('timeoutMs', timeoutMs);
    if (!this.stopping) {
      const { running } = this;
      if (!running) return;
      running.stop();
      this.stopping = running.parts.stop(Math.max(0, ms)).finally(() => {
        this.running = undefined;
        this.stopping = undefined;
      });
    }
    await this.stopping;
  }

  /** Counters since the last start; `null` while it does not run. */
  metricsSnapshot(): MetricsSnapshot | null {
    return this.running && !this.stopping ? { ...this.running.core.metrics } : null;
  }

  private checkSetUp(): void {
    this.orchestrations.check();
    this.activities.check();
    for (const repetition of [...this.orchestrations.repetitions(), ...this.activities.repetitions()]) {
      this.options.logger.warn({}, repetition);
    }
    const { sessionIdleTimeoutMs, workerLockTimeoutMs, workerLockRenewalBufferMs } = this.options;
    const renewalMs =
      workerLockTimeoutMs > workerLockRenewalBufferMs ? workerLockTimeoutMs - workerLockRenewalBufferMs : 1_000;
    if (sessionIdleTimeoutMs <= renewalMs) {
      throw new ConfigurationError(
        `sessionIdleTimeoutMs (${sessionIdleTimeoutMs} ms) must be greater than the renewal interval of workers (${renewalMs} ms): a session would be lost while its activity runs`,
      );
    }
  }

  private isTaken(registration: Registration): boolean {
    const { name } = registration;
    if (registration.kind === 'activity') return this.activities.find(name) !== undefined;
    return this.orchestrations.resolveExact(name, registration.version ?? '1.0.0') !== undefined;
  }

  private driverOf(name: string, fn: GeneratorOrchestration): CreateDriver {
    const generator = functionArgument('orchestration', name, fn);
    if (Object.prototype.toString.call(generator) === '[object AsyncFunction]') {
      this.options.logger.warn(
        { orchestration: name },
        'registerOrchestration takes a generator function; define async functions with orchestration(name, async (ctx, input) => …)',
      );
    }
    return generatorOrchestration(generator, { writeTrace: (record) => this.trace(record) });
  }

  private trace(record: TraceRecord): void {
    this.writeTrace?.(record);
  }
}

function functionArgument<F>(what: string, name: unknown, fn: F): F {
  stringArgument(`${what} name`, name);
  if (typeof fn !== 'function') {
    throw new ArgumentError('InvalidArg', `${what} '${String(name)}' must be a function, got ${typeName(fn)}`);
  }
  return fn;
}
