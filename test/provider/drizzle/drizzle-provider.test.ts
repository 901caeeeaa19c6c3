import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { FakeClock, systemHostClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/logger.js';
import { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import { SchemaError } from '../../../src/provider/drizzle/migrate/index.js';
import { PostgresProvider } from '../../../src/provider/drizzle/postgres-provider.js';
import { StoredFunctionProvider } from '../../../src/provider/stored-function/stored-function-provider.js';
import { SqliteProvider } from '../../../src/provider/drizzle/sqlite-provider.js';
import { ProviderError, UnsupportedError } from '../../../src/provider/provider-error.js';
import type { Provider } from '../../../src/provider/provider.js';
import type { WorkItem } from '../../../src/wire/work-item.js';
import { CuttingProxy } from '../../support/cutting-proxy.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../support/database.js';
import { RecordingLogger, waitFor } from '../../support/waiting.js';

const logger = silentLogger;
const schemas: string[] = [];
const closers: (() => Promise<unknown>)[] = [];

function newSchema(): string {
  const schema = uniqueSchema('prov');
  schemas.push(schema);
  return schema;
}

/** Closed after the test, the last opened first. */
function closing<T extends { close(): Promise<unknown> }>(opened: T): T {
  closers.push(() => opened.close());
  return opened;
}

afterEach(async () => {
  for (let close = closers.pop(); close; close = closers.pop()) await close();
});
afterAll(async () => {
  for (const schema of schemas) await dropSchema(schema);
});

const start = (instance: string): WorkItem => ({
  kind: 'StartOrchestration',
  instance,
  orchestration: 'TestOrch',
  input: '{}',
  version: '1.0.0',
  parentInstance: null,
  parentId: null,
  executionId: 1,
});

async function enqueue(provider: Provider, ...items: WorkItem[]): Promise<void> {
  for (const result of await provider.enqueueForOrchestrator(items.map((item) => ({ item })))) {
    if (!result.ok) throw result.error;
  }
}

const fetchAll = (provider: Provider, lockTimeoutMs = 5_000) =>
  provider.fetchOrchestrationItems({ limit: 100, lockTimeoutMs });

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('time', () => {
  test('C-07 hosts that are a minute off each other agree about locks and timers', async () => {
    const schema = newSchema();
    const hostClock = (leadMs: number) => ({ ...systemHostClock, nowMs: () => Date.now() + leadMs });
    const open = (leadMs: number) =>
      DrizzleProvider.connect(databaseUrl(), { schema, logger, hostClock: hostClock(leadMs) }).then(closing);
    const [ahead, right, behind] = [await open(60_000), await open(0), await open(-60_000)];

    await enqueue(ahead, start('locked'));
    expect((await fetchAll(behind)).items).toHaveLength(1);
    // Neither is the lock over for the one ahead, nor does it last a minute longer.
    expect(await fetchAll(ahead)).toEqual({ items: [], lost: 0 });
    const databaseMs = await withClient(async (client) => {
      const { rows } = await client.query<{ left: number }>(
        `select (locked_until - extract(epoch from clock_timestamp()) * 1000)::float8 as left from "${schema}".instance_locks`,
      );
      return rows[0]?.left ?? NaN;
    });
    expect(databaseMs).toBeLessThanOrEqual(5_000);
    expect(databaseMs).toBeGreaterThan(-30_000);

    const fireAtMs = right.nowMs() + 30_000;
    await enqueue(right, { kind: 'TimerFired', instance: 'sleeper', executionId: 1, id: 2, fireAtMs });
    expect(await fetchAll(ahead)).toEqual({ items: [], lost: 0 });
    expect((await ahead.due()).nextVisibleAtMs).toBe(fireAtMs);
  });

  test('a fake clock is final', async () => {
    const clock = new FakeClock();
    const provider = closing(await DrizzleProvider.connect(databaseUrl(), { schema: newSchema(), logger, clock }));
    expect(provider.nowMs()).toBe(clock.nowMs());
    clock.advance(5);
    expect(provider.nowMs()).toBe(clock.nowMs());
  });
});

describe('what no connection can be made with', () => {
  test.each<[unknown, string]>([
    [undefined, 'the URL is undefined; expected postgres://user@host:port/database'],
    ['', 'the URL is empty'],
    ['localhost', 'the URL is no URL'],
    ['mysql://me:secret@x/y', 'the URL is a mysql: URL'],
    ['me:secret@x/y', 'the URL is '],
  ])('%p is refused before the driver is asked', async (url, message) => {
    for (const provider of [DrizzleProvider, StoredFunctionProvider]) {
      const error: unknown = await provider.connect(url as string).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toContain(message);
      expect((error as Error).message).not.toContain('secret');
    }
  });

  test('a database that is none is refused with what was given', async () => {
    for (const nothing of [undefined, null]) {
      const opened = DrizzleProvider.fromDrizzle(nothing as never);
      await expect(opened).rejects.toThrow(`expected a Drizzle database for PostgreSQL, got ${nothing}`);
    }
  });
});

describe("an application's pool", () => {
  test('C-10 with one connection is enough for everything at once', async () => {
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
    closers.push(() => pool.end());
    const schema = newSchema();
    const provider = closing(await DrizzleProvider.fromDrizzle(drizzle(pool), { schema, logger }));
    provider.onWakeUp(() => false);
    await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        await enqueue(provider, start(`one-${n}`));
        await provider.due();
        await provider.asManagement().listInstances();
      }),
    );
    const { items } = await fetchAll(provider);
    expect(items).toHaveLength(8);
    await waitFor('it listens beside the pool', () => provider.wakeUps().listening);
    expect(pool.totalCount).toBe(1);
  });

  test('is shared by two providers, and stays open when they close', async () => {
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2 });
    closers.push(() => pool.end());
    const schema = newSchema();
    const first = await DrizzleProvider.fromPool(pool, { schema, logger });
    const second = closing(await DrizzleProvider.fromDrizzle(drizzle(pool), { schema, logger }));
    await enqueue(first, start('shared'));
    await first.close();
    expect((await fetchAll(second)).items).toHaveLength(1);
  });

  test('C-23 numbers are numbers whatever type parsers it has', async () => {
    const types = { getTypeParser: () => (text: string) => BigInt(text.length) };
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2, types });
    closers.push(() => pool.end());
    const schema = newSchema();
    const provider = closing(await DrizzleProvider.fromPool(pool, { schema, logger }));
    await withClient(async (client) => {
      await client.query(`insert into "${schema}".instances values ('x', 'TestOrch', '1.0.0', 12, now(), now())`);
      await client.query(
        `insert into "${schema}".executions (instance_id, execution_id, started_at) select 'x', n, now() from generate_series(1, 12) n`,
      );
    });
    const admin = provider.asManagement();
    expect(await admin.listExecutions('x')).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(await admin.getInstanceInfo('x')).toMatchObject({ currentExecutionId: 12 });
    expect(await admin.getSystemMetrics()).toMatchObject({ totalInstances: 1, totalExecutions: 12 });
    expect(await admin.getExecutionInfo('x', 12)).toMatchObject({ executionId: 12, eventCount: 0 });
    expect(await admin.pruneExecutions('x', {})).toMatchObject({ executionsDeleted: 0 });
    expect(await admin.deleteInstance('x', true)).toMatchObject({ executionsDeleted: 12 });
  });

  test('C-09 survives that the server ends its idle connections', async () => {
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2, application_name: uniqueSchema('idle') });
    closers.push(() => pool.end());
    const provider = closing(await DrizzleProvider.fromPool(pool, { schema: newSchema(), logger }));
    await withClient((client) =>
      client.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [
        pool.options.application_name,
      ]),
    );
    expect(await provider.asManagement().listInstances()).toEqual([]);
  });
});

describe('opening and closing', () => {
  test('the version is that of the package', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    const provider = closing(await DrizzleProvider.connect(databaseUrl(), { schema: newSchema(), logger }));
    expect(provider.version()).toBe(version);
    expect(provider.wakeUps()).toEqual({ listening: false, sharedWithNative: false, notifyTriggers: false });
  });

  test('a closed provider refuses, retryably, and can be closed again', async () => {
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema: newSchema(), logger });
    await Promise.all([provider.close(), provider.close()]);
    for (const work of [provider.due(), fetchAll(provider), provider.asManagement().listInstances()]) {
      expect(await errorOf(work)).toMatchObject({ name: 'ProviderError', retryable: true });
    }
    const [result] = await provider.enqueueForOrchestrator([{ item: start('late') }]);
    expect(result).toMatchObject({ ok: false, error: { retryable: true } });
    await provider[Symbol.asyncDispose]();
  });

  test('a bad schema name is refused before anything is connected', async () => {
    const nowhere = 'postgres://postgres@127.0.0.1:1/postgres';
    for (const schema of ['', 'Upper', 'a.b', 'x"y', 'pg_mine']) {
      expect(await errorOf(DrizzleProvider.connect(nowhere, { schema, logger }))).toBeInstanceOf(RangeError);
    }
  });

  test('without permission to migrate a missing schema is an error that says what to run', async () => {
    const schema = newSchema();
    const error = await errorOf(DrizzleProvider.connect(databaseUrl(), { schema, logger, migrate: false }));
    expect(error).toBeInstanceOf(SchemaError);
    expect(String(error)).toContain('migrate');
    closing(await DrizzleProvider.connect(databaseUrl(), { schema, logger }));
    closing(await DrizzleProvider.connect(databaseUrl(), { schema, logger, migrate: false }));
  });

  test('a server that is not there is a retryable error; one that comes in time is waited for', async () => {
    const schema = newSchema();
    const gone = await CuttingProxy.open(databaseUrl());
    const { url } = gone;
    await gone.close();
    expect(await errorOf(DrizzleProvider.connect(url, { schema, logger }))).toMatchObject({
      operation: 'connect',
      retryable: true,
    });
    const connecting = DrizzleProvider.connect(url, { schema, logger, connectTimeoutMs: 30_000 });
    const back = await CuttingProxy.open(databaseUrl(), Number(new URL(url).port));
    closers.push(() => back.close());
    closing(await connecting);
  });

  test('a database that does not exist is a permanent error, and is not waited for', async () => {
    const url = new URL(databaseUrl());
    url.pathname = '/no_such_database';
    const connecting = DrizzleProvider.connect(url.href, { schema: newSchema(), logger, connectTimeoutMs: 600_000 });
    expect(await errorOf(connecting)).toMatchObject({ retryable: false, sqlState: '3D000' });
  });

  test('what is missing in a native schema is reported in one line', async () => {
    const schema = newSchema();
    await closing(await DrizzleProvider.connect(databaseUrl(), { schema, logger })).close();
    await withClient((client) => client.query(`drop index "${schema}".ddz_orch_ready`));
    const recording = new RecordingLogger();
    closing(await DrizzleProvider.connect(databaseUrl(), { schema, logger: recording, migrate: false }));
    expect(recording.at('info')).toHaveLength(1);
    expect(JSON.stringify(recording.lines)).toContain('ddz_orch_ready');
  });
});

/** Making a PGlite takes a second or two, and many more on a machine that is busy. */
const SLOW_MS = 180_000;

describe('embedded', () => {
  let directory: string;
  const inDirectory = () => path.join(directory, 'data', 'store');
  afterEach(() => rm(directory, { recursive: true, force: true }));

  test('keeps its data in a directory that one process has at a time', async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'ddz-embedded-'));
    const first = await DrizzleProvider.embedded({ directory: inDirectory(), logger });
    await enqueue(first, start('kept'));
    const refused = await errorOf(DrizzleProvider.embedded({ directory: inDirectory(), logger }));
    expect(refused).toBeInstanceOf(UnsupportedError);
    expect(String(refused)).toContain(String(process.pid));
    await first.close();
    // Left behind by a process that is gone: no process has this number.
    await writeFile(`${inDirectory()}.lock`, '4194999');
    const second = await DrizzleProvider.embedded({ directory: inDirectory(), logger });
    expect((await fetchAll(second)).items.map(({ instance }) => instance)).toEqual(['kept']);
    await second.close();
    expect(await errorOf(stat(`${inDirectory()}.lock`))).toMatchObject({ code: 'ENOENT' });
  }, SLOW_MS);

  test('by the name of SqliteProvider: beside the file, and in memory', async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'ddz-embedded-'));
    const file = path.join(directory, 'app.db');
    const recording = new RecordingLogger();
    const provider = await SqliteProvider.open(`sqlite://${file}?mode=rwc`, { logger: recording });
    expect((await stat(`${file}.pglite`)).isDirectory()).toBe(true);
    expect(recording.at('info').join()).toContain('PGlite');
    expect('_type' in provider).toBe(false);
    await provider.close();
    const inMemory = closing(await SqliteProvider.open('sqlite::memory:', { logger: recording }));
    expect(recording.lines.at(-1)?.fields).toEqual({ where: 'memory' });
    await enqueue(inMemory, start('private'));
    expect(await errorOf(SqliteProvider.open(undefined as never))).toMatchObject({ code: 'StringExpected' });
  }, SLOW_MS);
});

describe('PostgresProvider', () => {
  test('connects to a schema, and is told apart by its type', async () => {
    const provider = closing(await PostgresProvider.connectWithSchema(databaseUrl(), newSchema(), { logger }));
    expect(provider._type).toBe('postgres');
    expect(provider).toBeInstanceOf(DrizzleProvider);
    await enqueue(provider, start('x'));
  });

  test('takes the size of its pool from the environment', async () => {
    process.env['DUROXIDE_PG_POOL_MAX'] = '1';
    const name = uniqueSchema('pool');
    const url = new URL(databaseUrl());
    url.searchParams.set('application_name', name);
    try {
      const provider = closing(await PostgresProvider.connectWithSchema(url.href, newSchema(), { logger }));
      await Promise.all(Array.from({ length: 5 }, () => provider.due()));
    } finally {
      delete process.env['DUROXIDE_PG_POOL_MAX'];
    }
    await withClient(async (client) => {
      const { rowCount } = await client.query('select 1 from pg_stat_activity where application_name = $1', [name]);
      expect(rowCount).toBe(1);
    });
  });

  test.each([
    ['an unreadable URL', 'not a url', 's', /^Failed to connect to PostgreSQL: error with configuration: /],
    ['another protocol', 'mysql://x@y/z', 's', /^Failed to connect to PostgreSQL: error with configuration: /],
    ['a bad schema name', 'postgres://x@127.0.0.1:1/y', 'Bad', /^Failed to connect to PostgreSQL: invalid schema name/],
  ])('%s is refused in the words of native', async (_, url, schema, message) => {
    const error = await errorOf(PostgresProvider.connectWithSchema(url, schema, { logger }));
    expect(error).toMatchObject({ code: 'GenericFailure' });
    expect((error as Error).message).toMatch(message);
  });

  test("the server's refusal and an absent server are told in the words of native", async () => {
    const url = new URL(databaseUrl());
    url.pathname = '/no_such_database';
    const refused = await errorOf(PostgresProvider.connect(url.href, { logger }));
    expect((refused as Error).message).toMatch(
      /^Failed to connect to PostgreSQL: error returned from database: .*no_such_database/,
    );
    const absent = await errorOf(PostgresProvider.connect('postgres://x@127.0.0.1:1/y', { logger, connectTimeoutMs: 0 }));
    expect((absent as Error).message).toMatch(
      /^Failed to connect to PostgreSQL: pool timed out while waiting for an open connection/,
    );
    const unknown = await errorOf(
      PostgresProvider.connect('postgres://x@no-such-host.invalid/y', { logger, connectTimeoutMs: 0 }),
    );
    expect((unknown as Error).message).toMatch(/^Failed to connect to PostgreSQL: error communicating with database: /);
  });

  test('arguments that are no strings are refused by code', async () => {
    for (const work of [
      PostgresProvider.connect(undefined as never),
      PostgresProvider.connectWithSchema(databaseUrl(), 5 as never),
    ]) {
      expect(await errorOf(work)).toMatchObject({ code: 'StringExpected' });
    }
  });

  test('an Entra token goes only to a server over TLS', async () => {
    const asked: string[] = [];
    const credential = {
      getToken: async (audience: string) => {
        asked.push(audience);
        return { token: 'secret', expiresOnTimestamp: Date.now() + 3_600_000 };
      },
    };
    const { hostname, port } = new URL(databaseUrl());
    const error = await errorOf(
      PostgresProvider.connectWithSchemaAndEntra(hostname, Number(port), 'postgres', 'postgres', newSchema(), {
        credential,
        logger,
        connectTimeoutMs: 0,
      }),
    );
    expect((error as Error).message).toMatch(/^Failed to connect with schema and Entra: .*SSL/);
    expect((error as Error).message).not.toContain('secret');
    // The test server has no TLS, so nobody was asked for a token.
    expect(asked).toEqual([]);
  });
});

test('errors are recognised across copies of the package', async () => {
  const error = await errorOf(DrizzleProvider.connect('postgres://x@127.0.0.1:1/y', { logger }));
  expect(ProviderError.is(error)).toBe(true);
});
