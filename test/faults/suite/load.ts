import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { Client, DrizzleProvider, ProviderError, silentLogger } from '../../../src/index.js';
import type { Administrator } from './administrator.js';
import { type Expectation, expectationOf, inputOf, type Kind, MAIL } from './workload.js';

interface EndRow {
  readonly instance_id: string;
  readonly status: string;
  readonly output: string | null;
}

/** How long a call of the client is repeated before the suite gives up. */
const PATIENCE_MS = 120_000;

/** Starts instances, sends them what they wait for, and says in the end what is wrong with them. */
export class Load {
  private readonly expectations = new Map<string, Expectation>();
  private readonly ends = new Map<string, EndRow>();
  private readonly sent = new Set<string>();
  private readonly client: Client;

  private constructor(
    private readonly provider: DrizzleProvider,
    private readonly administrator: Administrator,
    private readonly schema: string,
  ) {
    this.client = new Client(provider);
  }

  /** @param url of a proxy: calls of clients meet faults, too */
  static async open(url: string, schema: string, administrator: Administrator): Promise<Load> {
    const provider = await DrizzleProvider.connect(url, {
      schema,
      logger: silentLogger,
      connectTimeoutMs: PATIENCE_MS,
      acquireTimeoutMs: 5_000,
      answerTimeoutMs: 3_000,
      maxConnections: 4,
    });
    return new Load(provider, administrator, schema);
  }

  get started(): number {
    return this.expectations.size;
  }

  get open(): number {
    return this.expectations.size - [...this.expectations.keys()].filter((id) => this.ends.has(id)).length;
  }

  async start(kind: Kind, id: string): Promise<void> {
    // Expected from here on: a lost answer does not say that it did not start.
    this.expectations.set(id, expectationOf(kind, id));
    await persist(() => this.client.startOrchestration(id, kind, inputOf(kind, id)));
  }

  /** Looks who has ended, and sends the others what they wait for. */
  async tend(): Promise<void> {
    const running = new Set<string>();
    for (const row of await this.readEnds()) {
      if (row.status === 'Completed' || row.status === 'Failed') this.ends.set(row.instance_id, row);
      else running.add(row.instance_id);
    }
    const signals: Promise<void>[] = [];
    for (const { id, kind } of this.expectations.values()) {
      if (!running.has(id)) continue;
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

  /** What is not as expected, once everything should have ended. */
  async problems(effectsDirectory: string, ledgerTable: string): Promise<string[]> {
    const problems: string[] = [];
    const effects = readEffects(effectsDirectory);
    const rows = await this.administrator.query<{ key: string; n: number }>(
      `select key, count(*)::int as n from ${ledgerTable} group by key`,
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
    return problems;
  }

  close(): Promise<void> {
    return this.provider.close();
  }

  private problemsOf({ id, output, failure, others }: Expectation): string[] {
    const problems: string[] = [];
    const end = this.ends.get(id);
    if (!end) return [`${id} has not ended`];
    if (failure !== undefined) {
      if (end.status !== 'Failed' || !end.output?.includes(failure)) {
        problems.push(`${id} is ${end.status} with ${end.output}, expected failure: ${failure}`);
      }
    } else if (end.status !== 'Completed' || end.output !== JSON.stringify(output)) {
      problems.push(`${id} is ${end.status} with ${end.output}, expected ${JSON.stringify(output)}`);
    }
    for (const other of others) if (!this.ends.has(other)) problems.push(`${id}: ${other} has not ended`);
    return problems;
  }

  private readEnds(): Promise<EndRow[]> {
    const schema = pg.escapeIdentifier(this.schema);
    return this.administrator.query<EndRow>(
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

/** Until it works: what the client's user would do with a retryable error. */
async function persist(call: () => Promise<unknown>): Promise<void> {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await call();
      return;
    } catch (error) {
      if (!ProviderError.is(error) || !error.retryable || performance.now() > giveUpAtMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
