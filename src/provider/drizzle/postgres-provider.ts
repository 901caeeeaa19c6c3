import { errorText } from '../../base/error-text.js';
import type { Ms } from '../provider.js';
import { ProviderError } from '../provider-error.js';
import { openPool, withRetriedConnect } from './connect.js';
import { DrizzleProvider, openByUrl } from './drizzle-provider.js';
import { serverErrorOf } from './drivers/connection-errors.js';
import { credentialErrorOf, entraPassword, type PostgresEntraOptions } from './entra.js';
import { openProvider, type ProviderParts } from './open-provider.js';
import type { ConnectOptions, DrizzleProviderOptions } from './options.js';
import type { DrizzleDatabase } from './drivers/index.js';

/** As long as native goes on trying to reach a server. */
const CONNECT_TIMEOUT_MS: Ms = 30_000;

/** Connecting failed; the message begins as native's does, and the reason is in `cause`. */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';

  constructor(
    /** `StringExpected` for an argument that is no string, otherwise `GenericFailure`. */
    readonly code: 'GenericFailure' | 'StringExpected',
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/**
 * {@link DrizzleProvider} by the name, the static methods and the messages of
 * duroxide-node's provider for PostgreSQL.
 */
export class PostgresProvider extends DrizzleProvider {
  /** Told apart by this in duroxide-node. */
  readonly _type = 'postgres';

  /**
   * On the schema `public`, which is created or migrated before it resolves. Goes on
   * trying for half a minute while the server cannot be reached.
   * @throws ConnectionFailedError
   */
  static override connect(databaseUrl: string, options: ConnectOptions = {}): Promise<PostgresProvider> {
    return this.speakingAsNative('Failed to connect to PostgreSQL', { databaseUrl }, () =>
      openByUrl(validUrl(databaseUrl), { connectTimeoutMs: CONNECT_TIMEOUT_MS, ...options }),
    );
  }

  /** As {@link connect}, on another schema. @throws ConnectionFailedError */
  static connectWithSchema(
    databaseUrl: string,
    schema: string,
    options: ConnectOptions = {},
  ): Promise<PostgresProvider> {
    return this.speakingAsNative('Failed to connect to PostgreSQL', { databaseUrl, schema }, () =>
      openByUrl(validUrl(databaseUrl), { connectTimeoutMs: CONNECT_TIMEOUT_MS, ...options, schema }),
    );
  }

  /** As {@link connect}, with a Microsoft Entra token for a password, over verified TLS. @throws ConnectionFailedError */
  static connectWithEntra(
    host: string,
    port: number,
    database: string,
    user: string,
    options: PostgresEntraOptions & ConnectOptions = {},
  ): Promise<PostgresProvider> {
    return this.speakingAsNative('Failed to connect with Entra', { host, database, user }, () =>
      openWithEntra({ host, port, database, user }, options),
    );
  }

  /** As {@link connectWithEntra}, on another schema. @throws ConnectionFailedError */
  static connectWithSchemaAndEntra(
    host: string,
    port: number,
    database: string,
    user: string,
    schema: string,
    options: PostgresEntraOptions & ConnectOptions = {},
  ): Promise<PostgresProvider> {
    return this.speakingAsNative('Failed to connect with schema and Entra', { host, database, user, schema }, () =>
      openWithEntra({ host, port, database, user }, { ...options, schema }),
    );
  }

  static override async fromDrizzle(
    db: DrizzleDatabase,
    options: DrizzleProviderOptions = {},
  ): Promise<PostgresProvider> {
    return new this(await openProvider(db, options));
  }

  static override async fromPool(pool: object, options: DrizzleProviderOptions = {}): Promise<PostgresProvider> {
    return new this(await openProvider({ $client: pool }, options));
  }

  private static async speakingAsNative(
    what: string,
    strings: Readonly<Record<string, unknown>>,
    open: () => Promise<ProviderParts>,
  ): Promise<PostgresProvider> {
    for (const [name, value] of Object.entries(strings)) {
      if (typeof value !== 'string') {
        throw new ConnectionFailedError('StringExpected', `${name} must be a string, got ${typeof value}`);
      }
    }
    try {
      return new this(await open());
    } catch (error) {
      throw new ConnectionFailedError('GenericFailure', `${what}: ${detailOf(error)}`, error);
    }
  }
}

interface EntraServer {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

function openWithEntra(
  server: EntraServer,
  options: PostgresEntraOptions & ConnectOptions,
): Promise<ProviderParts> {
  return withRetriedConnect(options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, async () => {
    const password = await entraPassword(options);
    // A token is worth as much as a password: it goes to nobody but the verified server.
    const pool = await openPool({ ...server, password, ssl: { rejectUnauthorized: true } }, options);
    return openProvider({ $client: pool }, { ownsClient: true, rotatesTokens: true, ...options });
  });
}

/** A URL that cannot be read, before anything is tried with it. */
function validUrl(databaseUrl: string): string {
  if (URL.canParse(databaseUrl) && /^postgres(ql)?:$/.test(new URL(databaseUrl).protocol)) return databaseUrl;
  throw new RangeError('error with configuration: the connection URL must begin with postgres:// or postgresql://');
}

/** @internal Why connecting failed, in native's words where there are some. */
export function detailOf(error: unknown): string {
  // The pool has waited in vain for a connection, but that is not why.
  const credential = credentialErrorOf(error);
  if (credential) return credential.message;
  const fromServer = serverErrorOf(error);
  if (fromServer) return `error returned from database: ${fromServer.message}`;
  if (ProviderError.is(error) && error.retryable) {
    const { code } = (error.cause ?? {}) as { code?: unknown };
    const isUnreachable = code === 'ECONNREFUSED' || code === undefined;
    return isUnreachable
      ? `pool timed out while waiting for an open connection (${error.reason})`
      : `error communicating with database: ${error.reason}`;
  }
  return errorText(error);
}
