import { describe, expect, test } from '@jest/globals';
import { and, eq, isNull, lte, sql } from 'drizzle-orm';
import { bigserial, boolean, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import { driverFor } from '../../src/provider/drizzle/drivers/index.js';
import { migrateSchema } from '../../src/provider/drizzle/migrate/migrate.js';
import { ScopeEndedError } from '../../src/provider/drizzle/executor.js';
import { type Cell, compile } from '../../src/provider/drizzle/statement.js';
import { defineSchema } from '../../src/schema/tables.js';
import { createTestDatabase } from '../../src/testing/index.js';

const orders = pgTable('orders', {
  id: bigserial('id', { mode: 'number' }).primaryKey(),
  customer: text('customer').notNull().unique(),
  paid: boolean('paid').notNull().default(false),
  details: jsonb('details'),
  at: timestamp('at', { withTimezone: true }),
});

async function openOrders() {
  const db = await createTestDatabase();
  await db.execute(sql`create table "orders" (
    "id" bigserial primary key not null, "customer" text not null unique,
    "paid" boolean default false not null, "details" jsonb, "at" timestamp with time zone)`);
  return db;
}

async function openTables() {
  const db = await createTestDatabase();
  const driver = driverFor(db);
  await migrateSchema(driver, { schema: 'work' });
  return { db, driver, tables: defineSchema('work') };
}

/** An error of a query as an application sees it: SQLSTATE of the driver's error behind Drizzle's. */
async function codeOf(query: Promise<unknown>): Promise<unknown> {
  const error = await query.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return (error as { cause?: { code?: unknown } } | undefined)?.cause?.code;
}

const cells = (row: readonly Cell[]) => row;

describe('an application on pg-mem', () => {
  test('reads what it wrote, with the types of node-postgres', async () => {
    const db = await openOrders();
    const at = new Date('2026-02-03T04:05:06.070Z');
    const details = { lines: [{ sku: "it's", count: 2 }], note: null };
    await db.insert(orders).values({ customer: 'Ada "λ" 🦆', details, at });
    expect(await db.select().from(orders)).toEqual([{ id: 1, customer: 'Ada "λ" 🦆', paid: false, details, at }]);
    // Outside of Drizzle a bigint is a string and a moment a Date, but pg-mem knows only one size of integer.
    const { rows } = await db.$client.query('select "at", "paid" from "orders" where "id" = $1', [1]);
    expect(rows).toEqual([{ at, paid: false }]);
  });

  test('keeps two columns of one name apart', async () => {
    const db = await openOrders();
    await db.insert(orders).values([{ customer: 'a' }, { customer: 'b', paid: true }]);
    const { rows } = await db.$client.query({
      text: 'select x."customer", y."customer" from "orders" x join "orders" y on y."id" = x."id" + 1',
      rowMode: 'array',
    });
    expect(rows).toEqual([['a', 'b']]);
  });

  test('rolls back a transaction, and a savepoint without the rest of it', async () => {
    const db = await openOrders();
    await expect(
      db.transaction(async (tx) => {
        await tx.insert(orders).values({ customer: 'gone' });
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await db.transaction(async (tx) => {
      await tx.insert(orders).values({ customer: 'stays' });
      await tx
        .transaction(async (inner) => {
          await inner.insert(orders).values({ customer: 'inner' });
          inner.rollback();
        })
        .catch(() => undefined);
    });
    expect((await db.select().from(orders)).map(({ customer }) => customer)).toEqual(['stays']);
  });

  test('a failed statement leaves nothing behind and aborts its transaction', async () => {
    const db = await openOrders();
    await db.insert(orders).values({ customer: 'taken' });
    const codes: unknown[] = [];
    const outcome = db.transaction(async (tx) => {
      await tx.insert(orders).values({ customer: 'first' });
      codes.push(await codeOf(tx.insert(orders).values([{ customer: 'second' }, { customer: 'taken' }])));
      codes.push(await codeOf(tx.select().from(orders).then()));
    });
    await outcome;
    expect(codes).toEqual(['23505', '25P02']);
    expect(await db.$count(orders)).toBe(1);
  });

  test('transactions and single statements take turns', async () => {
    const db = await openOrders();
    const order: string[] = [];
    await Promise.all([
      db
        .transaction(async (tx) => {
          await tx.insert(orders).values({ customer: 'in a transaction' });
          order.push(`inside: ${await tx.$count(orders)}`);
          throw new Error('roll back');
        })
        .catch(() => undefined),
      db
        .insert(orders)
        .values({ customer: 'alone' })
        .then(() => order.push('alone')),
    ]);
    expect(order).toEqual(['inside: 1', 'alone']);
    expect((await db.select().from(orders)).map(({ customer }) => customer)).toEqual(['alone']);
  });

  test('refuses NUL in text, and replaces unpaired surrogates as any driver does', async () => {
    const db = await openOrders();
    expect(await codeOf(db.insert(orders).values({ customer: 'a\u0000b' }).then())).toBe('22021');
    await db.insert(orders).values({ customer: 'a\ud800b' });
    expect((await db.select().from(orders))[0]?.customer).toBe('a\ufffdb');
  });

  test('ON CONFLICT DO NOTHING returns only rows that were inserted', async () => {
    const db = await openOrders();
    const insert = () =>
      db
        .insert(orders)
        .values([{ customer: 'a' }, { customer: 'b' }])
        .onConflictDoNothing({ target: orders.customer })
        .returning({ customer: orders.customer });
    await db.insert(orders).values({ customer: 'a' });
    expect(await insert()).toEqual([{ customer: 'b' }]);
    expect(await insert()).toEqual([]);
  });

  test('a WITH may end with a writing statement', async () => {
    const db = await openOrders();
    await db.insert(orders).values([{ customer: 'a' }, { customer: 'b' }]);
    const chosen = db.$with('chosen').as(db.select({ id: orders.id }).from(orders).where(eq(orders.customer, 'b')));
    const updated = await db
      .with(chosen)
      .update(orders)
      .set({ paid: true })
      .where(sql`${orders.id} in (select "id" from ${chosen})`)
      .returning({ customer: orders.customer });
    expect(updated).toEqual([{ customer: 'b' }]);
  });

  test('after the end of the pool everybody is refused', async () => {
    const db = await openOrders();
    const client = await db.$client.connect();
    const waiting = db.$client.query('select 1');
    await db.$client.end();
    client.release();
    await expect(waiting).rejects.toThrow('Cannot use a pool after calling end on the pool');
    await expect(db.$client.connect()).rejects.toThrow('Cannot use a pool after calling end on the pool');
  });

  test('a transaction that changed the schema cannot be rolled back, and the next statement says so', async () => {
    const db = await openOrders();
    const failing = db.transaction(async (tx) => {
      await tx.execute(sql`create table "more" ("id" text primary key)`);
      throw new Error('the first error');
    });
    await expect(failing).rejects.toThrow('the first error');
    await expect(db.$client.query('select 1')).rejects.toThrow(
      'could not roll back a transaction that changed the schema',
    );
  });
});

describe('the SQL of the provider on pg-mem (provider.md 3.4.9)', () => {
  test('migrations run for any schema, and find nothing to do the second time', async () => {
    const db = await createTestDatabase();
    const driver = driverFor(db);
    const first = await migrateSchema(driver, { schema: 'first' });
    expect(first.status).toMatchObject({ origin: 'ours', pendingMigrations: [], missingIndexes: [] });
    expect((await migrateSchema(driver, { schema: 'public' })).status.origin).toBe('ours');
    expect((await migrateSchema(driver, { schema: 'first' })).applied).toEqual([]);
  });

  test('unnest of parallel arrays, also of empty ones, with quotes and backslashes in the values', async () => {
    const { driver, tables } = await openTables();
    const insert = compile(
      sql`insert into ${tables.orchestratorQueue} ("instance_id", "work_item", "visible_at", "created_at")
        select u.i, u.w, u.v, ${sql.placeholder('now')}::timestamptz
        from unnest(${sql.placeholder('ids')}::text[], ${sql.placeholder('items')}::text[],
          ${sql.placeholder('at')}::timestamptz[]) as u(i, w, v)
        returning "id"::text, "instance_id", "visible_at"`,
      cells,
    );
    const now = '2026-01-01T00:00:00.120Z';
    const values = { now, ids: ["it's", 'b\\'], items: ['{}', '{"a":"$1"}'], at: [now, '2026-01-01T00:00:01.000Z'] };
    await driver.withTransaction(async (tx) => {
      expect(await tx.run(insert, values)).toEqual([
        ['1', "it's", '2026-01-01 00:00:00.12+00'],
        ['2', 'b\\', '2026-01-01 00:00:01+00'],
      ]);
      expect(await tx.run(insert, { now, ids: [], items: [], at: [] })).toEqual([]);
    });
  });

  test('= ANY and <> ALL of an array, also of an empty one', async () => {
    const { db, driver, tables } = await openTables();
    const lock = { lockToken: 't', lockedUntil: 1, lockedAt: 1 };
    await db.insert(tables.instanceLocks).values(['a', 'b', 'c'].map((instanceId) => ({ instanceId, ...lock })));
    const list = (operator: 'any' | 'all') => {
      const comparison = operator === 'any' ? sql.raw('= any') : sql.raw('<> all');
      return compile(
        sql`select "instance_id" from ${tables.instanceLocks}
          where "instance_id" ${comparison}(${sql.placeholder('ids')}::text[]) order by "instance_id" collate "C"`,
        ([id]) => id,
      );
    };
    const run = (operator: 'any' | 'all', ids: string[]) =>
      driver.withConnection((executor) => executor.run(list(operator), { ids }));
    expect(await run('any', ['c', 'a', 'x'])).toEqual(['a', 'c']);
    expect(await run('any', [])).toEqual([]);
    expect(await run('all', ['c', 'a', 'x'])).toEqual(['b']);
    expect(await run('all', [])).toEqual(['a', 'b', 'c']);
  });

  test('locking clauses and advisory locks always succeed', async () => {
    const { db, driver, tables } = await openTables();
    const at = new Date(0);
    await db.insert(tables.orchestratorQueue).values({ instanceId: 'a', workItem: '{}', visibleAt: at, createdAt: at });
    const rows = await db
      .select({ id: tables.orchestratorQueue.id })
      .from(tables.orchestratorQueue)
      .where(and(isNull(tables.orchestratorQueue.lockToken), lte(tables.orchestratorQueue.visibleAt, new Date(1))))
      .for('update', { skipLocked: true });
    expect(rows).toEqual([{ id: 1 }]);
    const lock = compile(
      sql`select q."instance_id" from ${tables.orchestratorQueue} q
        where pg_try_advisory_xact_lock(hashtext(q."instance_id")) for update of q skip locked`,
      ([id]) => id,
    );
    expect(await driver.withTransaction((tx) => tx.run(lock))).toEqual(['a']);
  });

  test('a transaction has one id, and the next one another (provider.md 3.4.7)', async () => {
    const { driver } = await openTables();
    const id = compile(sql`select pg_current_xact_id()::text`, ([cell]) => cell);
    const [first, second] = await driver.withTransaction(async (tx) => [await tx.run(id), await tx.run(id)]);
    expect(first).toEqual(second);
    expect(await driver.withTransaction((tx) => tx.run(id))).not.toEqual(first);
  });

  test('a scope knows the end of its transaction', async () => {
    const { db, driver, tables } = await openTables();
    const one = compile(sql`select count(*) from ${tables.instances}`, ([cell]) => cell);
    let scope: ReturnType<typeof driver.scopeOf>;
    await db.transaction(async (tx) => {
      scope = driver.scopeOf(tx);
      expect(await scope?.run(one)).toEqual(['0']);
    });
    await expect(scope?.run(one)).rejects.toBeInstanceOf(ScopeEndedError);
    expect(driver.scopeOf(db)).toBeUndefined();
  });

  test('notifications arrive after the commit, and not after a rollback', async () => {
    const { driver } = await openTables();
    const heard: string[] = [];
    const subscription = driver.listen?.('ddz_x', {
      onNotification: (payload) => heard.push(payload),
      onConnected: () => heard.push('connected'),
      onLost: () => undefined,
    });
    const notify = compile(sql`select pg_notify(${sql.placeholder('channel')}, ${sql.placeholder('payload')})`, cells);
    const send = (channel: string, payload: string, fail = false) =>
      driver.withTransaction(async (tx) => {
        await tx.run(notify, { channel, payload });
        heard.push(`sent ${payload}`);
        if (fail) throw new Error('roll back');
      });
    await send('ddz_x', 'o');
    await send('other', 'p');
    await send('ddz_x', 'w', true).catch(() => undefined);
    await subscription?.close();
    await send('ddz_x', 'late');
    expect(heard).toEqual(['connected', 'sent o', 'o', 'sent p', 'sent w', 'sent late']);
  });

  test('the last statement commits with its rows, and rolls back with its error', async () => {
    const { db, driver, tables } = await openTables();
    const insert = compile(
      sql`insert into ${tables.instanceLocks} ("instance_id", "lock_token", "locked_until", "locked_at")
        values (${sql.placeholder('id')}, 't', 1, 1) returning "instance_id"`,
      ([id]) => id,
    );
    expect(await driver.withTransaction((tx) => tx.runLast(insert, { id: 'a' }))).toEqual(['a']);
    const repeated = driver.withTransaction(async (tx) => {
      await tx.run(insert, { id: 'b' });
      return tx.runLast(insert, { id: 'a' });
    });
    await expect(repeated).rejects.toMatchObject({ code: '23505' });
    expect(await db.select({ id: tables.instanceLocks.instanceId }).from(tables.instanceLocks)).toEqual([{ id: 'a' }]);
  });
});
