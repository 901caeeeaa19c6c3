import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { startPostgresServer, type PostgresServer } from '../../test/support/postgres-server.js';
import type { BenchArguments } from '../harness/arguments.js';
import { CpuMeter } from '../harness/cpu.js';
import type { Goal } from '../harness/goal.js';
import { availableEngines, type EngineName } from './engines.js';
import type { Workload } from './protocol.js';
import { type Measured, runChild } from './run-child.js';
import { ServerCounters } from './server-counters.js';

export interface ScenarioResult {
  readonly header: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  readonly goals: readonly Goal[];
}

/** One named comparison. */
export interface Scenario {
  readonly name: string;
  readonly about: string;
  run(bench: Bench): Promise<ScenarioResult>;
}

/** What scenarios measure with: one server of its own, a fresh schema for each run. */
export class Bench {
  #schemas = 0;

  private constructor(
    readonly args: BenchArguments,
    readonly server: PostgresServer,
    readonly control: pg.Client,
    readonly counters: ServerCounters,
  ) {}

  static async open(args: BenchArguments): Promise<Bench> {
    const server = await startPostgresServer({
      settings: ['shared_preload_libraries=pg_stat_statements', 'max_connections=200'],
    });
    const control = new pg.Client({ connectionString: server.url });
    await control.connect();
    const counters = new ServerCounters(control, new CpuMeter(server.dataDir));
    await counters.install();
    return new Bench(args, server, control, counters);
  }

  async close(): Promise<void> {
    await this.control.end();
    await this.server.destroy();
  }

  /** The shorter of two durations with `--quick`. */
  get quick(): boolean {
    return this.args.quick;
  }

  /** Whether the engine exists here and was not left out. */
  hasEngine(engine: EngineName): boolean {
    const [base = engine] = engine.split(',') as EngineName[];
    const { engines } = this.args;
    return availableEngines().includes(base) && (engines.length === 0 || engines.includes(base));
  }

  newSchema(): string {
    return `bench_${++this.#schemas}`;
  }

  /** Lets one engine do its work in a schema, by default one of its own that is dropped afterwards. */
  async measure(engine: EngineName, workload: Workload, schema?: string, url = this.server.url): Promise<Measured> {
    const own = schema ?? this.newSchema();
    await this.control.query('checkpoint');
    const measured = await runChild(
      { engine, url, schema: own, workload, name: 'b', seed: this.args.seed },
      this.counters,
    );
    if (schema === undefined) await this.drop(own);
    return measured;
  }

  async drop(schema: string): Promise<void> {
    await this.control.query(`drop schema if exists ${pg.escapeIdentifier(schema)} cascade`);
  }

  /** A provider of ours on the schema, to put something into it. */
  async provider(schema: string): Promise<DrizzleProvider> {
    return DrizzleProvider.connect(this.server.url, { schema, logger: silentLogger, maxConnections: 2 });
  }
}
