import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { driverFor } from '../../../../src/provider/drizzle/drivers/index.js';
import type { Driver } from '../../../../src/provider/drizzle/executor.js';
import { databaseUrl } from '../../../support/database.js';

/** Runs `use` with a driver of its own; `url` may name another role. */
export async function withDriver<T>(
  use: (driver: Driver, pool: pg.Pool) => Promise<T>,
  url = databaseUrl(),
  max = 4,
): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max });
  try {
    return await use(driverFor(drizzle(pool)), pool);
  } finally {
    await pool.end();
  }
}
