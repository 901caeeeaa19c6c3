import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { sql } from 'drizzle-orm';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { silentLogger } from '../../../src/base/logger.js';
import type { ProviderContext } from '../../../src/provider/drizzle/context.js';
import { createContext } from '../../../src/provider/drizzle/create-context.js';
import { driverFor } from '../../../src/provider/drizzle/drivers/index.js';
import { CallerTransaction, isInScope } from '../../../src/provider/drizzle/scope.js';
import { compile, textCell } from '../../../src/provider/drizzle/statement.js';
import { TransactionEndedError, UnsupportedError } from '../../../src/provider/provider-error.js';
import { createTestDatabase } from '../../../src/testing/index.js';
import { databaseUrl, uniqueSchema } from '../../support/database.js';

type Database = PgDatabase<PgQueryResultHKT> & { $client: unknown };
type Tx = Parameters<Parameters<Database['transaction']>[0]>[0];

const schema = uniqueSchema('scope');
const names = sql.raw(`"${schema}".names`);
const insert = compile(
  sql`insert into ${names} (name) select ${sql.placeholder('name')}::text where ${isInScope} returning name`,
  ([name]) => textCell(name),
);
const all = compile(sql`select name from ${names} order by name`, ([name]) => textCell(name));

async function insertName(scope: CallerTransaction, name: string): Promise<void> {
  const rows = await scope.run('insert', insert, { name });
  if (rows.length === 0) await scope.requireOpen('insert');
}

interface Opened {
  readonly db: Database;
  readonly close: () => Promise<void>;
}

const kinds: readonly [string, () => Promise<Opened>][] = [
  [
    'node-postgres',
    async () => {
      const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2 });
      return { db: drizzlePg(pool), close: () => pool.end() };
    },
  ],
  [
    'node-postgres in pipeline mode',
    async () => {
      const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2, pipeline: true });
      return { db: drizzlePg(pool), close: () => pool.end() };
    },
  ],
  [
    'postgres-js',
    async () => {
      const client = postgres(databaseUrl(), { max: 2, onnotice: () => {} });
      return { db: drizzlePostgresJs(client), close: () => client.end({ timeout: 1 }) };
    },
  ],
  [
    "Drizzle's own transactions",
    async () => {
      const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2 });
      return { db: Object.defineProperty(drizzlePg(pool), '$client', { value: {} }), close: () => pool.end() };
    },
  ],
  [
    'pglite',
    async () => {
      const client = new PGlite();
      return { db: drizzlePglite(client), close: () => client.close() };
    },
  ],
  [
    'pg-mem',
    async () => {
      const db = await createTestDatabase();
      return { db, close: () => db.$client.end() };
    },
  ],
];

describe.each(kinds)('scope over %s', (_, open) => {
  let db: Database;
  let ctx: ProviderContext;
  let close: () => Promise<void>;

  beforeAll(async () => {
    ({ db, close } = await open());
    ctx = createContext(driverFor(db, { logger: silentLogger }), { logger: silentLogger });
    await ctx.driver.withConnection(async (executor) => {
      await executor.script(`create schema "${schema}"`);
      await executor.script(`create table "${schema}".names (name text)`);
    });
  });
  afterEach(() => ctx.driver.withConnection((executor) => executor.script(`delete from "${schema}".names`)));
  afterAll(async () => {
    await ctx.driver.withConnection((executor) => executor.script(`drop schema "${schema}" cascade`)).catch(() => {});
    await close();
  });

  const stored = () => ctx.driver.withConnection((executor) => executor.run(all));

  test("P:XR-1 writes with the caller's transaction, and vanishes with its rollback", async () => {
    await db.transaction((tx) => insertName(CallerTransaction.of(ctx, tx), 'kept'));
    const failure = db.transaction(async (tx) => {
      await insertName(CallerTransaction.of(ctx, tx), 'gone');
      throw new Error('rolled back');
    });
    await expect(failure).rejects.toThrow('rolled back');
    expect(await stored()).toEqual(['kept']);
  });

  test('C-11 a statement that nobody awaited is undone by the rollback', async () => {
    let forgotten: Promise<void> | undefined;
    const failure = db.transaction(async (tx) => {
      forgotten = insertName(CallerTransaction.of(ctx, tx), 'forgotten');
      forgotten.catch(() => {});
      throw new Error('rolled back');
    });
    await expect(failure).rejects.toThrow('rolled back');
    await forgotten?.catch(() => {});
    expect(await stored()).toEqual([]);
  });

  test('C-11 a scope is refused after the end of its transaction, and nothing is written', async () => {
    let escaped: CallerTransaction | undefined;
    let escapedTx: Tx | undefined;
    await db.transaction(async (tx) => {
      escapedTx = tx;
      escaped = CallerTransaction.of(ctx, tx);
      await insertName(escaped, 'inside');
    });
    await expect(insertName(escaped!, 'outside')).rejects.toBeInstanceOf(TransactionEndedError);
    // Opened only after the end.
    await expect(insertName(CallerTransaction.of(ctx, escapedTx), 'outside')).rejects.toBeInstanceOf(
      TransactionEndedError,
    );
    expect(await stored()).toEqual(['inside']);
  });

  test('a scope opened before the end but first used after it is refused', async () => {
    const scope = await db.transaction(async (tx) => CallerTransaction.of(ctx, tx));
    await expect(insertName(scope, 'outside')).rejects.toBeInstanceOf(TransactionEndedError);
    expect(await stored()).toEqual([]);
  });

  test('several scopes of one transaction stay valid side by side', async () => {
    await db.transaction(async (tx) => {
      const [first, second] = [CallerTransaction.of(ctx, tx), CallerTransaction.of(ctx, tx)];
      await insertName(second, 'b');
      await insertName(first, 'a');
    });
    expect(await stored()).toEqual(['a', 'b']);
  });

  // pg-mem has no savepoints of its own: a rollback there is one of everything.
  (_ === 'pg-mem' ? test.skip : test)('a scope of a savepoint ends with it; the outer one goes on', async () => {
    await db.transaction(async (tx) => {
      const outer = CallerTransaction.of(ctx, tx);
      await insertName(outer, 'before');
      const inner = tx.transaction(async (nested) => {
        await insertName(CallerTransaction.of(ctx, nested), 'nested');
        throw new Error('rolled back to the savepoint');
      });
      await expect(inner).rejects.toThrow('savepoint');
      await tx.transaction((nested) => insertName(CallerTransaction.of(ctx, nested), 'released'));
      await insertName(outer, 'after');
    });
    expect(await stored()).toEqual(['after', 'before', 'released']);
  });

  test('refuses what is no transaction of the driver', () => {
    for (const tx of [undefined, null, {}, db, { session: {} }]) {
      expect(() => CallerTransaction.of(ctx, tx)).toThrow(UnsupportedError);
    }
  });
});

test.each([false, true])("C-11 node-postgres, pipeline mode %s: a statement never lands in a stranger's transaction", async (pipeline) => {
  const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1, pipeline });
  const db = drizzlePg(pool);
  const ctx = createContext(driverFor(db, { logger: silentLogger }), { logger: silentLogger });
  await ctx.driver.withConnection((executor) =>
    executor.script(`create schema "${schema}"; create table "${schema}".names (name text)`),
  );
  try {
    const scope = await db.transaction(async (tx) => CallerTransaction.of(ctx, tx));
    await db.transaction(async () => {
      await expect(insertName(scope, 'stray')).rejects.toBeInstanceOf(TransactionEndedError);
    });
    expect(await ctx.driver.withConnection((executor) => executor.run(all))).toEqual([]);
  } finally {
    await ctx.driver.withConnection((executor) => executor.script(`drop schema "${schema}" cascade`));
    await pool.end();
  }
});
