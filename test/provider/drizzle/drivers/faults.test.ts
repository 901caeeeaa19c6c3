import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { sql } from 'drizzle-orm';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { silentLogger } from '../../../../src/base/logger.js';
import { CommitUnknownError, isConnectionError } from '../../../../src/provider/drizzle/drivers/connection-errors.js';
import { driverFor, type DriverOptions } from '../../../../src/provider/drizzle/drivers/index.js';
import type { Driver } from '../../../../src/provider/drizzle/executor.js';
import { compile, integerCell, noRow, textCell } from '../../../../src/provider/drizzle/statement.js';
import { UnsupportedError } from '../../../../src/provider/provider-error.js';
import { CuttingProxy } from '../../../support/cutting-proxy.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../../support/database.js';
import { RecordingLogger, waitFor } from '../../../support/waiting.js';

const schema = uniqueSchema('fault');
const numbers = sql.raw(`"${schema}".numbers`);
const insert = compile(sql`insert into ${numbers} (n) values (${sql.placeholder('n')})`, noRow);
const count = compile(sql`select count(*) from ${numbers}`, ([n]) => integerCell(n));
const ownPid = compile(sql`select pg_backend_pid()`, ([pid]) => integerCell(pid));
const slow = compile(sql`select pg_sleep(30)`, noRow);
const kill = compile(sql`select pg_terminate_backend(pg_backend_pid())`, noRow);

beforeAll(() =>
  withClient(async (client) => {
    await client.query(`create schema "${schema}"`);
    await client.query(`create table "${schema}".numbers (n bigint, unique (n) deferrable initially deferred)`);
  }),
);
afterEach(() => withClient((client) => client.query(`delete from "${schema}".numbers`)));
afterAll(() => dropSchema(schema));

const stored = () =>
  withClient(async (client) => {
    const { rows } = await client.query<{ n: string }>(`select count(*) as n from "${schema}".numbers`);
    return Number(rows[0]?.n);
  });
const terminate = (pid: number) => withClient((client) => client.query('select pg_terminate_backend($1)', [pid]));

interface Opened {
  readonly driver: Driver;
  readonly close: () => Promise<unknown>;
}

function openPg(url: string, pool: pg.PoolConfig = {}, options: DriverOptions = {}): Opened & { pool: pg.Pool } {
  const made = new pg.Pool({ connectionString: url, max: 2, ...pool });
  const driver = driverFor(drizzlePg(made), { logger: silentLogger, ...options });
  const close = async () => {
    await driver.close();
    await made.end();
  };
  return { driver, pool: made, close };
}

function openPostgresJs(url: string): Opened {
  const client = postgres(url, { max: 2, onnotice: () => {} });
  const driver = driverFor(drizzlePostgresJs(client), { ownsClient: true, logger: silentLogger });
  return { driver, close: () => driver.close() };
}

const kinds: readonly [string, (url: string) => Opened][] = [
  ['node-postgres', openPg],
  ['node-postgres in pipeline mode', (url) => openPg(url, { pipeline: true })],
  ['postgres-js', openPostgresJs],
];

describe.each(kinds)('faults over %s', (_, open) => {
  let proxy: CuttingProxy;
  let driver: Driver;
  let close: Opened['close'];

  beforeEach(async () => {
    proxy = await CuttingProxy.open(databaseUrl());
    ({ driver, close } = open(proxy.url));
  });
  afterEach(async () => {
    await close();
    await proxy.close();
  });

  test.each([
    ['of a transaction', (d: Driver) => d.withTransaction((tx) => tx.run(insert, { n: 1 }))],
    ['with the last statement', (d: Driver) => d.withTransaction((tx) => tx.runLast(insert, { n: 1 }))],
  ])('P:T-35 a commit whose answer is lost is unknown: %s', async (__, commit) => {
    proxy.loseNextCommit();
    await expect(commit(driver)).rejects.toBeInstanceOf(CommitUnknownError);
    expect(await stored()).toBe(1);
    expect(await driver.withConnection((executor) => executor.run(count))).toEqual([1]);
  });

  test('a connection lost before COMMIT is no unknown commit, and nothing is written', async () => {
    const failure = driver.withTransaction(async (tx) => {
      await tx.run(insert, { n: 1 });
      const [pid] = await tx.run(ownPid);
      await terminate(pid!);
      await tx.run(insert, { n: 2 });
    });
    const error: unknown = await failure.catch((reason: unknown) => reason);
    expect(error).not.toBeInstanceOf(CommitUnknownError);
    expect(isConnectionError(error) || (error as { code?: string }).code === '57P01').toBe(true);
    expect(await stored()).toBe(0);
    // The broken connection is not given out again.
    expect(await driver.withConnection((executor) => executor.run(count))).toEqual([0]);
  });

  test.each([true, false])('the callback goes on after its connection was lost, and succeeds: %s', async (succeeds) => {
    let finished: () => void = () => {};
    const callback = new Promise<void>((resolve) => (finished = resolve));
    const failure = driver.withTransaction(async (tx) => {
      const [pid] = await tx.run(ownPid);
      await terminate(pid!);
      await waitFor('the server is rid of it', () =>
        withClient(async (client) => (await client.query('select 1 from pg_stat_activity where pid = $1', [pid])).rowCount === 0),
      );
      if (!succeeds) await tx.run(insert, { n: 1 }).catch(() => {});
      setImmediate(finished);
      if (!succeeds) throw new Error('given up');
    });
    const error: unknown = await failure.then(() => 'committed', (reason: unknown) => reason);
    await callback;
    expect(error).toBeInstanceOf(Error);
    expect(await stored()).toBe(0);
    expect(await driver.withConnection((executor) => executor.run(count))).toEqual([0]);
  });

  test('a statement that kills its own connection fails as what it is', async () => {
    const error: unknown = await driver.withConnection((executor) => executor.run(kill)).catch((reason: unknown) => reason);
    expect(isConnectionError(error) || (error as { code?: string }).code === '57P01').toBe(true);
    expect(await driver.withConnection((executor) => executor.run(count))).toEqual([0]);
  });

  test('an error of the COMMIT itself is known to have written nothing', async () => {
    const failure = driver.withTransaction(async (tx) => {
      await tx.run(insert, { n: 7 });
      await tx.runLast(insert, { n: 7 });
    });
    await expect(failure).rejects.toMatchObject({ code: '23505' });
    expect(await stored()).toBe(0);
  });

  test('C-09 idle connections that the server ends do no harm', async () => {
    const pids = await Promise.all([1, 2].map(() => driver.withConnection((executor) => executor.run(ownPid))));
    for (const [pid] of pids) await terminate(pid!);
    await waitFor(
      'the next call works',
      () => driver.withConnection((executor) => executor.run(count)).catch(() => []),
      (rows) => rows.length === 1,
    );
  });

  test('a server that cannot be reached is a failure of the connection', async () => {
    const unreachable = open('postgres://postgres@127.0.0.1:1/postgres?connect_timeout=2');
    const error: unknown = await unreachable.driver.withTransaction((tx) => tx.run(count)).catch((reason: unknown) => reason);
    expect(isConnectionError(error)).toBe(true);
    await unreachable.close();
  });

  test('P:T-15 C-15 a changed table costs one failure, whatever the number of connections that prepared', async () => {
    const table = `"${schema}".changing`;
    await withClient((client) => client.query(`create table ${table} (a int)`));
    const read = compile(sql`select a from ${sql.raw(table)}`, ([a]) => a);
    // On both connections.
    await Promise.all([1, 2].map(() => driver.withTransaction(async (tx) => [await tx.run(read), await tx.run(ownPid)])));
    await withClient((client) => client.query(`alter table ${table} alter a type text`));
    const attempts = [];
    for (let n = 0; n < 6; n++) {
      attempts.push(await driver.withTransaction((tx) => tx.run(read)).then(() => 'ok', (error: { code?: string }) => error.code));
    }
    expect(attempts.filter((outcome) => outcome === '0A000').length).toBeLessThanOrEqual(1);
    expect(attempts.slice(1)).toEqual(Array(5).fill('ok'));
    await withClient((client) => client.query(`drop table ${table}`));
  });
});

describe('node-postgres', () => {
  test('a client that somebody released in the middle of a transaction is not used', async () => {
    const { driver, pool, close } = openPg(databaseUrl(), { max: 1 });
    const client = await pool.connect();
    await client.query('begin');
    await client.query(`insert into "${schema}".numbers values (99)`);
    client.release();
    await driver.withTransaction((tx) => tx.run(insert, { n: 1 }));
    // Our COMMIT has not committed theirs.
    expect(await stored()).toBe(1);
    await close();
  });

  test('a client on which even ROLLBACK is impossible does not go back to its pool', async () => {
    const { driver, pool, close } = openPg(databaseUrl(), { max: 1, query_timeout: 200 });
    await expect(driver.withTransaction((tx) => tx.run(slow))).rejects.toThrow('timeout');
    expect(await driver.withConnection((executor) => executor.run(count))).toEqual([0]);
    expect(pool.totalCount).toBe(1);
    await close();
  });

  test('a full pool is a failure of the connection', async () => {
    const { driver, pool, close } = openPg(databaseUrl(), { max: 1 });
    const client = await pool.connect();
    // Set only now, because connecting may take its time on a busy machine.
    pool.options.connectionTimeoutMillis = 50;
    const error: unknown = await driver.withConnection((executor) => executor.run(count)).catch((reason: unknown) => reason);
    expect(isConnectionError(error)).toBe(true);
    client.release();
    await close();
  });

  test('a pool that was ended, and a closed driver, are failures of the connection', async () => {
    const ended = openPg(databaseUrl());
    await ended.pool.end();
    const closed = openPg(databaseUrl());
    await closed.close();
    for (const { driver } of [ended, closed]) {
      const error: unknown = await driver.withConnection((executor) => executor.run(count)).catch((reason: unknown) => reason);
      expect(isConnectionError(error)).toBe(true);
    }
  });

  test('C-09 an idle error without any listener of the application is reported, not thrown', async () => {
    const logger = new RecordingLogger();
    const { driver, pool, close } = openPg(databaseUrl(), { max: 1 }, { logger });
    const [pid] = await driver.withConnection((executor) => executor.run(ownPid));
    await terminate(pid!);
    await waitFor('the pool noticed', () => logger.at('warn'), (lines) => lines.length > 0);
    expect(pool.totalCount).toBe(0);
    await close();
    expect(pool.listenerCount('error')).toBe(0);
  });

  test('C-09 a connection that the server ends while its pool is being closed does not end the process', async () => {
    const logger = new RecordingLogger();
    const { driver, pool } = openPg(databaseUrl(), { max: 1 }, { logger, ownsClient: true });
    const made: pg.PoolClient[] = [];
    pool.once('connect', (client: pg.PoolClient) => made.push(client));
    const [pid] = await driver.withConnection((executor) => executor.run(ownPid));
    const { stream } = (made[0] as unknown as { connection: { stream: { pause(): void; resume(): void } } }).connection;
    const unheard: unknown[] = [];
    const emit = pool.emit.bind(pool) as (event: string, ...args: unknown[]) => boolean;
    pool.emit = (event: string, ...args: unknown[]): boolean => {
      // Without a listener this would throw where nobody can catch it.
      if (event === 'error' && pool.listenerCount('error') === 0) return unheard.push(args[0]) > 0;
      return emit(event, ...args);
    };
    // What the server says of the end arrives when the pool has ended already.
    stream.pause();
    await terminate(pid!);
    const gone = new Promise<void>((resolve) => made[0]?.once('end', () => resolve()));
    await driver.close();
    stream.resume();
    await gone;
    expect({ unheard, warnings: logger.at('warn') }).toEqual({ unheard: [], warnings: [] });
  });

  test('two drivers on one pool do not get into the way of each other', async () => {
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
    const [first, second] = [driverFor(drizzlePg(pool)), driverFor(drizzlePg(pool))];
    for (const driver of [first, second, first]) {
      expect(await driver.withTransaction((tx) => tx.run(count))).toEqual([0]);
    }
    await first.close();
    expect(await second.withTransaction((tx) => tx.run(count))).toEqual([0]);
    await second.close();
    await pool.end();
  });

  test('names that the server does not keep are given up, with one warning', async () => {
    const logger = new RecordingLogger();
    const { driver, close } = openPg(databaseUrl(), { max: 1 }, { logger });
    const deallocate = () => driver.withConnection((executor) => executor.script('deallocate all'));
    const run = () => driver.withConnection((executor) => executor.run(count));
    await run();
    await deallocate();
    await expect(run()).rejects.toMatchObject({ code: '26000' });
    expect(await run()).toEqual([0]);
    await deallocate();
    expect(await run()).toEqual([0]);
    expect(logger.at('warn')).toHaveLength(1);
    await close();
  });

  test('statements are prepared by name, once per connection; or not at all', async () => {
    const prepared = compile(sql`select name from pg_prepared_statements where name like 'ddz\\_%' order by name`, ([name]) => textCell(name));
    const named = openPg(databaseUrl(), { max: 1 });
    const names = await named.driver.withTransaction(async (tx) => {
      await tx.run(count);
      await tx.run(count);
      return tx.run(prepared);
    });
    expect(names).toEqual([count.name, prepared.name, 'ddz_begin', 'ddz_settings'].sort());
    await named.close();
    const unnamed = openPg(databaseUrl(), { max: 1 }, { namedStatements: false });
    expect(await unnamed.driver.withConnection((executor) => executor.run(prepared))).toEqual([]);
    await unnamed.close();
  });

  test('after a failure in the middle of a batch its later statements can still be prepared', async () => {
    const { driver, close } = openPg(databaseUrl(), { max: 1 });
    const divide = compile(sql`select 1 / ${sql.placeholder('by')}::int`, ([n]) => integerCell(n));
    const later = compile(sql`select 'later' || count(*) from ${numbers}`, ([text]) => textCell(text));
    const both = (by: number) => driver.withTransaction((tx) => Promise.all([tx.run(divide, { by }), tx.runLast(later)]));
    await expect(both(0)).rejects.toMatchObject({ code: '22012' });
    expect(await both(1)).toEqual([[1], ['later0']]);
    expect(await both(1)).toEqual([[1], ['later0']]);
    await close();
  });

  test('a single client is refused with advice, and taken when nobody else uses it', async () => {
    const client = new pg.Client({ connectionString: databaseUrl() });
    await client.connect();
    const db = drizzlePg(client);
    expect(() => driverFor(db)).toThrow(UnsupportedError);
    expect(() => driverFor(db)).toThrow(/pg\.Pool/);
    const driver = driverFor(db, { exclusive: true, logger: silentLogger });
    expect(driver.canOpenSecondConnection).toBe(false);
    const inserts = [1, 2, 3].map((n) => driver.withTransaction((tx) => tx.run(insert, { n })));
    await Promise.all(inserts);
    expect(await stored()).toBe(3);
    expect('release' in client).toBe(false);
    await client.end();
    const error: unknown = await driver.withConnection((executor) => executor.run(count)).catch((reason: unknown) => reason);
    expect(isConnectionError(error)).toBe(true);
  });

  test('unknown databases are refused with advice', () => {
    for (const db of [{}, { $client: {} }, { $client: () => {} }]) expect(() => driverFor(db)).toThrow(UnsupportedError);
  });
});

test("C-22 postgres-js: transform.row goes on changing the application's rows, and never ours", async () => {
  const from = (row: object) => ({ changed: { ...row } });
  const client = postgres(databaseUrl(), { max: 2, transform: { row: { from } } });
  // Two, as of two copies of the package on one client.
  const drivers = [driverFor(drizzlePostgresJs(client)), driverFor(drizzlePostgresJs(client))];
  const two = compile(sql`select n from (values ('a'), ('b')) v (n)`, ([text]) => textCell(text));
  const none = compile(sql`select 'x' where false`, ([text]) => textCell(text));
  for (const driver of drivers) {
    const [ours, , theirs, inTransaction] = await Promise.all([
      driver.withConnection((executor) => executor.run(two)),
      driver.withConnection((executor) => executor.run(none)),
      client`select 1 as one`,
      driver.withTransaction((tx) => tx.run(two)),
    ]);
    expect([ours, inTransaction]).toEqual([['a', 'b'], ['a', 'b']]);
    expect([...theirs]).toEqual([{ changed: { one: 1 } }]);
    await client.begin(async (tx) => {
      expect(await driver.scopeOf({ session: { client: tx } })?.run(two)).toEqual(['a', 'b']);
      expect([...(await tx`select 2 as two`.raw())]).toEqual([{ changed: { 0: Buffer.from('2') } }]);
    });
  }
  await client.end();
});

test('C-09 a connection that ends in the moment in which it is handed out does not end the process', async () => {
  const { driver, pool, close } = openPg(databaseUrl(), { max: 1 });
  let told: Promise<boolean> | undefined;
  pool.once('acquire', (client: pg.PoolClient) => {
    // The pool listens no more, and nobody else yet: without a listener `emit` throws.
    told = Promise.resolve().then(() => client.emit('error', new Error('terminating connection')));
  });
  await driver.withConnection((executor) => executor.run(compile(sql`select 1`, noRow)));
  expect(await told).toBe(true);
  await close();
});

test('P:3.4.3 only a claim may be committed without waiting for the disk', async () => {
  const setting = compile(sql`select current_setting('synchronous_commit')`, ([text]) => textCell(text));
  const { driver, close } = openPg(databaseUrl());
  expect(await driver.withTransaction((tx) => tx.run(setting), { mayBeLost: true })).toEqual(['off']);
  expect(await driver.withTransaction((tx) => tx.run(setting))).toEqual(['on']);
  expect(await driver.withConnection((executor) => executor.run(setting))).toEqual(['on']);
  await close();
});

test('C-40 transactions are READ COMMITTED whatever the default', async () => {
  const level = compile(sql`select current_setting('transaction_isolation')`, ([text]) => textCell(text));
  const url = new URL(databaseUrl());
  url.searchParams.set('options', '-c default_transaction_isolation=serializable');
  const { driver, close } = openPg(url.href);
  expect(await driver.withTransaction((tx) => tx.run(level))).toEqual(['read committed']);
  expect(await driver.withConnection((executor) => executor.run(level))).toEqual(['serializable']);
  await close();
});

/** Making a PGlite takes a second or two, and many more on a machine that is busy. */
const SLOW_MS = 180_000;

describe('a call that would wait for itself', () => {
  const waitsForItself = /waits for itself: use within\(tx\)/;

  test('C-10 is refused on a pool of one, and does not keep the connection afterwards', async () => {
    const { driver, pool, close } = openPg(databaseUrl(), { max: 1 }, { acquireTimeoutMs: 50 });
    await drizzlePg(pool).transaction(async () => {
      await expect(driver.withTransaction((tx) => tx.run(insert, { n: 1 }))).rejects.toThrow(waitsForItself);
      await expect(driver.withConnection((executor) => executor.run(count))).rejects.toThrow(waitsForItself);
    });
    expect(await driver.withConnection((executor) => executor.run(count))).toEqual([0]);
    await close();
  });

  test('C-10 is refused on PGlite, and has no effect afterwards', async () => {
    const client = await PGlite.create();
    const driver = driverFor(drizzlePglite(client), { acquireTimeoutMs: 50, logger: silentLogger });
    await client.exec('create table numbers (n bigint)');
    const insertHere = compile(sql`insert into numbers values (1)`, noRow);
    const countHere = compile(sql`select count(*) from numbers`, ([n]) => integerCell(n));
    await client.transaction(async () => {
      await expect(driver.withTransaction((tx) => tx.run(insertHere))).rejects.toThrow(waitsForItself);
      await expect(driver.withConnection((executor) => executor.run(countHere))).rejects.toThrow(waitsForItself);
    });
    expect(await driver.withConnection((executor) => executor.run(countHere))).toEqual([0]);
    // A statement alone cannot be taken back: it is carried out when the transaction is over.
    const late = client.transaction(() => driver.runAlone!(insertHere).catch((reason: unknown) => reason));
    expect(await late).toBeInstanceOf(CommitUnknownError);
    expect(await driver.withConnection((executor) => executor.run(countHere))).toEqual([1]);
    await client.close();
  }, SLOW_MS);
});
