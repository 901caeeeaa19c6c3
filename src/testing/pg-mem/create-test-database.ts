import type { DrizzleConfig } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { DriverOptions } from '../../provider/drizzle/drivers/index.js';
import { DRIVER_OF_CLIENT } from '../../provider/drizzle/executor.js';
import { PgMemDriver } from './driver.js';
import { PgMemPool } from './pool.js';
import { PgMemServer } from './server.js';

/** A Drizzle database on pg-mem; `$client` is its pool. */
export type TestDatabase<TSchema extends Record<string, unknown> = Record<string, never>> = NodePgDatabase<TSchema> & {
  readonly $client: PgMemPool;
};

/**
 * A fresh, empty database in memory for unit tests, where neither WebAssembly nor a
 * server is wanted: Drizzle over pg-mem (packages `pg-mem` and `pg`). It has one
 * connection and no concurrency; for anything about locks use PGlite or PostgreSQL.
 * `config` is Drizzle's, for instance with a relational `schema`.
 */
export async function createTestDatabase<TSchema extends Record<string, unknown> = Record<string, never>>(
  config: DrizzleConfig<TSchema> = {},
): Promise<TestDatabase<TSchema>> {
  // Loaded here: the rest of the test kit works without these packages.
  const [{ newDb }, { drizzle }, { default: pg }] = await Promise.all([
    import('pg-mem'),
    import('drizzle-orm/node-postgres'),
    import('pg'),
  ]);
  const server = new PgMemServer(newDb({ noErrorDiagnostic: true, noAstCoverageCheck: true }));
  const pool = new PgMemPool(server, pg.types);
  Object.defineProperty(pool, DRIVER_OF_CLIENT, {
    value: ({ ownsClient }: DriverOptions) => new PgMemDriver(pool, ownsClient),
  });
  return drizzle(pool as never, config);
}
