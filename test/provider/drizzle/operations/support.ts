import { afterAll, beforeEach } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { FakeClock } from '../../../../src/base/clock.js';
import { type Logger, silentLogger } from '../../../../src/base/logger.js';
import type { AckOrchestrationItem, Result } from '../../../../src/provider/provider.js';
import type { ProviderContext } from '../../../../src/provider/drizzle/context.js';
import { createContext } from '../../../../src/provider/drizzle/create-context.js';
import { driverFor } from '../../../../src/provider/drizzle/drivers/index.js';
import type { Driver, Executor, SqlValues, Transaction } from '../../../../src/provider/drizzle/executor.js';
import type { Statement } from '../../../../src/provider/drizzle/statement.js';
import { builtInMigrations } from '../../../../src/schema/migrations.generated.js';
import { COMPAT_VERSION_TEXT } from '../../../../src/wire/compat-version.js';
import type { EventBody, HistoryEvent } from '../../../../src/wire/event.js';
import type { WorkItem } from '../../../../src/wire/work-item.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../../../support/database.js';

/** What a test of the hot path works with: a context on a schema of its own, and what it did. */
export interface Bench {
  readonly ctx: ProviderContext;
  readonly clock: FakeClock;
  readonly schema: string;
  readonly pool: pg.Pool;
  /** Statements of operations since the last {@link Bench.counted}, BEGIN and COMMIT not among them. */
  readonly ran: RanStatement[];
  /** Wake-ups that the operations asked for. */
  readonly wakes: string[];
  readonly logged: string[];
  /** Runs `use` and answers with the statements that it ran. */
  counted(use: () => Promise<unknown>): Promise<string[]>;
  /** Rows as objects, by SQL whose tables need no schema. */
  sql(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** A client of its own on the schema, ended with the bench. */
  client(): Promise<pg.Client>;
  /** Empties all tables. */
  reset(): Promise<void>;
  /** Another provider's context on the same schema; `intercept` sees each statement before it is sent. */
  another(intercept?: (statement: RanStatement) => Promise<void>): ProviderContext;
  /** Resolves when so many connections of this bench wait for a lock. */
  untilWaiting(connections: number): Promise<void>;
  close(): Promise<void>;
}

export interface RanStatement {
  readonly text: string;
  readonly name: string;
  readonly values: readonly unknown[];
}

export const TABLES = [
  'orchestrator_queue',
  'worker_queue',
  'instances',
  'executions',
  'history',
  'instance_locks',
  'sessions',
  'kv_store',
  'kv_delta',
];

/** The lock of a fetch in these tests: none ends unless a test moves the clock. */
export const LOCK = { lockTimeoutMs: 30_000 };

/** A bench for all tests of a file, empty before each. */
export async function benchOfFile(): Promise<Bench> {
  const bench = await openBench();
  afterAll(() => bench.close());
  beforeEach(() => bench.reset());
  return bench;
}

export async function openBench(options: { readonly max?: number } = {}): Promise<Bench> {
  const schema = uniqueSchema('hot');
  const config = { connectionString: databaseUrl(), application_name: schema, options: `-c search_path=${schema}` };
  const pool = new pg.Pool({ ...config, max: options.max ?? 20 });
  // Every context of a bench listens on the one pool.
  pool.setMaxListeners(0);
  await pool.query(`create schema ${schema}`);
  for (const { statements } of builtInMigrations) await pool.query(statements.join(';'));
  const clock = new FakeClock();
  const ran: RanStatement[] = [];
  const wakes: string[] = [];
  const logged: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (_, message) => logged.push(message),
    error: (_, message) => logged.push(message),
  };
  const clients: pg.Client[] = [];
  const makeContext = (note: (statement: RanStatement) => Promise<void> | void, wake: ProviderContext['wake']) =>
    createContext(recording(driverFor(drizzle(pool)), note), { schema, clock, logger, wake });
  const bench: Bench = {
    ctx: makeContext(
      (statement) => void ran.push(statement),
      (queue) => void wakes.push(queue),
    ),
    clock,
    schema,
    pool,
    ran,
    wakes,
    logged,
    async counted(use) {
      ran.length = 0;
      await use();
      return ran.splice(0).map(({ text }) => text);
    },
    sql: async (text, values = []) => (await pool.query<Record<string, unknown>>(text, [...values])).rows,
    async client() {
      const client = new pg.Client(config);
      await client.connect();
      clients.push(client);
      return client;
    },
    async reset() {
      await pool.query(`truncate ${TABLES.join(', ')}`);
      ran.length = wakes.length = logged.length = 0;
    },
    another: (intercept = async () => {}) => makeContext(intercept, () => {}),
    async untilWaiting(connections) {
      const waiting = `select count(*)::int as n from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`;
      const watch = await bench.client();
      for (const deadline = Date.now() + 30_000; ; ) {
        const { rows } = await watch.query<{ n: number }>(waiting, [schema]);
        if ((rows[0]?.n ?? 0) >= connections) return;
        if (Date.now() > deadline) throw new Error(`${rows[0]?.n ?? 0} connections wait, expected ${connections}`);
      }
    },
    async close() {
      await Promise.all(clients.map((client) => client.end()));
      await pool.end();
      await dropSchema(schema);
    },
  };
  return bench;
}

/** A driver that shows what runs through it; an asynchronous `note` is awaited before the statement is sent. */
function recording(driver: Driver, note: (statement: RanStatement) => Promise<void> | void): Driver {
  const noted = <T>(statement: Statement<unknown>, values: SqlValues = {}, send: () => Promise<T>): Promise<T> => {
    const pending = note({ text: statement.text, name: statement.name, values: statement.bind(values) });
    return pending ? pending.then(send) : send();
  };
  const ofExecutor = (executor: Executor): Executor => ({
    run: (statement, values) => noted(statement, values, () => executor.run(statement, values)),
    script: (text) => executor.script(text),
  });
  const ofTransaction = (tx: Transaction): Transaction => ({
    ...ofExecutor(tx),
    runLast: (statement, values) => noted(statement, values, () => tx.runLast(statement, values)),
  });
  return {
    kind: driver.kind,
    canOpenSecondConnection: driver.canOpenSecondConnection,
    sendsBatches: driver.sendsBatches === true,
    withConnection: (use) => driver.withConnection((executor) => use(ofExecutor(executor))),
    withTransaction: (use) => driver.withTransaction((tx) => use(ofTransaction(tx))),
    scopeOf: (tx) => driver.scopeOf(tx),
    close: () => driver.close(),
  };
}

export function startItem(instance: string): WorkItem {
  return {
    kind: 'StartOrchestration',
    instance,
    orchestration: 'Hello',
    input: '{}',
    version: null,
    parentInstance: null,
    parentId: null,
    executionId: 1,
  };
}

export function raised(instance: string, data = '1'): WorkItem {
  return { kind: 'ExternalRaised', instance, name: 'Go', data };
}

export function activity(instance: string, id: number, extra: { sessionId?: string; tag?: string } = {}): WorkItem {
  return { kind: 'ActivityExecute', instance, executionId: 1, id, name: 'Greet', input: '"x"', ...extra };
}

export function completed(instance: string, id: number): WorkItem {
  return { kind: 'ActivityCompleted', instance, executionId: 1, id, result: '"done"' };
}

export function event(instance: string, eventId: number, body: EventBody): HistoryEvent {
  return {
    eventId,
    sourceEventId: null,
    instanceId: instance,
    executionId: 1,
    timestampMs: 1_800_000_000_000,
    duroxideVersion: COMPAT_VERSION_TEXT,
    ...body,
  };
}

export function started(instance: string, eventId = 1): HistoryEvent {
  return event(instance, eventId, {
    kind: 'OrchestrationStarted',
    name: 'Hello',
    version: '1.0.0',
    input: '{}',
    parentInstance: null,
    parentId: null,
  });
}

/** The acknowledgement of a turn that decided nothing but what is given. */
export function turnOf(
  lock: { readonly instance: string; readonly lockToken: string },
  decisions: Partial<AckOrchestrationItem> = {},
): AckOrchestrationItem {
  return {
    instance: lock.instance,
    lockToken: lock.lockToken,
    executionId: 1,
    historyDelta: [],
    workerItems: [],
    orchestratorItems: [],
    metadata: {},
    cancelledActivities: [],
    ...decisions,
  };
}

export const helloMetadata = { orchestrationName: 'Hello', orchestrationVersion: '1.0.0' };

/** `ok`, or what the element failed with. */
export function outcomes(results: readonly Result<unknown>[]): string[] {
  return results.map((result) => (result.ok ? 'ok' : result.error.reason));
}
