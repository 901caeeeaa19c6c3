import { systemHostClock } from '../../base/clock.js';
import { UnsupportedError } from '../provider-error.js';
import type { Ms } from '../provider.js';

const DEFAULT_AUDIENCE = 'https://ossrdbms-aad.database.windows.net/.default';
const DEFAULT_REFRESH_MS: Ms = 300_000;
const IDENTITY_PACKAGE = '@azure/identity';

interface AccessToken {
  readonly token: string;
  readonly expiresOnTimestamp: Ms;
}

/** What gives tokens; any credential of `@azure/identity` is one. */
export interface TokenCredential {
  getToken(audience: string): Promise<AccessToken | null>;
}

/** How to log in with a Microsoft Entra token; every field may be left out. */
export interface PostgresEntraOptions {
  /** @defaultValue `https://ossrdbms-aad.database.windows.net/.default` */
  readonly audience?: string | undefined;
  /** @defaultValue the environment's `DUROXIDE_PG_POOL_MAX`, else `10` */
  readonly maxConnections?: number | undefined;
  /** How long an operation waits for a connection, in ms. @defaultValue `30_000` */
  readonly acquireTimeoutMs?: number | undefined;
  /** How long before its end a token is renewed, in ms. @defaultValue `300_000` */
  readonly refreshIntervalMs?: number | undefined;
  /**
   * Where tokens come from.
   * @defaultValue workload identity, managed identity, developer tools, in this order;
   *   needs the package `@azure/identity`
   */
  readonly credential?: TokenCredential | undefined;
}

/** Gives the password for each new connection: the token, renewed in time. @throws UnsupportedError */
export async function entraPassword(options: PostgresEntraOptions): Promise<() => Promise<string>> {
  const { audience = DEFAULT_AUDIENCE, refreshIntervalMs = DEFAULT_REFRESH_MS } = options;
  const credential = options.credential ?? (await defaultCredential());
  let current: AccessToken | undefined;
  return async () => {
    if (!current || current.expiresOnTimestamp - refreshIntervalMs <= systemHostClock.nowMs()) {
      const token = await credential.getToken(audience);
      if (!token) throw new Error('the credential gave no token');
      current = token;
    }
    return current.token;
  };
}

interface IdentityPackage {
  readonly ChainedTokenCredential: new (...credentials: TokenCredential[]) => TokenCredential;
  readonly WorkloadIdentityCredential: new () => TokenCredential;
  readonly ManagedIdentityCredential: new () => TokenCredential;
  readonly AzureCliCredential: new () => TokenCredential;
  readonly AzureDeveloperCliCredential: new () => TokenCredential;
}

async function defaultCredential(): Promise<TokenCredential> {
  let identity: IdentityPackage;
  try {
    // By a variable: the package is an optional peer, and compilers and bundlers look for literals.
    identity = (await import(IDENTITY_PACKAGE)) as IdentityPackage;
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new UnsupportedError(
      `the package ${IDENTITY_PACKAGE} is needed for this: npm install ${IDENTITY_PACKAGE}, or pass a credential`,
      { cause },
    );
  }
  const kinds = [
    identity.WorkloadIdentityCredential,
    identity.ManagedIdentityCredential,
    identity.AzureCliCredential,
    identity.AzureDeveloperCliCredential,
  ];
  // Some cannot even be made without their environment: workload identity, for one.
  const usable = kinds.flatMap((Kind) => {
    try {
      return [new Kind()];
    } catch {
      return [];
    }
  });
  return new identity.ChainedTokenCredential(...usable);
}

/** Whether it is the package that was not found, and not something that it wanted to load. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const notFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return notFound && typeof message === 'string' && message.includes(`'${IDENTITY_PACKAGE}'`);
}
