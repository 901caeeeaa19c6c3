import type { Logger } from '../../../base/logger.js';
import { type DrizzleDatabase, driverFor } from '../drivers/index.js';
import type { Driver } from '../executor.js';
import { requireSafeSearchPath } from '../search-path.js';
import { handOverToNative as handOver, type HandOverOptions } from './hand-over.js';
import { type MigrateOptions, type MigrationReport, migrateSchema } from './migrate.js';
import { inspectSchema as inspectOn, type InspectOptions, type SchemaStatus } from './schema-status.js';

/** How the database is to be used, beside what is asked of it. */
export interface DatabaseOptions {
  /** A single `pg.Client` is given that nobody else uses. @defaultValue `false` */
  readonly exclusive?: boolean | undefined;
  readonly logger?: Logger | undefined;
}

/**
 * Creates or updates duroxide's tables in a schema, or adopts those of native duroxide;
 * and adds what is asked for: `adoptIndexes`, `adoptTables`, `notifyTriggers`,
 * `storedFunctions`. With `dryRun` it only says what it would do. The database stays open.
 * @param db a Drizzle database
 * @throws SchemaError when the schema cannot be used or the role may not migrate it; the message says what to do
 */
export function migrate(db: DrizzleDatabase, options: MigrateOptions & DatabaseOptions = {}): Promise<MigrationReport> {
  return onDatabase(db, options, (driver) => migrateSchema(driver, options));
}

/** Says what stands in a schema, and changes nothing. @param db a Drizzle database */
export function inspectSchema(
  db: DrizzleDatabase,
  { schema = 'public', ...options }: Partial<InspectOptions> & DatabaseOptions = {},
): Promise<SchemaStatus> {
  return onDatabase(db, options, (driver) => inspectOn(driver, { ...options, schema }));
}

/**
 * Gives a schema of this package to native duroxide, which can start on it afterwards.
 * Stop all workers before. From then on it is a schema of native's.
 * @param db a Drizzle database
 * @throws SchemaError when something is locked, or the schema is not ours
 */
export function handOverToNative(
  db: DrizzleDatabase,
  options: HandOverOptions & DatabaseOptions,
): Promise<MigrationReport> {
  return onDatabase(db, options, (driver) => handOver(driver, options));
}

async function onDatabase<T>(
  db: DrizzleDatabase,
  { exclusive, logger }: DatabaseOptions,
  use: (driver: Driver) => Promise<T>,
): Promise<T> {
  const driver = driverFor(db, { exclusive, logger });
  try {
    await requireSafeSearchPath(driver);
    return await use(driver);
  } finally {
    await driver.close();
  }
}
