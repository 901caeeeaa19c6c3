import type { ActivityFunction, DurableClient, OrchestrationFunction, RuntimeOptions } from '../sdk.js';

/** An orchestration under a name, and under a version where one is registered explicitly. */
export interface Registration {
  readonly name: string;
  readonly version?: string;
  readonly fn: OrchestrationFunction;
}

/** The stage on which a scenario is played: a schema, a client, and runtimes that come and go. */
export interface World {
  readonly client: DurableClient;
  /**
   * Runs `act` while a runtime is up, which is stopped afterwards: one phase. Whoever
   * stages the scenario may give each phase another engine.
   */
  phase(act: () => Promise<void>, options?: RuntimeOptions): Promise<void>;
  /** Waits until the instance has so many events of a kind, over all its executions. */
  untilEvent(instance: string, kind: string, times?: number): Promise<void>;
  /** Waits for the end of an instance. */
  untilDone(instance: string): Promise<void>;
  /** Waits until no message of the instance is left in the orchestrator queue. */
  untilConsumed(instance: string): Promise<void>;
  /** Plain SQL in the schema (on the search path), to damage or prepare rows. */
  sql(text: string, parameters?: readonly unknown[]): Promise<void>;
}

/**
 * One directed program: orchestrations, and the steps that drive them. The phases of
 * `play` are cut where another engine can take over, so the same scenario makes fixtures,
 * checks replay, and hands instances from one engine to the other.
 */
export interface Scenario {
  /** File name of its fixture. */
  readonly name: string;
  /** What it shows. */
  readonly about: string;
  /** The orchestrations of a run; made anew each time, because some change their mind between phases. */
  readonly orchestrations: () => readonly Registration[];
  /** Additional activities. */
  readonly activities?: Readonly<Record<string, ActivityFunction>>;
  readonly play: (world: World, registrations: readonly Registration[]) => Promise<void>;
  /** Final status of each instance. */
  readonly expected: Readonly<Record<string, ExpectedEnd>>;
  /** `false`: too large to keep as a fixture. */
  readonly recorded?: false;
  /** Why only native can be asked, e.g. because ours is better there on purpose. */
  readonly nativeOnly?: string;
}

export interface ExpectedEnd {
  readonly status: 'Completed' | 'Failed' | 'Running' | 'NotFound';
  /** Parsed output; left out where it is not the same each time. */
  readonly output?: unknown;
  /** Start of the error text. */
  readonly error?: string;
  readonly customStatus?: string;
}

/** Activities that every scenario has. */
export function commonActivities(): Record<string, ActivityFunction> {
  const attempts = new Map<string, number>();
  return {
    echo: (_ctx, input) => input,
    fail: (_ctx, input) => {
      throw new Error(`failed: ${String(input)}`);
    },
    add: (_ctx, input) => {
      const [a, b] = input as [number, number];
      return a + b;
    },
    /** Fails until it was called `times` times for its instance. */
    flaky: (ctx, input) => {
      const made = (attempts.get(ctx.instanceId) ?? 0) + 1;
      attempts.set(ctx.instanceId, made);
      if (made < Number(input)) throw new Error(`attempt ${made}`);
      return `done at ${made}`;
    },
    nap: async (_ctx, input) => {
      await new Promise((resolve) => setTimeout(resolve, Number(input)));
      return `slept ${Number(input)}`;
    },
  };
}

/** A single instance that is started in the first phase and runs to its end there. */
export function plays(instance: string, name: string, input?: unknown, options?: RuntimeOptions): Scenario['play'] {
  return async (world) => {
    await world.client.startOrchestration(instance, name, input);
    await world.phase(() => world.untilDone(instance), options);
  };
}

/**
 * Two phases: turns only, until the instance waits at `kind`, then everything. What the
 * first engine scheduled, the second one runs and finishes.
 */
export function playsInHalves(
  instance: string,
  name: string,
  input: unknown,
  kind: string,
  times = 1,
  options: RuntimeOptions = {},
): Scenario['play'] {
  return async (world) => {
    await world.client.startOrchestration(instance, name, input);
    await world.phase(() => world.untilEvent(instance, kind, times), { ...options, workerTagFilter: 'none' });
    await world.phase(() => world.untilDone(instance), options);
  };
}
