import type { FakeClock } from '../../src/base/clock.js';
import type { Logger } from '../../src/base/logger.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import type { OrchestrationStatus } from '../../src/client/status.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { Provider } from '../../src/provider/provider.js';
import type { ActivityFunction } from '../../src/runtime/activity-handler.js';
import type { RuntimeCore } from '../../src/runtime/core.js';
import type { GeneratorOrchestration } from '../../src/runtime/generator/generator-driver.js';
import type { RuntimeOptions } from '../../src/runtime/options.js';
import type { Registrable } from '../../src/runtime/registrable.js';
import type { RunningRuntime } from '../../src/runtime/running-runtime.js';
import { Runtime } from '../../src/runtime/runtime.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import { databaseUrl, dropSchema, uniqueSchema } from './database.js';
import { MemoryProvider } from './memory-provider.js';

/** A store to run the tests of the runtime on. */
export interface Backend {
  readonly name: 'memory' | 'pglite' | 'postgres';
  open(clock: FakeClock): Promise<{ readonly provider: Provider; close(): Promise<void> }>;
}

export const memory: Backend = {
  name: 'memory',
  open: async (clock) => ({ provider: new MemoryProvider(clock), close: async () => {} }),
};

export const pglite: Backend = {
  name: 'pglite',
  open: async (clock) => {
    const provider = await DrizzleProvider.embedded({ clock, logger: silentLogger });
    return { provider, close: () => provider.close() };
  },
};

export const postgres: Backend = {
  name: 'postgres',
  open: async (clock) => {
    const schema = uniqueSchema('rt');
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, clock, logger: silentLogger });
    return {
      provider,
      close: async () => {
        await provider.close();
        await dropSchema(schema);
      },
    };
  },
};

export const BACKENDS: readonly Backend[] = [memory, pglite, postgres];

/** Live executions kept between turns, checked against cold replays; or every turn replayed. */
export const CACHE_MODES = [
  { cache: 'warm', options: { verifyWarm: true } },
  { cache: 'cold', options: { warmInstances: 0 } },
] as const;

/** A value that its own orchestration functions know better than the compiler. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- drop-in orchestrations are written without types
type Loose = any;

/** Handlers by name; `Name@2.0.0` registers a version. */
export interface Handlers {
  readonly activities?: Readonly<Record<string, (ctx: Loose, input: Loose) => unknown>>;
  readonly orchestrations?: Readonly<Record<string, (ctx: Loose, input: Loose) => Generator<Loose, Loose, Loose>>>;
  /** Typed ones. */
  readonly definitions?: readonly Registrable[];
}

export function register(runtime: Runtime, { activities = {}, orchestrations = {}, definitions = [] }: Handlers): void {
  if (definitions.length > 0) runtime.register(...definitions);
  for (const [name, fn] of Object.entries(activities)) runtime.registerActivity(name, fn as ActivityFunction);
  for (const [key, fn] of Object.entries(orchestrations)) {
    const [name = key, version] = key.split('@');
    const generator = fn as GeneratorOrchestration;
    if (version === undefined) runtime.registerOrchestration(name, generator);
    else runtime.registerOrchestrationVersioned(name, version, generator);
  }
}

/**
 * A runtime without loops: the test says when it looks at its queues and what time it is,
 * so that the same steps give the same result on every store.
 */
export class SteppedRuntime {
  readonly core: RuntimeCore;
  readonly parts: RunningRuntime;
  readonly client: Client;
  private readonly runtime: Runtime;

  constructor(
    readonly provider: Provider,
    readonly clock: FakeClock,
    handlers: Handlers,
    options: RuntimeOptions = {},
  ) {
    this.runtime = new Runtime(provider, { clock, logger: silentLogger, logLevel: 'off', ...options });
    register(this.runtime, handlers);
    const { core, parts } = this.runtime['prepare']();
    this.core = core;
    this.parts = parts;
    this.client = new Client(provider);
  }

  /** Lets the loops run, too; {@link stop} ends them. */
  startLoops(): void {
    this.parts.start();
  }

  stop(): Promise<void> {
    return this.runtime.shutdown(0);
  }

  /** One look at each queue; how many items were found. */
  async step(): Promise<number> {
    const turns = await this.parts.orchestrations.runOnce();
    // Turns of async orchestrations go on after they have begun.
    await this.parts['processor'].drained();
    const activities = await this.parts.activities.runOnce();
    return turns.fetched + activities.fetched;
  }

  /** Steps until nothing is due at this moment. */
  async settle(): Promise<void> {
    for (let steps = 0; (await this.step()) > 0; steps++) {
      if (steps > 2_000) throw new Error('the runtime does not come to rest');
    }
  }

  /** Moves the time and does what becomes due. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.settle();
  }

  /** Steps, and lets the time jump to whatever becomes due next, until the instance has ended. */
  async runToEnd(instance: string): Promise<OrchestrationStatus> {
    for (let jumps = 0; jumps < 500; jumps++) {
      await this.settle();
      const status = await this.client.getStatus(instance);
      if (status.status === 'Completed' || status.status === 'Failed') return parsed(status);
      const { nextVisibleAtMs } = await this.provider.due();
      if (nextVisibleAtMs === null) throw new Error(`${instance} is ${status.status} and nothing is due`);
      this.clock.set(Math.max(nextVisibleAtMs, this.clock.nowMs()));
    }
    throw new Error(`${instance} does not end`);
  }

  /** Starts an instance and runs it to its end. */
  async run(instance: string, name: string, input?: unknown): Promise<OrchestrationStatus> {
    await this.client.startOrchestration(instance, name, input);
    return this.runToEnd(instance);
  }

  /** Events of an execution as `Kind` or `Kind:detail`. */
  async kinds(instance: string, executionId = 1): Promise<string[]> {
    return (await this.history(instance, executionId)).map(({ kind }) => kind);
  }

  history(instance: string, executionId = 1): Promise<HistoryEvent[]> {
    return this.provider.readWithExecution(instance, executionId);
  }

  /** Fails when a warm turn differed from its cold replay. */
  assertFaithful(): void {
    if (this.core.metrics.warmMismatches > 0) throw new Error('a warm turn differed from a cold replay');
  }
}

function parsed(status: OrchestrationStatus): OrchestrationStatus {
  return status.output === undefined ? status : { ...status, output: JSON.parse(status.output as string) as unknown };
}

/** Keeps what was logged. */
export class RecordingLogger implements Logger {
  readonly lines: {
    readonly level: string;
    readonly message: string;
    readonly fields: Readonly<Record<string, unknown>>;
  }[] = [];
  debug = this.at('debug');
  info = this.at('info');
  warn = this.at('warn');
  error = this.at('error');

  /** Messages of a level and above that contain a text. */
  matching(text: string): string[] {
    return this.lines.filter(({ message }) => message.includes(text)).map(({ message }) => message);
  }

  private at(level: string): Logger['info'] {
    return (fields, message) => {
      this.lines.push({ level, message, fields });
    };
  }
}

/** Waits until the condition holds; reports the last state that it saw. */
export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { timeoutMs = 30_000, state = (): unknown => undefined } = {},
): Promise<void> {
  const untilMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error(`${what} did not happen; last seen: ${JSON.stringify(state())}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
