import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { Client } from '../../src/client/client.js';
import { silentLogger } from '../../src/base/logger.js';
import { migrate } from '../../src/provider/drizzle/migrate/on-database.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { PostgresProvider } from '../../src/provider/drizzle/postgres-provider.js';
import { isHostilePath } from '../../src/provider/drizzle/search-path.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { RecordingLogger } from '../support/runtime-harness.js';
import { useEverything } from './use-everything.js';

type Ctx = any;

let cleanUps: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

async function open(
  Provider: typeof DrizzleProvider,
  options: Parameters<typeof DrizzleProvider.connect>[1],
  url = databaseUrl(),
): Promise<DrizzleProvider> {
  const provider = await Provider.connect(url, { logger: silentLogger, ...options });
  cleanUps.push(() => provider.close());
  return provider;
}

describe('a search_path of somebody else', () => {
  const evil = uniqueSchema('evil');
  const schema = uniqueSchema('path');
  const withPath = (path: string) => {
    const url = new URL(databaseUrl());
    url.searchParams.set('options', `-c search_path=${path}`);
    return url.toString();
  };

  beforeAll(async () => {
    await withClient(async (client) => {
      // Names that our statements use, in the hands of somebody else.
      await client.query(`create schema ${evil};
        create function ${evil}.hashtext(text) returns int language plpgsql as $$ begin raise exception 'hijacked'; end $$;
        create function ${evil}.to_timestamp(double precision) returns timestamptz language plpgsql as $$ begin raise exception 'hijacked'; end $$;
        create function ${evil}.clock_timestamp() returns timestamptz language plpgsql as $$ begin raise exception 'hijacked'; end $$;
        create function ${evil}.never(text, text) returns boolean language sql immutable as 'select false';
        create operator ${evil}.= (leftarg = text, rightarg = text, function = ${evil}.never);
        create table ${evil}.instances (instance_id text);
        create table ${evil}.orchestrator_queue (id bigserial);
        create table ${evil}.history (instance_id text)`);
    });
  });
  afterAll(async () => {
    await dropSchema(evil);
    await dropSchema(schema);
  });

  test.each([
    { name: 'DrizzleProvider', Provider: DrizzleProvider },
    { name: 'StoredFunctionProvider', Provider: StoredFunctionProvider },
  ])('$name: tables and functions of another schema that is on the path are never touched', async ({ Provider }) => {
    const pool = new pg.Pool({ connectionString: withPath(evil), max: 1 });
    await migrate(drizzle(pool), { schema, storedFunctions: true });
    await pool.end();
    await useEverything(await open(Provider, { schema }, withPath(`${evil},public`)));
    const { rows } = await withClient((client) =>
      client.query(
        `select (select count(*) from ${evil}.instances) + (select count(*) from ${evil}.orchestrator_queue) + (select count(*) from ${evil}.history) as n`,
      ),
    );
    expect(rows).toEqual([{ n: '0' }]);
  });

  test('one that puts another schema before pg_catalog is refused, before any statement that it could redirect', async () => {
    const url = withPath(`${evil},pg_catalog`);
    for (const Provider of [DrizzleProvider, StoredFunctionProvider]) {
      await expect(Provider.connect(url, { schema: uniqueSchema('never'), logger: silentLogger })).rejects.toThrow(
        /search_path .*pg_catalog first/,
      );
    }
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    await expect(migrate(drizzle(pool), { schema: uniqueSchema('never') })).rejects.toThrow(/search_path/);
    await pool.end();
  });

  test('stored functions are right for a caller with such a path', async () => {
    const client = new pg.Client({ connectionString: withPath(`${evil},pg_catalog`) });
    await client.connect();
    await client.query(
      `select ${schema}.enqueue_orchestrator_work('mine', '{"ExternalRaised":{"instance":"mine","name":"e","data":"1"}}', pg_catalog.now())`,
    );
    const { rows } = await client.query<{ n: number }>(
      `select pg_catalog.count(*)::int as n from ${schema}.orchestrator_queue`,
    );
    expect(rows[0]?.n).toBe(1);
    await client.end();
  });

  test.each([
    ['"$user", public', false],
    ['pg_catalog, evil', false],
    ['evil', false],
    ['', false],
    ['evil, pg_catalog', true],
    ['"evil, one", PG_CATALOG', true],
    ['"pg_catalog"', false],
    ['"PG_CATALOG", pg_catalog', true],
  ])('%j is hostile: %s', (path, hostile) => {
    expect(isHostilePath(path)).toBe(hostile);
  });
});

describe('SQL from values and identifiers', () => {
  const INJECTIONS = [
    `'; drop table sentinel; --`,
    `" ; drop table sentinel; --`,
    `$$; drop table sentinel; $$`,
    `x') on conflict do nothing; drop table sentinel; --`,
    `{"a","b"}`,
    `\\'; drop table sentinel; --`,
    `$1 $2 :a @b %s`,
  ];

  test.each([
    { name: 'DrizzleProvider', Provider: DrizzleProvider },
    { name: 'StoredFunctionProvider', Provider: StoredFunctionProvider },
  ])('$name: ids, names, keys, tags, sessions, payloads, statuses and reasons are values', async ({ Provider }) => {
    const schema = uniqueSchema('inj');
    cleanUps.push(() => dropSchema(schema));
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
    await migrate(drizzle(pool), { schema, storedFunctions: true });
    await pool.query(`create table ${schema}.sentinel (n int)`);
    const url = new URL(databaseUrl());
    url.searchParams.set('options', `-c search_path=${schema}`);
    const provider = await open(Provider, { schema }, url.toString());
    // Two names, each with half of the ways to leave a literal.
    for (const text of [INJECTIONS.slice(0, 3).join(' '), INJECTIONS.slice(3).join(' ')])
      await useEverything(provider, text);
    expect((await pool.query(`select * from ${schema}.sentinel`)).rows).toEqual([]);
    await pool.end();
  });

  test.each([...INJECTIONS, 'a"b', 'a.b', 'pg_x', 'A', '', 'x'.repeat(64)])(
    'schema %j is refused before any SQL',
    async (schema) => {
      const untouchable = {
        $client: new Proxy(() => undefined, {
          get: () => {
            throw new Error('used');
          },
        }),
      };
      await expect(DrizzleProvider.fromDrizzle(untouchable, { schema })).rejects.toThrow(/invalid schema name/);
    },
  );
});

describe('passwords and payloads', () => {
  const PASSWORD = 'pass-marker-8c1f';
  const PAYLOAD = 'payload-marker-77ab';

  /** Everything of an error that a log shows, but the driver's own error: that is documented to carry values. */
  function shown(error: unknown): string {
    const { name, message, stack, ...fields } = error as Error & Record<string, unknown>;
    return [name, message, stack, inspect(fields, { depth: 6 })].join('\n');
  }

  test('a password stands in no error of a failed connection, nor in what prints a provider', async () => {
    const schema = uniqueSchema('pw');
    cleanUps.push(() => dropSchema(schema));
    const good = new URL(databaseUrl());
    const logger = new RecordingLogger();
    const attempts = [
      (url: URL) => (url.port = '1'),
      (url: URL) => (url.pathname = '/no_such_database'),
      (url: URL) => (url.username = 'no_such_role'),
      (url: URL) => (url.hostname = 'no-such-host.invalid'),
      (url: URL) => (url.protocol = 'mysql:'),
    ];
    for (const spoil of attempts) {
      const url = new URL(good);
      url.password = PASSWORD;
      spoil(url);
      for (const connect of [
        () => DrizzleProvider.connect(url.toString(), { schema, logger, acquireTimeoutMs: 3_000 }),
        () =>
          PostgresProvider.connectWithSchema(url.toString(), schema, {
            logger,
            connectTimeoutMs: 0,
            acquireTimeoutMs: 3_000,
          }),
      ]) {
        const error: unknown = await connect().then(
          (provider) => provider.close(),
          (reason: unknown) => reason,
        );
        for (let at = error; at instanceof Error; at = at.cause)
          expect(inspect(at, { depth: 6 })).not.toContain(PASSWORD);
      }
    }
    const url = new URL(good);
    url.password = PASSWORD;
    const provider = await DrizzleProvider.connect(url.toString(), { schema, logger });
    await provider.due();
    expect(inspect(provider, { depth: 12, showHidden: false })).not.toContain(PASSWORD);
    expect(JSON.stringify(logger.lines)).not.toContain(PASSWORD);
    await provider.close();
  });

  test('payloads stand in no error and no log line of operations that fail', async () => {
    const schema = uniqueSchema('leak');
    cleanUps.push(() => dropSchema(schema));
    const logger = new RecordingLogger();
    const written: string[] = [];
    const keep = (chunk: unknown) => written.push(String(chunk));
    const original = { out: process.stdout.write.bind(process.stdout), err: process.stderr.write.bind(process.stderr) };
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 3 });
    const provider = await DrizzleProvider.fromPool(pool, { schema, logger });
    cleanUps.push(
      () => provider.close(),
      () => pool.end(),
    );
    const runtime = new Runtime(provider, { logger, logLevel: 'debug', logFormat: 'json', maxAttempts: 2 });
    runtime.registerActivity('Bad', (_ctx, input) => {
      throw new TypeError('refused', { cause: input });
    });
    runtime.registerOrchestration('Bad', function* (ctx: Ctx, input: unknown) {
      ctx.setValue('k', input);
      ctx.setCustomStatus(input);
      try {
        yield ctx.scheduleActivity('Bad', input);
      } catch {
        // Goes on.
      }
      yield ctx.waitForEvent('never');
    });
    runtime.registerOrchestration('Neighbour', function* (_ctx: Ctx, input: unknown) {
      return input;
    });
    const errors: unknown[] = [];
    process.stdout.write = (chunk: unknown) => (keep(chunk), true);
    process.stderr.write = (chunk: unknown) => (keep(chunk), true);
    try {
      await runtime.start();
      const client = new Client(provider, { maxPayloadBytes: 1_000 });
      const note = (work: Promise<unknown>) => work.catch((error: unknown) => void errors.push(error));
      await client.startOrchestration('bad', 'Bad', PAYLOAD);
      await client.waitForStatusChange('bad', 0, 10, 60_000);
      await note(client.startOrchestration('x', 'Bad', PAYLOAD.repeat(100)));
      await note(client.raiseEvent('bad', 'e', PAYLOAD.repeat(100)));
      await note(client.cancelInstance('bad', PAYLOAD.repeat(100)));
      // The store refuses all that would be written.
      await pool.query(
        `create function ${schema}.no() returns trigger language plpgsql as $$ begin raise exception 'no: %', new using errcode = '22000'; end $$`,
      );
      for (const table of ['history', 'orchestrator_queue', 'worker_queue', 'kv_delta']) {
        await pool.query(
          `create trigger no before insert on ${schema}.${table} for each row execute function ${schema}.no()`,
        );
      }
      await note(client.startOrchestration('y', 'Bad', PAYLOAD));
      await note(client.raiseEvent('bad', 'e', PAYLOAD));
      await note(client.enqueueEvent('bad', 'q', PAYLOAD));
      await note((async () => client.withTransaction({}).startOrchestration('z', 'Bad', PAYLOAD))());
      await note(provider.ackOrchestrationItems([]));
      await client.raiseEvent('bad', 'e', 1).catch(() => undefined);
      for (const table of ['history', 'orchestrator_queue', 'worker_queue', 'kv_delta'])
        await pool.query(`drop trigger no on ${schema}.${table}`);
      // Damaged rows: a message, and a history.
      await pool.query(
        `insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at) values ('bad', $1, now(), now())`,
        [`{"ExternalRaised":{"${PAYLOAD}":`],
      );
      await pool.query(`update ${schema}.history set event_data = $1 where instance_id = 'bad' and event_id = 1`, [
        `{"${PAYLOAD}":`,
      ]);
      await client.raiseEvent('bad', 'never', PAYLOAD);
      await client.startOrchestration('n', 'Neighbour', PAYLOAD);
      expect((await client.waitForOrchestration('n', 60_000)).output).toBe(PAYLOAD);
      await runtime.shutdown();
    } finally {
      process.stdout.write = original.out;
      process.stderr.write = original.err;
    }
    expect(errors.length).toBeGreaterThanOrEqual(5);
    for (const error of errors) expect(shown(error)).not.toContain(PAYLOAD);
    expect(inspect(logger.lines, { depth: 12 })).not.toContain(PAYLOAD);
    expect(written.join('')).not.toContain(PAYLOAD);
  });
});
