import { PGlite } from '@electric-sql/pglite';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { integer, PgSchema, text } from 'drizzle-orm/pg-core';
import { sql } from 'drizzle-orm';
import pg from 'pg';
import postgres from 'postgres';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { DrizzleProviderOptions } from '../../src/provider/drizzle/options.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import type { TransactionOf } from '../../src/typed/transactional.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';

/** A Drizzle database of any driver, with what the tests use of it. */
export type Database = PgDatabase<PgQueryResultHKT> & { readonly $client: unknown };
export type Tx = TransactionOf<Database>;

/** A database of an application, with duroxide's tables and one of its own in the same schema. */
export interface Opened {
  readonly db: Database;
  readonly provider: DrizzleProvider;
  readonly schema: string;
  readonly payments: ReturnType<typeof paymentsIn>;
  /** Another provider on the same database. */
  another(options?: DrizzleProviderOptions): Promise<DrizzleProvider>;
  paid(): Promise<string[]>;
  close(): Promise<void>;
}

export interface Kind {
  readonly name: string;
  /** Connections of the pool; `null` where there is no pool. */
  readonly connect: (max: number) => Promise<{ readonly db: Database; readonly end: () => Promise<unknown> }>;
  readonly isServer: boolean;
}

export const nodePostgres: Kind = {
  name: 'node-postgres',
  isServer: true,
  connect: async (max) => {
    const pool = new pg.Pool({ connectionString: databaseUrl(), max });
    pool.on('error', () => {});
    return { db: drizzlePg(pool), end: () => pool.end() };
  },
};

export const postgresJs: Kind = {
  name: 'postgres-js',
  isServer: true,
  connect: async (max) => {
    const client = postgres(databaseUrl(), { max, onnotice: () => {} });
    return { db: drizzlePostgresJs(client), end: () => client.end({ timeout: 1 }) };
  },
};

/** A driver that we know nothing of: everything goes through Drizzle. */
export const generic: Kind = {
  name: "Drizzle's own transactions",
  isServer: true,
  connect: async (max) => {
    const pool = new pg.Pool({ connectionString: databaseUrl(), max });
    pool.on('error', () => {});
    return { db: Object.defineProperty(drizzlePg(pool), '$client', { value: {} }), end: () => pool.end() };
  },
};

let sharedPglite: Promise<PGlite> | undefined;

/** For the end of a file that opened a {@link pglite}. */
export async function closePglite(): Promise<void> {
  await (await sharedPglite)?.close();
}

export const pglite: Kind = {
  name: 'pglite',
  isServer: false,
  connect: async () => {
    // Making one takes seconds on a busy machine: one for all tests of a file, with a schema for each.
    sharedPglite ??= PGlite.create();
    return { db: drizzlePglite(await sharedPglite), end: async () => {} };
  },
};

export const KINDS: readonly Kind[] = [nodePostgres, postgresJs, generic, pglite];

export interface OpenOptions extends DrizzleProviderOptions {
  readonly max?: number | undefined;
  readonly storedFunctions?: boolean | undefined;
}

export async function openDatabase(kind: Kind, options: OpenOptions = {}): Promise<Opened> {
  const { max = 6, storedFunctions = false, ...providerOptions } = options;
  const { db, end } = await kind.connect(max);
  const schema = uniqueSchema('txn');
  const open = (of: DrizzleProviderOptions = {}) => {
    const Provider = storedFunctions ? StoredFunctionProvider : DrizzleProvider;
    return Provider.fromDrizzle(db, { schema, logger: silentLogger, ...providerOptions, ...of });
  };
  if (storedFunctions) {
    const migrating = await DrizzleProvider.fromDrizzle(db, { schema, logger: silentLogger, notifications: false });
    await migrating.migrate({ storedFunctions: true });
    await migrating.close();
  }
  const provider = await open();
  const payments = paymentsIn(schema);
  await db.execute(sql`create table ${payments} (order_id text not null, cents integer not null)`);
  return {
    db,
    provider,
    schema,
    payments,
    another: open,
    paid: async () => (await db.select().from(payments)).map(({ orderId }) => orderId).sort(),
    close: async () => {
      await provider.close();
      await end();
      if (kind.isServer) await dropSchema(schema);
    },
  };
}

function paymentsIn(schema: string) {
  return new PgSchema(schema).table('payments', {
    orderId: text('order_id').notNull(),
    cents: integer('cents').notNull(),
  });
}
