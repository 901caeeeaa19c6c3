import pg from 'pg';
import type { DurableClient, DurableSdk, RuntimeOptions } from './sdk.js';
import {
  commonActivities,
  type ExpectedEnd,
  type Registration,
  type Scenario,
  type World,
} from './scenarios/scenario.js';

const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 15;
/** Native waits all of it, however idle; ours is done at once. */
const NATIVE_GRACE_MS = 120;

/** How a scenario is staged. */
export interface StageOptions {
  readonly url: string;
  readonly schema: string;
  /** The engine of each phase, by its number from 0. */
  readonly engineOf: (phase: number) => DurableSdk;
  /** Whose client sends the messages; default: that of the first phase. */
  readonly client?: DurableClient;
}

/** Plays a scenario to its end. The schema must exist. */
export async function playScenario(scenario: Scenario, options: StageOptions): Promise<void> {
  const sql = new pg.Client({ connectionString: options.url });
  await sql.connect();
  try {
    await sql.query(`set search_path to ${pg.escapeIdentifier(options.schema)}`);
    const registrations = scenario.orchestrations();
    await scenario.play(new Stage(scenario, registrations, sql, options), registrations);
  } finally {
    await sql.end();
  }
}

class Stage implements World {
  readonly client: DurableClient;
  readonly #scenario: Scenario;
  readonly #registrations: readonly Registration[];
  readonly #sql: pg.Client;
  readonly #engineOf: (phase: number) => DurableSdk;
  readonly #activities = commonActivities();
  #phases = 0;

  constructor(scenario: Scenario, registrations: readonly Registration[], sql: pg.Client, options: StageOptions) {
    this.client = options.client ?? options.engineOf(0).client();
    this.#scenario = scenario;
    this.#registrations = registrations;
    this.#sql = sql;
    this.#engineOf = options.engineOf;
  }

  async phase(act: () => Promise<void>, options: RuntimeOptions = {}): Promise<void> {
    const runtime = this.#engineOf(this.#phases++).runtime({
      dispatcherPollIntervalMs: 10,
      logLevel: 'off',
      ...options,
    });
    for (const { name, version, fn } of this.#registrations) {
      if (version === undefined) runtime.registerOrchestration(name, fn);
      else runtime.registerOrchestrationVersioned(name, version, fn);
    }
    for (const [name, fn] of Object.entries({ ...this.#activities, ...this.#scenario.activities })) {
      runtime.registerActivity(name, fn);
    }
    await runtime.start();
    try {
      await act();
    } finally {
      await runtime.shutdown(NATIVE_GRACE_MS);
    }
  }

  async untilEvent(instance: string, kind: string, times = 1): Promise<void> {
    await this.#until(
      `${times} × ${kind} of ${instance}`,
      'select count(*)::int as n from history where instance_id = $1 and event_data like $2',
      [instance, `%"type":"${kind}"%`],
      (n) => n >= times,
    );
  }

  async untilDone(instance: string): Promise<void> {
    await this.#until(
      `the end of ${instance}`,
      `select count(*)::int as n from instances i join executions e
          on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
        where i.instance_id = $1 and e.status in ('Completed', 'Failed')`,
      [instance],
      (n) => n > 0,
    );
  }

  async untilConsumed(instance: string): Promise<void> {
    await this.#until(
      `an empty queue of ${instance}`,
      'select count(*)::int as n from orchestrator_queue where instance_id = $1',
      [instance],
      (n) => n === 0,
    );
  }

  async sql(text: string, parameters: readonly unknown[] = []): Promise<void> {
    await this.#sql.query(text, [...parameters]);
  }

  async #until(what: string, query: string, parameters: readonly unknown[], enough: (n: number) => boolean) {
    const endMs = Date.now() + PATIENCE_MS;
    for (;;) {
      const { rows } = await this.#sql.query<{ n: number }>(query, [...parameters]);
      const n = rows[0]?.n ?? 0;
      if (enough(n)) return;
      if (Date.now() > endMs) throw new Error(`${this.#scenario.name}: waited in vain for ${what}, last saw ${n}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}

/** What became of the instances of a scenario, in the terms of `Scenario.expected`; read from the tables. */
export async function readEnds(scenario: Scenario, options: { url: string; schema: string }) {
  const sql = new pg.Client({ connectionString: options.url });
  await sql.connect();
  try {
    await sql.query(`set search_path to ${pg.escapeIdentifier(options.schema)}`);
    const { rows } = await sql.query<EndRow>(`
      select i.instance_id, e.status, e.output, i.custom_status
        from instances i join executions e
          on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id`);
    const ends: Record<string, ExpectedEnd> = {};
    for (const [instance, expected] of Object.entries(scenario.expected)) {
      const row = rows.find((candidate) => candidate.instance_id === instance);
      ends[instance] = row ? toEnd(row, expected) : { status: 'NotFound' };
    }
    return ends;
  } finally {
    await sql.end();
  }
}

interface EndRow {
  readonly instance_id: string;
  readonly status: ExpectedEnd['status'];
  readonly output: string | null;
  readonly custom_status: string | null;
}

/** Only what is expected is compared: not every output is the same each time. */
function toEnd(row: EndRow, expected: ExpectedEnd): ExpectedEnd {
  const output = row.output ?? 'null';
  return {
    status: row.status,
    ...('output' in expected ? { output: row.status === 'Completed' ? (JSON.parse(output) as unknown) : output } : {}),
    ...(expected.error === undefined ? {} : { error: output.slice(0, expected.error.length) }),
    ...(expected.customStatus === undefined ? {} : { customStatus: row.custom_status ?? '' }),
  };
}
