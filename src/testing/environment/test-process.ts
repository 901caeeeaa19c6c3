import type { Logger } from '../../base/logger.js';
import type { Provider } from '../../provider/provider.js';
import type { GeneratorOrchestration } from '../../runtime/generator/generator-driver.js';
import type { RuntimeOptions } from '../../runtime/options.js';
import type { Registrable } from '../../runtime/registrable.js';
import { Runtime } from '../../runtime/runtime.js';
import type { CrashPoints } from './crash-points.js';
import type { MockableActivities, RunningHandlers } from './mockable-activities.js';
import { type Watched, watchedProvider, type WatchedParts } from './watched-provider.js';

/** What every process of an environment runs. */
export interface Code {
  readonly orchestrations: readonly Registrable[];
  readonly generators: readonly {
    readonly name: string;
    readonly version?: string;
    readonly fn: GeneratorOrchestration;
  }[];
  readonly activities: MockableActivities;
}

/** One life of a worker: a runtime on the store, until it is stopped or crashes. */
export class TestProcess {
  readonly watched: Watched;
  readonly running: RunningHandlers = { held: 0, busy: 0 };
  private readonly runtime: Runtime;
  private readonly known = new Set<string>();

  constructor(
    store: Provider,
    private readonly code: Code,
    parts: {
      readonly options: RuntimeOptions;
      readonly logger: Logger;
      readonly points: CrashPoints;
    } & WatchedParts,
  ) {
    this.watched = watchedProvider(store, parts.points, parts);
    const logger = untilDead(parts.logger, this.watched);
    this.runtime = new Runtime(this.watched.provider, { ...parts.options, logger });
    this.runtime.register(...code.orchestrations);
    for (const { name, version, fn } of code.generators) {
      if (version === undefined) this.runtime.registerOrchestration(name, fn);
      else this.runtime.registerOrchestrationVersioned(name, version, fn);
    }
    for (const name of code.activities.names()) this.learn(name);
  }

  /** Takes an activity whose name is new, also while it runs. */
  learn(name: string): void {
    if (this.known.has(name)) return;
    this.known.add(name);
    const handler = this.code.activities.handlerFor(name, this.running);
    // The registry of a runtime that runs is the one that it looks into.
    this.runtime['activities'].register(name, handler);
  }

  start(): Promise<void> {
    return this.runtime.start();
  }

  /** Gives back what runs, and resolves when nothing more is written. */
  stop(): Promise<void> {
    return this.runtime.shutdown(0);
  }

  metrics() {
    return this.runtime.metricsSnapshot();
  }
}

/** What a dead process would complain about is what the test wanted. */
function untilDead(logger: Logger, watched: Watched): Logger {
  const line = (level: keyof Logger) => (fields: Parameters<Logger['warn']>[0], message: string) => {
    if (!watched.isDead) logger[level](fields, message);
  };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}
