import pg from 'pg';
import { driverFor } from '../../../src/provider/drizzle/drivers/index.js';
import { migrateSchema } from '../../../src/provider/drizzle/migrate/index.js';
import { StoredFunctionProvider } from '../../../src/provider/stored-function/index.js';
import type { ConnectProvider } from './postgres.js';

/** A provider over our functions, which are installed first. */
export const connectWithOurFunctions: ConnectProvider = async (url, options) => {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const driver = driverFor({ $client: pool });
  await migrateSchema(driver, { schema: options.schema, storedFunctions: true });
  await driver.close();
  await pool.end();
  return StoredFunctionProvider.connect(url, options);
};
