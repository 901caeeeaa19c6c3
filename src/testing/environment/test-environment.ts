import { FakeClock } from '../../base/clock.js';
import { consoleLogger, type Logger } from '../../base/logger.js';
import { checkedDefinition, shownDefinition } from '../../client/checked-definition.js';
import { Client } from '../../client/client.js';
import type { OrchestrationHandle } from '../../client/orchestration-handle.js';
import type { InputArgument, OrchestrationReference } from '../../client/definition.js';
import type { StartOptions } from '../../client/start-options.js';
import type { Provider } from '../../provider/provider.js';
import { type ActivityFunction, userActivity } from '../../runtime/activity-handler.js';
import { AsyncHost } from '../../runtime/async/async-host.js';
import type { GeneratorOrchestration } from '../../runtime/generator/generator-driver.js';
import type { MetricsSnapshot } from '../../runtime/metrics.js';
import type { RuntimeOptions } from '../../runtime/options.js';
import { REGISTRATION, type Registrable } from '../../runtime/registrable.js';
import type { ActivityDeclaration, ActivityHandler } from '../../typed/definitions.js';
import { type RecordedHistory, recordHistory } from '../replay/recorded-history.js';
import { type CrashAt, CrashPoints, type PlannedCrash } from './crash-points.js';
import { MockableActivities } from './mockable-activities.js';
import { openStore, type TestStore } from './open-store.js';
import { TestProcess } from './test-process.js';
import { TimeSkipper } from './time-skipper.js';
import { NEVER_MS, WaitingClock } from './virtual-clock.js';
import { type Watched, watchedProvider } from './watched-provider.js';

export interface TestEnvironmentOptions {
  /** What `activity(…)` and `orchestration(…)` returned. */
  readonly definitions?: readonly Registrable[] | undefined;
  /** Activities of the drop-in API, by name. */
  readonly activities?: Readonly<Record<string, ActivityFunction>> | undefined;
  /** Generator functions of the drop-in API, by name, or by `name@version`. */
  readonly orchestrations?: Readonly<Record<string, GeneratorOrchestration>> | undefined;
  /** @defaultValue `'auto'`: PGlite where it can be loaded, else pg-mem */
  readonly store?: TestStore | undefined;
  /** The time at which it begins. @defaultValue 2027-01-15T08:00:00Z */
  readonly startAt?: Date | undefined;
  /**
   * Options of the runtime, without its clock and its intervals of polling.
   * @defaultValue `warmInstances: 0`: every turn replays from the start, so that code which is not deterministic fails
   */
  readonly runtime?: Omit<RuntimeOptions, 'clock' | 'logger'> | undefined;
  /** @defaultValue warnings and errors on stderr */
  readonly logger?: Logger | undefined;
}

/** Lock times of a runtime that names none; what a crashed process held is free after them. In ms. */
const DEFAULT_LOCKS_MS = {
  orchestratorLockTimeoutMs: 5_000,
  workerLockTimeoutMs: 30_000,
  sessionLockTimeoutMs: 30_000,
};

/**
 * Everything that runs orchestrations, in this process: a real store, a real runtime, a
 * client, and a virtual clock. While the test waits for a result (or in {@link sleep}),
 * time jumps to the next moment at which something happens, as soon as nothing is left to
 * do now: a timer of 30 days costs milliseconds. While the test does something else, time
 * stands still.
 *
 * While an activity does real work (I/O, a real timer), time goes at its real pace.
 */
export class TestEnvironment {
  /** The time of everything: `clock.nowMs()`; it is moved by waiting. */
  readonly clock: FakeClock;
  readonly client: Client;
  /** The store itself, for what the client does not show. */
  readonly provider: Provider;
  private readonly points = new CrashPoints();
  private readonly activities = new MockableActivities(() => this.skipper.check());
  private readonly definitions: Registrable[] = [];
  private readonly generators: { name: string; version?: string; fn: GeneratorOrchestration }[] = [];
  private readonly host = new AsyncHost();
  private readonly waiting = new WaitingClock(() => this.skipper.check());
  private readonly skipper: TimeSkipper;
  private readonly ofClient: Watched;
  private sleepers = 0;
  private process: TestProcess;
  private starting: Promise<void> = Promise.resolve();
  private crashes = 0;

  private constructor(
    store: Provider,
    clock: FakeClock,
    private readonly logger: Logger,
    private readonly options: TestEnvironmentOptions,
  ) {
    this.clock = clock;
    this.provider = store;
    this.ofClient = watchedProvider(store, new CrashPoints(), {
      onChange: () => this.skipper.check(),
      onDeath: () => undefined,
      expect: (atMs) => this.skipper.expect(atMs),
      fires: (atMs) => this.skipper.fires(atMs),
    });
    this.client = new Client(this.ofClient.provider, { clock: this.waiting });
    this.skipper = new TimeSkipper({
      clock,
      pendingCalls: () => this.ofClient.pending() + this.process.watched.pending(),
      busyActivities: () => this.process.running.busy,
      heldActivities: () => this.process.running.held,
      isAwaited: () => this.waiting.isAwaited || this.sleepers > 0,
      due: () => store.due(),
      wake: () => this.process.watched.wake(),
      failed: (error) => logger.error({ error }, 'the virtual clock stands still: the store does not answer'),
    });
    this.add(options.definitions ?? []);
    for (const [name, fn] of Object.entries(options.activities ?? {})) {
      this.activities.setOriginal(name, userActivity(name, fn));
    }
    for (const [key, fn] of Object.entries(options.orchestrations ?? {})) {
      const [name = key, version] = key.split('@');
      this.generators.push({ name, fn, ...(version !== undefined && { version }) });
    }
    this.process = this.newProcess();
  }

  /**
   * Opens the store, and starts.
   * @throws UnsupportedError when the store's packages are missing or cannot be loaded here; ConfigurationError for
   *   definitions that do not fit together
   */
  static async create(options: TestEnvironmentOptions = {}): Promise<TestEnvironment> {
    const { definitions = [] } = options;
    if (!Array.isArray(definitions)) {
      throw new TypeError(`definitions: expected an array of definitions, got ${shownDefinition(definitions)}`);
    }
    const clock = new FakeClock(options.startAt?.getTime() ?? 1_800_000_000_000);
    const logger = options.logger ?? consoleLogger;
    const store = await openStore(options.store ?? 'auto', { clock, logger });
    try {
      const environment = new TestEnvironment(store, clock, logger, options);
      await environment.process.start();
      return environment;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Adds definitions; the worker is restarted with them, as by a deploy. */
  async register(...definitions: readonly Registrable[]): Promise<void> {
    this.add(definitions);
    await this.restart();
  }

  /** Stops the worker in an orderly way and starts a new one: what is in memory is gone, what is stored goes on. */
  async restart(): Promise<void> {
    await this.starting;
    const before = this.process;
    await before.stop();
    this.process = this.newProcess();
    await this.process.start();
  }

  /**
   * Starts an orchestration and waits for its output.
   * @throws OrchestrationFailedError; what `client.start` throws
   */
  async run<In, Out>(
    definition: OrchestrationReference<In, Out>,
    ...args: [...input: InputArgument<In>, options?: StartOptions]
  ): Promise<Out> {
    // The arguments of `start` themselves; the compiler does not see through the conditional tuple.
    const start = this.client.start.bind(this.client) as (...all: unknown[]) => Promise<OrchestrationHandle<Out>>;
    const handle = await start(definition, ...(args as readonly unknown[]));
    return handle.result();
  }

  /**
   * Replaces the code of an activity, at once and until {@link restoreMocks}. Schemas of the
   * definition, retries and time-outs stay in force. An activity without code may be mocked, too.
   * @returns what takes this mock away again
   */
  mock<In, Out, Parsed, Returned>(
    activity: ActivityDeclaration<In, Out, Parsed, Returned>,
    handler: ActivityHandler<Parsed, Returned>,
  ): () => void;
  mock(activity: string, handler: ActivityFunction): () => void;
  mock(
    activity: ActivityDeclaration<unknown, unknown> | string,
    handler: ActivityHandler<unknown, unknown> & ActivityFunction,
  ): () => void {
    const where = 'env.mock';
    const name = typeof activity === 'string' ? activity : checkedDefinition(activity, ['activity'], where).name;
    if (typeof handler !== 'function') {
      throw new TypeError(`${where}: expected a function as the handler of activity '${name}', got ${typeof handler}`);
    }
    const run =
      typeof activity === 'string' ? userActivity(name, handler) : this.activityOf(activity.implement(handler));
    const restore = this.activities.mock(name, run);
    this.process.learn(name);
    return restore;
  }

  /** Takes all mocks away. */
  restoreMocks(): void {
    this.activities.restore();
  }

  /**
   * Lets `ms` of the virtual clock pass, with everything that happens in them. Inside the
   * code of an activity it makes that activity take so long.
   */
  async sleep(ms: number): Promise<void> {
    if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0) {
      throw new RangeError(
        `env.sleep: expected a finite number of milliseconds from 0, got ${typeof ms === 'number' ? ms : typeof ms}`,
      );
    }
    const isTest = !this.activities.isInActivity;
    if (isTest) this.sleepers += 1;
    try {
      this.skipper.expect(this.clock.nowMs() + ms);
      await this.activities.asleep(() => this.clock.sleep(ms));
    } finally {
      if (isTest) this.sleepers -= 1;
    }
  }

  /**
   * The worker dies right before the result of an activity, or a turn of an orchestration,
   * is stored (or before it starts, see {@link CrashAt}), and a new one takes over when the
   * locks of the dead one have run out, as after a power cut.
   */
  crashBefore(definition: Pick<Registrable, 'kind' | 'name'>, at: CrashAt = {}): PlannedCrash {
    checkedDefinition(definition, ['activity', 'orchestration'], 'env.crashBefore');
    return this.points.add('before', definition, at);
  }

  /** As {@link crashBefore}, right after it was stored and before the worker learns of it. */
  crashAfter(definition: Pick<Registrable, 'kind' | 'name'>, at: CrashAt = {}): PlannedCrash {
    checkedDefinition(definition, ['activity', 'orchestration'], 'env.crashAfter');
    return this.points.add('after', definition, at);
  }

  /** The worker dies now; a new one takes over. */
  crash(): void {
    this.process.watched.die();
  }

  /** How often the worker has died. */
  get crashCount(): number {
    return this.crashes;
  }

  /** Counters of the worker that runs now; `null` while none does. */
  metrics(): MetricsSnapshot | null {
    return this.process.metrics();
  }

  /** The history of an execution (absent: the current one), to look at or to keep for `replay`. */
  history(instance: string, executionId?: number): Promise<RecordedHistory> {
    return recordHistory(this.provider, instance, executionId);
  }

  /** Stops the worker and closes the store; what is in it is gone. */
  async close(): Promise<void> {
    await this.starting;
    this.skipper.stop();
    await this.process.stop();
    this.activities.close();
    await this.provider.close();
  }

  private add(definitions: readonly Registrable[]): void {
    for (const definition of definitions) {
      if ((definition as Partial<Registrable> | null)?.kind === 'activity') {
        this.activities.setOriginal(definition.name, this.activityOf(definition));
      } else {
        this.definitions.push(definition);
      }
    }
  }

  private activityOf(definition: Registrable) {
    const register = (definition as Partial<Registrable>)[REGISTRATION];
    const registration = register?.call(definition, { host: this.host, logger: this.logger });
    if (registration?.kind === 'activity') return registration.handler;
    throw new TypeError(`activity '${definition.name}' is only declared: register what its implement(handler) returns`);
  }

  private newProcess(): TestProcess {
    const { definitions: orchestrations, generators, activities } = this;
    return new TestProcess(
      this.provider,
      { orchestrations, generators, activities },
      {
        options: {
          warmInstances: 0,
          dispatcherPollIntervalMs: NEVER_MS,
          maxPollIntervalMs: NEVER_MS,
          sessionCleanupIntervalMs: NEVER_MS,
          ...this.options.runtime,
          observability: { ...this.options.runtime?.observability, gaugePollIntervalMs: NEVER_MS },
          clock: this.clock,
        },
        logger: this.logger,
        points: this.points,
        onChange: () => this.skipper.check(),
        onDeath: () => this.replace(),
        expect: (atMs) => this.skipper.expect(atMs),
        fires: (atMs) => this.skipper.fires(atMs),
      },
    );
  }

  /** A crashed worker writes nothing any more; the next one waits for its locks to run out. */
  private replace(): void {
    const dead = this.process;
    this.crashes += 1;
    this.process = this.newProcess();
    const next = this.process;
    this.starting = this.starting.then(async () => {
      await dead.stop();
      await next.start();
    });
    const nowMs = this.clock.nowMs();
    for (const ms of Object.values({ ...DEFAULT_LOCKS_MS, ...this.lockTimes() })) this.skipper.expect(nowMs + ms);
  }

  private lockTimes(): Partial<typeof DEFAULT_LOCKS_MS> {
    const given = this.options.runtime ?? {};
    const names = Object.keys(DEFAULT_LOCKS_MS) as (keyof typeof DEFAULT_LOCKS_MS)[];
    return Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));
  }
}
