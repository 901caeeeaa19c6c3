import { silentLogger } from '../base/logger.js';
import { Client } from '../client/client.js';
import { withCodec } from '../provider/codec/codec-provider.js';
import type { PayloadCodec } from '../provider/codec/payload-codec.js';
import type { ProviderAdmin } from '../provider/admin.js';
import type { Provider } from '../provider/provider.js';
import { connectToPostgres, embeddedDatabase } from '../provider/drizzle/connect.js';
import type { DrizzleDatabase } from '../provider/drizzle/drivers/index.js';
import { driverFor } from '../provider/drizzle/drivers/index.js';
import { DrizzleProvider } from '../provider/drizzle/drizzle-provider.js';
import type { Driver } from '../provider/drizzle/executor.js';
import { inspectSchema, type SchemaStatus } from '../provider/drizzle/migrate/index.js';
import type { GlobalOptions } from './context.js';
import { CliError, ExitCode } from './exit-codes.js';
import { requireDirectory, type Target, targetText } from './target.js';

/** Few connections: the database belongs to its workers. */
const CONNECTIONS = 2;
const CONNECT_TIMEOUT_MS = 10_000;

/** A database that is open, whatever stands in it. */
export interface OpenDatabase {
  readonly db: DrizzleDatabase;
  /** Drives the database; `close` closes it. */
  readonly driver: Driver;
  readonly close: () => Promise<void>;
}

/** The store of a schema that is ready for use. */
export interface Store {
  readonly provider: Provider;
  readonly client: Client;
  readonly admin: ProviderAdmin;
  readonly status: SchemaStatus;
  readonly schema: string;
  readonly database: OpenDatabase;
}

/**
 * Connects, and looks at nothing yet.
 * @param creates whether a missing PGlite directory may be made
 */
export async function openDatabase(target: Target, creates = false): Promise<OpenDatabase> {
  if (target.kind === 'pglite') {
    if (!creates) requireDirectory(target);
    const { db, release } = await embeddedDatabase(target.directory);
    const driver = driverFor(db, { ownsClient: true, logger: silentLogger });
    return { db, driver, close: () => driver.close().finally(release) };
  }
  const pool = await connectToPostgres(target.url, {
    maxConnections: CONNECTIONS,
    acquireTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  const db = { $client: pool };
  const driver = driverFor(db, { ownsClient: true, logger: silentLogger });
  return { db, driver, close: () => driver.close() };
}

/**
 * Opens a store without creating anything in it.
 * @param codec what its workers encode payloads with: they are read and written as theirs
 * @throws CliError when there are no tables; SchemaError when they cannot be used as they are
 */
export async function openStore(
  target: Target,
  { schema, allowNewer }: GlobalOptions,
  codec?: PayloadCodec,
): Promise<Store> {
  const database = await openDatabase(target);
  try {
    const status = await inspectSchema(database.driver, { schema, allowNewer });
    if (status.refusal) throw status.refusal;
    if (status.origin === 'absent') throw noTables(target, schema);
    const stored = await DrizzleProvider.fromDrizzle(database.db, {
      schema,
      allowNewer,
      migrate: false,
      notifications: true,
      logger: silentLogger,
    });
    // Whether native shares the schema was decided by the workers that encode in it.
    const provider = codec ? withCodec(stored, codec, { force: true, logger: silentLogger }) : stored;
    return {
      provider,
      client: new Client(provider),
      admin: provider.asManagement(),
      status,
      schema,
      database: { ...database, close: () => provider.close().finally(database.close) },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function noTables(target: Target, schema: string): CliError {
  return new CliError(
    ExitCode.schema,
    `schema "${schema}" of ${targetText(target)} has no tables of duroxide`,
    `give another --schema, start a worker, or run: npx duroxide-drizzle migrate --schema ${schema}`,
  );
}
