import { afterEach, describe, expect, test } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { checkInvariants } from '../../src/doctor/index.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { RuntimeOptions } from '../../src/runtime/options.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { FailpointProxy } from '../support/failpoints.js';
import { type Handlers, register } from '../support/runtime-harness.js';
import { RecordingLogger, waitFor } from '../support/waiting.js';

let cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

function freshSchema(): string {
  const schema = uniqueSchema('cont');
  cleanUps.push(() => dropSchema(schema));
  return schema;
}

async function open(schema: string, { url = databaseUrl(), max = 3, logger = silentLogger } = {}) {
  const pool = new pg.Pool({ connectionString: url, max, application_name: schema });
  const provider = await DrizzleProvider.fromPool(pool, { schema, logger, ownsClient: true });
  cleanUps.push(() => provider.close());
  return provider;
}

async function run(provider: DrizzleProvider, handlers: Handlers, options: RuntimeOptions = {}): Promise<Runtime> {
  const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off', ...options });
  register(runtime, handlers);
  await runtime.start();
  cleanUps.push(() => runtime.shutdown(0));
  return runtime;
}

const echo: Handlers = {
  activities: { Echo: (_ctx, input) => input },
  orchestrations: {
    *Echo(ctx, input) {
      return yield ctx.scheduleActivity('Echo', input);
    },
  },
};
/** So long that a test which had to wait for a poll would fail. */
const NO_POLLS = { dispatcherPollIntervalMs: 600_000, maxPollIntervalMs: 600_000 };

/** A database of its own, because the server counts deadlocks by database. */
async function freshDatabase(): Promise<string> {
  const name = uniqueSchema('db');
  await withClient((client) => client.query(`create database ${name}`));
  cleanUps.push(() => withClient((client) => client.query(`drop database ${name} with (force)`)));
  const url = new URL(databaseUrl());
  url.pathname = `/${name}`;
  return url.href;
}

const PARENTS = Number(process.env['C02_PARENTS'] ?? 3);

test('C-02 parents with 50 children each, in four runtimes: no deadlock, no failed instance', async () => {
  const url = await freshDatabase();
  const schema = uniqueSchema('cont');
  const handlers: Handlers = {
    orchestrations: {
      *Parent(ctx) {
        const children = Array.from({ length: 50 }, (_, n) => ctx.scheduleSubOrchestration('Child', n));
        return (yield ctx.all(children)).map((result: { ok: number }) => result.ok);
      },
      *Child(_ctx, n) {
        return n;
      },
    },
  };
  for (let n = 0; n < 4; n++) {
    await run(await open(schema, { url }), handlers, { orchestrationConcurrency: 8, maxPollIntervalMs: 100 });
  }
  const client = new Client(await open(schema, { url }));
  for (let n = 0; n < PARENTS; n++) {
    await client.startOrchestration(`parent-${n}`, 'Parent');
    const { status, output } = await client.waitForOrchestration(`parent-${n}`, 60_000);
    expect({ status, output }).toEqual({
      status: 'Completed',
      output: Array.from({ length: 50 }, (_, child) => child),
    });
  }
  await withClient(async (connection) => {
    const { rows } = await connection.query<{ deadlocks: string }>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    expect(rows).toEqual([{ deadlocks: '0' }]);
  }, url);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  cleanUps.push(() => pool.end());
  expect((await checkInvariants(drizzle(pool), { schema })).violations).toEqual([]);
});

test('C-15 tables change while a runtime polls: at most a retried error, no restart, and nobody asks for *', async () => {
  const schema = freshSchema();
  const proxy = await FailpointProxy.open(databaseUrl());
  cleanUps.push(() => proxy.close());
  const logger = new RecordingLogger();
  const provider = await open(schema, { url: proxy.url, logger });
  const runtimeLogger = new RecordingLogger();
  await run(provider, echo, { logger: runtimeLogger, maxPollIntervalMs: 20 });
  const client = new Client(provider);
  const works = async (id: string) => {
    await client.startOrchestration(id, 'Echo', id);
    expect(await client.waitForOrchestrationTyped(id, 60_000)).toBe(id);
  };
  for (let n = 0; n < 5; n++) await works(`before-${n}`);
  for (const change of ['add column x int', 'alter column custom_status_version type bigint', 'drop column x']) {
    for (const table of ['instances', 'orchestrator_queue', 'worker_queue', 'history', 'executions']) {
      if (change.startsWith('alter') && table !== 'instances') continue;
      await withClient((connection) => connection.query(`alter table "${schema}".${table} ${change}`));
    }
    for (let n = 0; n < 3; n++) await works(`${change}-${n}`);
  }
  // Plans that no longer fit are renamed and repeated inside; nothing of it reaches the loops.
  expect(runtimeLogger.at('error')).toEqual([]);
  expect(proxy.statements.filter(({ text }) => /(select|returning) \*|select \w+\.\* from "/i.test(text))).toEqual([]);
});

/** Runs `use` with a client under the name that {@link open} gives to its connections. */
async function asApplication(name: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl(), application_name: name });
  await client.connect();
  await use(client);
  await client.end();
}

/** A backend has reported what it did when it is gone. */
function untilGone(name: string): Promise<unknown> {
  return waitFor('its backends are gone', () =>
    withClient(async (client) => {
      const { rowCount } = await client.query('select 1 from pg_stat_activity where application_name = $1', [name]);
      return rowCount === 0;
    }),
  );
}

/** Rows that `countByStatus` reads at most, and a few for tables that are nearly empty. */
const BOUNDED_COUNT = 11_000;
const FINISHED = Number(process.env['C26_INSTANCES'] ?? 20_000);

test('C-26 many finished instances: what the loops of a runtime read does not grow with them, nor does a page', async () => {
  const schema = freshSchema();
  await (await open(schema)).close();
  await asApplication(schema, async (client) => {
    await client.query(`set search_path to "${schema}"`);
    const series = `generate_series(1, ${FINISHED}) n`;
    await client.query(
      `insert into instances (instance_id, orchestration_name, orchestration_version, created_at, updated_at)
       select 'old-' || n, 'Echo', '1.0.0', now() - n * interval '1 ms', now() from ${series}`,
    );
    await client.query(
      `insert into executions (instance_id, execution_id, status, output, started_at, completed_at)
       select 'old-' || n, 1, 'Completed', '1', now(), now() from ${series}`,
    );
    await client.query(`insert into history select 'old-' || n, 1, 1, 'Event', '{}', now() from ${series}`);
    await client.query('analyze instances; analyze executions; analyze history');
  });
  const scans = () =>
    withClient(async (client) => {
      const { rows } = await client.query<{ relname: string; seq_scan: string; read: string }>(
        `select relname, seq_scan, seq_tup_read as read from pg_stat_all_tables
         where schemaname = $1 and relname in ('instances', 'executions', 'history') order by relname`,
        [schema],
      );
      return rows;
    });
  await untilGone(schema);
  const before = await scans();
  const provider = await open(schema);
  const runtime = await run(provider, echo, { maxPollIntervalMs: 20, observability: { gaugePollIntervalMs: 50 } });
  const client = new Client(provider);
  for (let n = 0; n < 10; n++) {
    await client.startOrchestration(`new-${n}`, 'Echo', n);
    expect(await client.waitForOrchestrationTyped(`new-${n}`, 60_000)).toBe(n);
  }
  const page = await provider.asManagement().listInstancesPage({ limit: 50 });
  expect(page.instances).toHaveLength(50);
  expect(runtime.metricsSnapshot()).toMatchObject({ providerErrors: 0 });
  await runtime.shutdown(1_000);
  await provider.close();
  await untilGone(schema);
  // One bounded count, for the gauge of running instances; never a table from end to end.
  const read = (rows: Awaited<ReturnType<typeof scans>>) => rows.reduce((sum, row) => sum + Number(row.read), 0);
  expect(read(await scans()) - read(before)).toBeLessThanOrEqual(BOUNDED_COUNT);
});

describe('C-27 everyone wakes for one item', () => {
  const IDLE = Number(process.env['C27_RUNTIMES'] ?? 40);
  const ROUNDS = 6;

  /** Statements per orchestration that another process starts. */
  async function statementsPerStart(runtimes: number): Promise<number> {
    const schema = freshSchema();
    const proxy = await FailpointProxy.open(databaseUrl());
    cleanUps.push(() => proxy.close());
    const starter = new Client(await open(schema));
    const providers: DrizzleProvider[] = [];
    for (let n = 0; n < runtimes; n++) {
      const provider = await open(schema, { url: proxy.url, max: 1 });
      providers.push(provider);
      const logger = new RecordingLogger();
      await run(provider, echo, { ...NO_POLLS, logger });
      cleanUps.push(async () => expect(logger.at('error')).toEqual([]));
    }
    for (const provider of providers) await waitFor('it listens', () => provider.wakeUps().listening);
    const start = async (id: string) => {
      await starter.startOrchestration(id, 'Echo', id);
      expect(await starter.waitForOrchestrationTyped(id, 60_000)).toBe(id);
    };
    // They have to learn that they are many.
    for (let n = 0; n < 8; n++) await start(`first-${n}`);
    proxy.watch();
    for (let n = 0; n < ROUNDS; n++) await start(`then-${n}`);
    return proxy.statements.length / ROUNDS;
  }

  test(`${IDLE} idle processes send at most four times the statements of one`, async () => {
    const alone = await statementsPerStart(1);
    const together = await statementsPerStart(IDLE);
    expect(alone).toBeGreaterThan(5);
    expect(together).toBeLessThanOrEqual(4 * alone);
  });
});
