import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { FakeClock } from '../../../src/base/clock.js';
import type { ProviderContext } from '../../../src/provider/drizzle/context.js';
import { createContext } from '../../../src/provider/drizzle/create-context.js';
import { driverFor } from '../../../src/provider/drizzle/drivers/index.js';
import { isDataFailure } from '../../../src/provider/drizzle/sql-states.js';
import { compile, integerCell, noRow } from '../../../src/provider/drizzle/statement.js';
import { inTransaction, readStatement, runStatement } from '../../../src/provider/drizzle/transaction.js';
import { ProviderError } from '../../../src/provider/provider-error.js';
import { CuttingProxy } from '../../support/cutting-proxy.js';
import { databaseUrl, dropSchema, isWaitedFor, uniqueSchema, withClient } from '../../support/database.js';
import { RecordingLogger, waitFor } from '../../support/waiting.js';

const schema = uniqueSchema('retry');
const numbers = sql.raw(`"${schema}".numbers`);
const insert = compile(sql`insert into ${numbers} (n, at) values (${sql.placeholder('n')}, ${sql.placeholder('at')})`, noRow);
const count = compile(sql`select count(*) from ${numbers}`, ([n]) => integerCell(n));
const raise = compile(sql`select "${sql.raw(schema)}".raise(${sql.placeholder('state')})`, noRow);

let pool: pg.Pool;
let ctx: ProviderContext;
const clock = new FakeClock();
const logger = new RecordingLogger();

beforeAll(async () => {
  await withClient(async (client) => {
    await client.query(`create schema "${schema}"`);
    await client.query(`create table "${schema}".numbers (n bigint primary key, at bigint not null)`);
    await client.query(
      `create function "${schema}".raise(state text) returns void language plpgsql as $$ begin raise exception 'secret value' using errcode = state; end $$`,
    );
  });
  pool = new pg.Pool({ connectionString: databaseUrl(), max: 4 });
  ctx = createContext(driverFor(drizzle(pool), { logger }), { schema, clock, logger, random: () => 0 });
});
afterAll(async () => {
  await ctx.driver.close();
  await pool.end();
  await dropSchema(schema);
});

async function errorOf(work: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await work.then(() => undefined, (reason: unknown) => reason);
  if (!ProviderError.is(error)) throw new Error(`expected a ProviderError, got ${String(error)}`);
  return error;
}

/** Fails so many attempts with this SQLSTATE. */
function failing(state: string, times: number, options: { withinMs?: number } = {}) {
  let attempts = 0;
  const moments: number[] = [];
  const work = inTransaction(
    ctx,
    'test_operation',
    async (tx, nowMs) => {
      attempts++;
      moments.push(nowMs);
      clock.advance(1_000);
      if (attempts <= times) await tx.run(raise, { state });
      return attempts;
    },
    options,
  );
  return { work, moments, attempts: () => attempts };
}

describe('retries', () => {
  test.each(['40001', '40P01', '55P03', '57014', '0A000', '53300', '58030', '57P03', '25006', '08006'])(
    'SQLSTATE %s is retryable, and the whole is done again with a new reading of the clock',
    async (state) => {
      const { work, moments } = failing(state, 2);
      expect(await work).toBe(3);
      expect(moments.map((ms) => ms - moments[0]!)).toEqual([0, 1_000, 2_000]);
    },
  );

  test('after five attempts it is given up', async () => {
    const { work, attempts } = failing('40001', 99);
    expect(await errorOf(work)).toMatchObject({ retryable: true, sqlState: '40001', operation: 'test_operation' });
    expect(attempts()).toBe(5);
  });

  test('no attempt begins beyond the remaining lock time', async () => {
    const { work, attempts } = failing('40001', 99, { withinMs: 1 });
    expect(await errorOf(work)).toMatchObject({ retryable: true });
    expect(attempts()).toBe(1);
  });

  test.each(['22012', '22P02', '23505', '54000', '42P01', 'P0001', '28P01', 'XX000'])(
    'SQLSTATE %s is permanent and tried once',
    async (state) => {
      const { work, attempts } = failing(state, 99);
      const error = await errorOf(work);
      expect(error).toMatchObject({ retryable: false, sqlState: state });
      expect(attempts()).toBe(1);
      expect(isDataFailure(error.sqlState)).toBe(/^(22|23|54)/.test(state));
    },
  );

  test('a real deadlock is retried, and both transactions succeed', async () => {
    await withClient((client) => client.query(`insert into "${schema}".numbers values (101, 0), (102, 0)`));
    const lock = compile(sql`update ${numbers} set at = at + 1 where n = ${sql.placeholder('n')}`, noRow);
    let arrived = 0;
    let bothHere: () => void = () => {};
    const both = new Promise<void>((resolve) => (bothHere = resolve));
    const cross = (first: number, second: number) =>
      inTransaction(ctx, 'cross', async (tx) => {
        await tx.run(lock, { n: first });
        if (++arrived === 2) bothHere();
        await both;
        await tx.run(lock, { n: second });
      });
    await Promise.all([cross(101, 102), cross(102, 101)]);
    expect(arrived).toBe(3);
    await withClient(async (client) => {
      const { rows } = await client.query(`delete from "${schema}".numbers returning at::int`);
      expect(rows).toEqual([{ at: 2 }, { at: 2 }]);
    });
  });

  test('a connection that is lost in the middle is replaced', async () => {
    const pid = compile(sql`select pg_backend_pid()`, ([cell]) => integerCell(cell));
    let attempts = 0;
    await inTransaction(ctx, 'test_operation', async (tx) => {
      const [own] = await tx.run(pid);
      if (++attempts === 1) await withClient((client) => client.query('select pg_terminate_backend($1)', [own]));
      await tx.run(insert, { n: 1, at: 0 });
    });
    expect(attempts).toBe(2);
    expect(await readStatement(ctx, 'count', count)).toEqual([1]);
    await withClient((client) => client.query(`delete from "${schema}".numbers`));
  });

  test('P:T-35 a commit whose answer is lost is not repeated, and its outcome is unknown', async () => {
    const proxy = await CuttingProxy.open(databaseUrl());
    const behind = new pg.Pool({ connectionString: proxy.url, max: 1 });
    const lossy = createContext(driverFor(drizzle(behind), { logger }), { schema, clock, logger });
    let attempts = 0;
    for (const work of [
      () => inTransaction(lossy, 'test_operation', (tx) => (attempts++, tx.run(insert, { n: 5, at: 0 }))),
      () => runStatement(lossy, 'test_operation', insert, () => (attempts++, { n: 6, at: 0 })),
    ]) {
      proxy.loseNextCommit();
      expect(await errorOf(work())).toMatchObject({ retryable: true, outcome: 'unknown' });
    }
    expect(attempts).toBe(2);
    expect(await readStatement(ctx, 'count', count)).toEqual([2]);
    await withClient((client) => client.query(`delete from "${schema}".numbers`));
    await lossy.driver.close();
    await behind.end();
    await proxy.close();
  });

  test('a writing statement gets the moment of its attempt', async () => {
    await runStatement(ctx, 'insert', insert, (nowMs) => ({ n: 1, at: nowMs }));
    await withClient(async (client) => {
      const { rows } = await client.query(`delete from "${schema}".numbers returning at`);
      expect(rows).toEqual([{ at: String(clock.nowMs()) }]);
    });
  });

  test('a statement waits for a lock and then sees what was committed meanwhile', async () => {
    await withClient(async (client) => {
      await client.query(`insert into "${schema}".numbers values (1, 0)`);
      await client.query('begin');
      await client.query(`update "${schema}".numbers set at = 41`);
      const bump = compile(sql`update ${numbers} set at = at + 1 returning at`, ([at]) => integerCell(at));
      const waiting = runStatement(ctx, 'bump', bump);
      await waitFor('it waits', () => isWaitedFor(client));
      await client.query('commit');
      expect(await waiting).toEqual([42]);
      await client.query(`delete from "${schema}".numbers`);
    });
  });
});

describe('messages', () => {
  test('no payload gets into a message: what the server quotes, what functions raise, what parsers say', async () => {
    const cast = compile(sql`select ${sql.placeholder('text')}::int`, noRow);
    const parse = compile(sql`select ${sql.placeholder('text')}::text`, ([text]) => JSON.parse(text ?? '') as unknown);
    const errors = await Promise.all([
      errorOf(readStatement(ctx, 'read', cast, { text: 'secret value' })),
      errorOf(readStatement(ctx, 'read', parse, { text: 'secret value' })),
      errorOf(failing('P0001', 9).work),
      errorOf(inTransaction(ctx, 'mine', async () => Promise.reject(new Error('secret value')))),
    ]);
    for (const error of errors) {
      expect(error.message).not.toContain('secret');
      expect(error.cause).toBeInstanceOf(Error);
    }
    expect(JSON.stringify(logger.lines)).not.toContain('secret');
  });

  test('objects are named: tables, columns, constraints', async () => {
    const missing = compile(sql`select * from "${sql.raw(schema)}".nowhere`, noRow);
    expect((await errorOf(readStatement(ctx, 'read', missing))).message).toContain('nowhere');
    await runStatement(ctx, 'insert', insert, { n: 1, at: 0 });
    const duplicate = await errorOf(runStatement(ctx, 'insert', insert, { n: 1, at: 0 }));
    expect(duplicate.message).toMatch(/^insert: Duplicate detected: .*numbers_pkey.*23505/);
    await withClient((client) => client.query(`delete from "${schema}".numbers`));
  });

  test("a provider's error goes through as it is", async () => {
    const mine = ProviderError.permanent('mine', 'Invalid lock token');
    expect(await errorOf(inTransaction(ctx, 'other', async () => Promise.reject(mine)))).toBe(mine);
  });
});
