import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { sql } from 'drizzle-orm';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { silentLogger } from '../../../../src/base/logger.js';
import { driverFor, type DriverOptions } from '../../../../src/provider/drizzle/drivers/index.js';
import type { Driver } from '../../../../src/provider/drizzle/executor.js';
import { type Cell, compile } from '../../../../src/provider/drizzle/statement.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../../../support/database.js';

const cells = (row: readonly Cell[]) => [...row];
const schema = uniqueSchema('drv');
const table = sql.raw(`"${schema}".numbers`);

const insert = compile(sql`insert into ${table} (n) values (${sql.placeholder('n')}) returning n`, cells);
const selectAll = compile(sql`select n from ${table} order by n`, cells);
const clear = compile(sql`delete from ${table}`, cells);
const divide = compile(sql`select 1 / ${sql.placeholder('by')}::int`, cells);
const fails = compile(sql`select * from ${table} where n = 1 / 0`, cells);

interface Opened {
  readonly driver: Driver;
  close(): Promise<void>;
}

/** A pool whose type parsers answer nonsense, as an application may set them. */
async function openPg(options: pg.PoolConfig = {}, driverOptions: DriverOptions = {}): Promise<Opened> {
  const types = { getTypeParser: () => () => 'parsed by the application' };
  const pool = new pg.Pool({ connectionString: databaseUrl(), types, max: 3, ...options });
  const driver = driverFor(drizzlePg(pool), { logger: silentLogger, ...driverOptions });
  return {
    driver,
    close: async () => {
      await driver.close();
      await pool.end();
    },
  };
}

async function openPglite(): Promise<Opened> {
  const client = new PGlite({ parsers: { 20: () => 'parsed by the application', 25: () => 'parsed by the application' } });
  const driver = driverFor(drizzlePglite(client), { ownsClient: true, logger: silentLogger });
  return { driver, close: () => driver.close() };
}

/** With everything an application can set that changes values. */
async function openPostgresJs(options: object = {}, driverOptions: DriverOptions = {}): Promise<Opened> {
  const nonsense = { to: 20, from: [20, 23, 25], serialize: String, parse: () => 'parsed by the application' };
  const client = postgres(databaseUrl(), {
    max: 3,
    types: { nonsense },
    transform: { ...postgres.camel, value: { from: () => 'transformed' }, row: { from: () => 'transformed' } },
    onnotice: () => {},
    ...options,
  });
  const driver = driverFor(drizzlePostgresJs(client), { ownsClient: true, logger: silentLogger, ...driverOptions });
  return { driver, close: () => driver.close() };
}

/** A database whose client we do not know; node-postgres stands behind it. */
async function openGeneric(): Promise<Opened> {
  const pool = new pg.Pool({ connectionString: databaseUrl(), max: 3 });
  const db = drizzlePg(pool);
  Object.defineProperty(db, '$client', { value: {} });
  const driver = driverFor(db, { logger: silentLogger });
  return { driver, close: () => pool.end() };
}

const drivers: readonly [string, () => Promise<Opened>][] = [
  ['node-postgres', () => openPg()],
  ['node-postgres, pool of one', () => openPg({ max: 1 })],
  ['node-postgres, clients in pipeline mode', () => openPg({ pipeline: true })],
  ['node-postgres, binary results', () => openPg({ binary: true } as pg.PoolConfig)],
  ['pglite', openPglite],
  ['postgres-js', () => openPostgresJs()],
  ['postgres-js, pool of one', () => openPostgresJs({ max: 1 })],
  ['postgres-js without named statements', () => openPostgresJs({}, { namedStatements: false })],
  ['node-postgres without named statements', () => openPg({}, { namedStatements: false })],
  ["Drizzle's own transactions", openGeneric],
];

describe.each(drivers)('driver over %s', (title, open) => {
  let opened: Opened;
  let driver: Driver;

  beforeAll(async () => {
    opened = await open();
    ({ driver } = opened);
    await driver.withTransaction((tx) => tx.script(`create schema "${schema}"; create table "${schema}".numbers (n bigint)`));
  });
  test('is the driver of its kind', () => {
    expect(title.startsWith(driver.kind === 'drizzle' ? 'Drizzle' : driver.kind)).toBe(true);
  });

  afterAll(async () => {
    await driver.withConnection((executor) => executor.script(`drop schema "${schema}" cascade`));
    await opened.close();
    await dropSchema(schema);
  });

  const numbers = () => driver.withConnection((executor) => executor.run(selectAll));

  test('P:T-30 cells are text whatever parsers the application set', async () => {
    const all = compile(
      sql`select true, 42::int8, 1.5::float8, 'a'::text, '2026-01-02 03:04:05.006Z'::timestamptz at time zone 'UTC', null::int4, 5::int4`,
      cells,
    );
    const [row] = await driver.withConnection((executor) => executor.run(all));
    expect(row).toEqual(['t', '42', '1.5', 'a', '2026-01-02 03:04:05.006', null, '5']);
  });

  test('parameters arrive as they are, arrays with quotes, nulls and backslashes included', async () => {
    const echo = compile(
      sql`select ${sql.placeholder('text')}::text, ${sql.placeholder('list')}::text[], ${sql.placeholder('ids')}::int8[], ${sql.placeholder('flags')}::bool[], ${sql.placeholder('n')}::int8, ${sql.placeholder('yes')}::bool`,
      cells,
    );
    const odd = ['', 'NULL', null, 'a"b', 'c\\d', '{x,y}', 'ü😀', ' ', "o'brien"];
    const back = compile(sql`select x from unnest(${sql.placeholder('list')}::text[]) with ordinality as u(x, i) order by i`, cells);
    await driver.withConnection(async (executor) => {
      const values = { text: '{not an array}', list: odd, ids: [1, 2 ** 53 - 1, null], flags: [true, false], n: -5, yes: true };
      const [row] = await executor.run(echo, values);
      expect(row?.[0]).toBe('{not an array}');
      expect(row?.slice(4)).toEqual(['-5', 't']);
      // What has parsed an array may write its elements with quotes.
      expect(row?.[2]?.replaceAll('"', '')).toBe('{1,9007199254740991,NULL}');
      expect(row?.[3]).toBe('{t,f}');
      expect((await executor.run(back, { list: odd })).flat()).toEqual(odd);
    });
  });

  test('a transaction commits what its callback did, and its last statement may carry the commit', async () => {
    await driver.withTransaction(async (tx) => {
      await tx.run(clear);
      const rows = await Promise.all([tx.run(insert, { n: 1 }), tx.run(insert, { n: 2 })]);
      expect(rows).toEqual([[['1']], [['2']]]);
      expect(await tx.runLast(insert, { n: 3 })).toEqual([['3']]);
    });
    expect(await numbers()).toEqual([['1'], ['2'], ['3']]);
  });

  test('a rejected callback rolls back, and its own error comes out', async () => {
    await driver.withTransaction((tx) => tx.runLast(clear));
    const reason = new Error('changed my mind');
    await expect(
      driver.withTransaction(async (tx) => {
        await tx.run(insert, { n: 1 });
        throw reason;
      }),
    ).rejects.toBe(reason);
    expect(await numbers()).toEqual([]);
  });

  test('the first error of a transaction is kept, not the ones that follow from it', async () => {
    const failure = driver.withTransaction(async (tx) => {
      await Promise.allSettled([tx.run(insert, { n: 1 }), tx.run(fails)]);
      await tx.run(insert, { n: 2 });
    });
    await expect(failure).rejects.toMatchObject({ code: '22012' });
    expect(await numbers()).toEqual([]);
  });

  test('an error that the callback swallows still fails the transaction', async () => {
    const failure = driver.withTransaction(async (tx) => {
      await tx.run(insert, { n: 1 });
      await tx.run(divide, { by: 0 }).catch(() => undefined);
    });
    await expect(failure).rejects.toMatchObject({ code: '22012' });
    expect(await numbers()).toEqual([]);
  });

  test('a failing last statement takes the whole transaction with it', async () => {
    const failure = driver.withTransaction(async (tx) => {
      await tx.run(insert, { n: 1 });
      await tx.runLast(divide, { by: 0 });
    });
    await expect(failure).rejects.toMatchObject({ code: '22012' });
    expect(await numbers()).toEqual([]);
  });

  test('statements after the end of a transaction are refused', async () => {
    let escaped: Promise<unknown> | undefined;
    await driver.withTransaction(async (tx) => {
      await tx.runLast(clear);
      escaped = tx.run(insert, { n: 9 });
      escaped.catch(() => undefined);
    });
    await expect(escaped).rejects.toThrow('over');
    expect(await numbers()).toEqual([]);
  });

  test('many concurrent transactions finish', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        driver.withTransaction(async (tx) => {
          await tx.run(insert, { n });
          await tx.run(selectAll);
        }),
      ),
    );
    expect(await numbers()).toHaveLength(20);
    await driver.withTransaction((tx) => tx.runLast(clear));
  });

  test('scripts run in the transaction, in order', async () => {
    await driver.withTransaction(async (tx) => {
      await tx.run(insert, { n: 1 });
      await tx.script(`insert into "${schema}".numbers values (2); insert into "${schema}".numbers values (3)`);
      await tx.run(insert, { n: 4 });
    });
    expect((await numbers()).flat()).toEqual(['1', '2', '3', '4']);
    const failure = driver.withTransaction(async (tx) => {
      await tx.run(clear);
      await tx.script('select 1; select 1 / 0');
    });
    await expect(failure).rejects.toMatchObject({ code: '22012' });
    expect(await numbers()).toHaveLength(4);
    await driver.withTransaction((tx) => tx.runLast(clear));
  });
});
