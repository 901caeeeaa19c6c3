import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { Client, DrizzleProvider, silentLogger } from '../../../src/index.js';
import { type Deed, type InstanceRow, type Instances, type Stage } from './deeds/deed.js';
import { Deletions } from './deeds/deletions.js';
import { ExclusiveStarts } from './deeds/exclusive-starts.js';
import { Migrations } from './deeds/migrations.js';
import { Prunes } from './deeds/prunes.js';
import { Resets } from './deeds/resets.js';
import { ScheduleFires } from './deeds/schedules.js';
import { Transactions } from './deeds/transactions.js';
import { persist } from './persist.js';
import { type Expectation, expectationOf, inputOf, type Kind, MAIL } from './workload.js';

export interface LoadOptions extends Pick<
  Stage,
  'administrator' | 'schema' | 'appSchema' | 'repairs' | 'random' | 'whileStopped'
> {
  /** Of a proxy: calls of clients meet faults, too. */
  readonly url: string;
  /** The batch with which the schema is handed over to native. */
  readonly handOverAt: number;
}

/** Starts instances, sends them what they wait for, and says in the end what is wrong with them. */
export class Load {
  private readonly expectations = new Map<string, Expectation>();
  private instances: Instances = new Map();
  private readonly sent = new Set<string>();
  private readonly client: Client;
  private readonly schedules: ScheduleFires;
  /** What is to be begun again and again, beside the starts. */
  readonly deeds: readonly Deed[];

  private constructor(
    private readonly stage: Stage,
    handOverAt: number,
  ) {
    this.client = stage.client;
    const deletions = new Deletions(stage);
    // Every other one goes in the end, and its archive with it.
    const resets = new Resets(stage, (id) => /[02468]$/.test(id) && deletions.add(id));
    this.schedules = new ScheduleFires(stage);
    this.deeds = [
      this.schedules,
      deletions,
      resets,
      new Prunes(stage),
      new ExclusiveStarts(stage),
      new Transactions(stage),
      new Migrations(stage, handOverAt),
    ];
  }

  static async open({ url, handOverAt, ...options }: LoadOptions): Promise<Load> {
    const openPool = () => {
      const pool = new pg.Pool({
        connectionString: url,
        max: 8,
        keepAlive: true,
        connectionTimeoutMillis: 5_000,
        // The application's own statements must not wait for a silent connection either.
        query_timeout: 6_000,
      });
      // Nobody listens to a client that an application's transaction has in hand: it would end the process.
      pool.on('connect', (client) => client.on('error', () => {}));
      // The proxies go while clients that were closed say goodbye, and nobody else listens to the pool by then.
      pool.on('error', () => {});
      return pool;
    };
    const { value } = await persist(async () => {
      const db = drizzle(openPool());
      const provider = await DrizzleProvider.fromDrizzle(db, {
        schema: options.schema,
        logger: silentLogger,
        acquireTimeoutMs: 5_000,
        answerTimeoutMs: 3_000,
        ownsClient: true,
      });
      return { db, provider };
    });
    return new Load({ ...options, ...value, client: new Client(value.provider) }, handOverAt);
  }

  /** Instances that the load has seen or started. */
  get started(): number {
    return this.expectations.size;
  }

  /** What has not come to its end, by name. */
  get open(): readonly string[] {
    const running = [...this.expectations.keys()].filter((id) => !this.hasEnded(id));
    return [...running, ...this.deeds.flatMap((deed) => deed.open())];
  }

  async start(kind: Kind, id: string): Promise<void> {
    // Expected from here on: a lost answer does not say that it did not start.
    this.expectations.set(id, expectationOf(kind, id));
    await persist(() => this.client.startOrchestration(id, kind, inputOf(kind, id)));
  }

  /** Looks who has ended, sends the others what they wait for, and goes on with the deeds. */
  async tend(): Promise<void> {
    this.instances = new Map((await this.readInstances()).map((row) => [row.instance_id, row]));
    const signals: Promise<unknown>[] = this.deeds.map((deed) => deed.tend(this.instances));
    for (const { id, kind } of this.expectations.values()) {
      if (!this.instances.has(id) || this.hasEnded(id)) continue;
      if (kind === 'event') signals.push(persist(() => this.client.raiseEvent(id, 'go', `for ${id}`)));
      if (kind === 'cancelled') signals.push(persist(() => this.client.cancelInstance(id, 'enough')));
      if (kind !== 'mailbox') continue;
      for (const letter of MAIL) {
        // Once each, unless the answer was lost: a message of an existing instance is never lost.
        const key = `${id}/${letter}`;
        if (this.sent.has(key)) continue;
        this.sent.add(key);
        signals.push(persist(() => this.client.enqueueEvent(id, 'mail', letter)));
      }
    }
    await Promise.all(signals);
  }

  /** No more faults from here on. */
  calm(): void {
    this.schedules.calm();
  }

  /** What is not as expected, once everything should have ended. */
  async problems(effectsDirectory: string): Promise<string[]> {
    const problems: string[] = [];
    const effects = readEffects(effectsDirectory);
    const rows = await this.stage.administrator.query<{ key: string; n: number }>(
      `select key, count(*)::int as n from "${this.stage.appSchema}".ledger group by key`,
    );
    const entries = new Map(rows.map(({ key, n }) => [key, n]));
    for (const expected of this.expectations.values()) {
      problems.push(...this.problemsOf(expected));
      for (const effect of expected.effects) {
        if (!effects.has(effect)) problems.push(`${expected.id}: the side effect ${effect} never happened`);
      }
      for (const row of expected.rows) {
        const n = entries.get(row) ?? 0;
        if (n !== 1) problems.push(`${expected.id}: the transactional activity ${row} wrote ${n} rows`);
      }
    }
    for (const deed of this.deeds) {
      problems.push(...deed.open().map((what) => `${what} has not come to its end`));
      problems.push(...(await deed.problems(this.instances)));
    }
    return problems;
  }

  async cleanUp(): Promise<void> {
    await persist(() => this.stage.provider.asManagement().cleanupSchema());
  }

  /** What is left of the schema. */
  async leftovers(): Promise<string[]> {
    const rows = await this.stage.administrator.query<{ name: string }>(
      `select relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname = $1`,
      [this.stage.schema],
    );
    return rows.map(({ name }) => `${name} is left of a schema that was cleaned up`);
  }

  close(): Promise<void> {
    return this.stage.provider.close();
  }

  private problemsOf({ id, output, failure, others }: Expectation): string[] {
    const problems: string[] = [];
    const end = this.instances.get(id);
    if (!end || !this.hasEnded(id)) return [`${id} has not ended`];
    if (failure !== undefined) {
      if (end.status !== 'Failed' || !end.output?.includes(failure)) {
        problems.push(`${id} is ${end.status} with ${end.output}, expected failure: ${failure}`);
      }
    } else if (end.status !== 'Completed' || end.output !== JSON.stringify(output)) {
      problems.push(`${id} is ${end.status} with ${end.output}, expected ${JSON.stringify(output)}`);
    }
    for (const other of others) if (!this.hasEnded(other)) problems.push(`${id}: ${other} has not ended`);
    return problems;
  }

  private hasEnded(id: string): boolean {
    return ['Completed', 'Failed'].includes(this.instances.get(id)?.status ?? '');
  }

  private readInstances(): Promise<InstanceRow[]> {
    const schema = pg.escapeIdentifier(this.stage.schema);
    return this.stage.administrator.query<InstanceRow>(
      `select i.instance_id, e.status, e.output from ${schema}.instances i
       join ${schema}.executions e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id`,
    );
  }
}

function readEffects(directory: string): Set<string> {
  const effects = new Set<string>();
  for (const file of readdirSync(directory)) {
    for (const line of readFileSync(path.join(directory, file), 'utf8').split('\n')) effects.add(line);
  }
  return effects;
}
