import { consoleLogger, type Logger } from '../../../base/logger.js';
import { UnsupportedError } from '../../provider-error.js';
import { type Driver, DRIVER_OF_CLIENT } from '../executor.js';
import { DEFAULT_ACQUIRE_TIMEOUT_MS } from './acquire.js';
import { DEFAULT_ANSWER_TIMEOUT_MS } from './answer-watch.js';
import { GenericDriver, isDrizzle } from './generic.js';
import { isPgClient, isPgPool, takesBatches } from './node-postgres-client.js';
import { exclusivePool } from './node-postgres-exclusive.js';
import { NodePostgresDriver } from './node-postgres.js';
import { isPglite, PgliteDriver } from './pglite.js';
import { isPostgresJs, PostgresJsDriver } from './postgres-js.js';
import { typeName } from '../../../base/type-name.js';

export interface DriverOptions {
  /**
   * Prepare statements by name, once per connection. `false` behind a pooler in
   * transaction mode that does not keep them.
   * @defaultValue `true`
   */
  readonly namedStatements?: boolean | undefined;
  /** A single `pg.Client` is given that nobody else uses. @defaultValue `false` */
  readonly exclusive?: boolean | undefined;
  /**
   * How long to wait for a connection, in ms; the pool's own limit may be shorter.
   * @defaultValue `30_000`
   */
  readonly acquireTimeoutMs?: number | undefined;
  /**
   * How long a statement may go unanswered before the server is asked, on a connection of
   * its own, whether it still works at it, in ms; 0: never. Over node-postgres.
   * @defaultValue `30_000`
   */
  readonly answerTimeoutMs?: number | undefined;
  /** Whether closing the provider closes the client behind the database. @defaultValue `false` */
  readonly ownsClient?: boolean | undefined;
  /** Whether the password is a token that is replaced from time to time. @defaultValue `false` */
  readonly rotatesTokens?: boolean | undefined;
  readonly logger?: Logger | undefined;
}

/** A Drizzle database; only the driver's client behind it and its transactions matter to us. */
export interface DrizzleDatabase {
  readonly $client?: unknown;
}

/**
 * The driver for a Drizzle database, chosen by the shape of its client. No driver
 * package is imported: all are optional peers, and the application has the one it uses.
 * @throws UnsupportedError with advice
 */
export function driverFor(db: DrizzleDatabase, options: DriverOptions = {}): Driver {
  if ((typeof db !== 'object' && typeof db !== 'function') || (db as unknown) === null) {
    throw new UnsupportedError(`expected a Drizzle database for PostgreSQL, got ${typeName(db)}`);
  }
  const client = db.$client;
  const { namedStatements = true, exclusive = false, ownsClient = false, logger = consoleLogger, rotatesTokens } = options;
  const { acquireTimeoutMs = DEFAULT_ACQUIRE_TIMEOUT_MS, answerTimeoutMs = DEFAULT_ANSWER_TIMEOUT_MS } = options;
  const nodePostgres = { namedStatements, acquireTimeoutMs, answerTimeoutMs, logger, ownsPool: ownsClient, rotatesTokens };
  if (bringsDriver(client)) return client[DRIVER_OF_CLIENT](options);
  if (isPgPool(client) && takesBatches(client.Client)) return new NodePostgresDriver(client, nodePostgres);
  if (isPglite(client)) return new PgliteDriver(client, { ownsClient, acquireTimeoutMs });
  if (isPostgresJs(client)) return new PostgresJsDriver(client, { namedStatements, ownsClient });
  if (isPgClient(client) && takesBatches(client.constructor)) {
    if (exclusive) return new NodePostgresDriver(exclusivePool(client), { ...nodePostgres, isExclusive: true });
    throw new UnsupportedError(
      'a single pg.Client cannot be shared: a transaction of ours would swallow other statements on it. ' +
        'Hand in a pg.Pool, or set exclusive: true for a client that nothing else uses',
    );
  }
  if (isDrizzle(db)) return new GenericDriver(db, { ownsClient });
  throw new UnsupportedError(
    'unknown kind of database: expected a Drizzle database for PostgreSQL, such as one over a pg.Pool, postgres-js or PGlite',
  );
}

function bringsDriver(client: unknown): client is { [DRIVER_OF_CLIENT](options: DriverOptions): Driver } {
  return typeof client === 'object' && client !== null && DRIVER_OF_CLIENT in client;
}
