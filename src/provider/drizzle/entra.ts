import { type HostClock, systemHostClock } from '../../base/clock.js';
import { UnsupportedError } from '../provider-error.js';
import type { Ms } from '../provider.js';

const DEFAULT_AUDIENCE = 'https://ossrdbms-aad.database.windows.net/.default';
const DEFAULT_REFRESH_MS: Ms = 300_000;
/** How long a renewal is shared by those that ask meanwhile. */
const RENEWAL_PATIENCE_MS: Ms = 30_000;
/** Longer runs of letters and digits than any identifier in a message: GUIDs have 36, names of hosts have dots. */
const SECRET = /[\w+/=~-]{40,}(?:\.[\w+/=~-]+)*/g;
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

/** The credential gave no token that could be a password. Never has a token in its text. */
export class EntraCredentialError extends Error {
  override readonly name = 'EntraCredentialError';

  constructor(reason: string) {
    super(`the Entra credential gave no token: ${reason}`);
  }
}

/** The credential's error in `error` or its causes. */
export function credentialErrorOf(error: unknown): EntraCredentialError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof EntraCredentialError) return at;
  return undefined;
}

/**
 * Gives the password for each new connection: the token, renewed in time, once for however
 * many connections ask together. While a renewal fails the token serves until its end.
 * @throws UnsupportedError without the package; the function throws an EntraCredentialError
 */
export async function entraPassword(
  options: PostgresEntraOptions,
  clock: HostClock = systemHostClock,
): Promise<() => Promise<string>> {
  const { audience = DEFAULT_AUDIENCE, refreshIntervalMs = DEFAULT_REFRESH_MS } = options;
  const credential = options.credential ?? (await defaultCredential());
  let current: AccessToken | undefined;
  let renewal: { readonly token: Promise<AccessToken>; readonly beganAtMs: Ms } | undefined;

  const renewed = (): Promise<AccessToken> => {
    const beganAtMs = clock.monotonicMs();
    // One that hangs does not keep later connections from asking anew.
    if (renewal && beganAtMs - renewal.beganAtMs < RENEWAL_PATIENCE_MS) return renewal.token;
    const token = askForToken(credential, audience);
    const own = (renewal = { token, beganAtMs });
    const settled = () => {
      if (renewal === own) renewal = undefined;
    };
    token.then((fresh) => (current = fresh)).then(settled, settled);
    return token;
  };

  return async () => {
    const held = current;
    if (held && held.expiresOnTimestamp - refreshIntervalMs > clock.nowMs()) return held.token;
    try {
      return (await renewed()).token;
    } catch (error) {
      if (held && held.expiresOnTimestamp > clock.nowMs()) return held.token;
      throw error;
    }
  };
}

async function askForToken(credential: TokenCredential, audience: string): Promise<AccessToken> {
  let given: Partial<AccessToken> | null;
  try {
    given = await credential.getToken(audience);
  } catch (error) {
    throw new EntraCredentialError(withoutTokens(error));
  }
  const { token, expiresOnTimestamp } = given ?? {};
  if (typeof token !== 'string' || token === '') {
    throw new EntraCredentialError(`expected { token, expiresOnTimestamp }, got ${given ? 'one without a token' : 'nothing'}`);
  }
  // Without an end that can be told it serves for this connection alone.
  return { token, expiresOnTimestamp: Number.isFinite(expiresOnTimestamp) ? (expiresOnTimestamp as Ms) : 0 };
}

/** What a credential says of its failure, without what could be a token, a secret or an assertion in it. */
function withoutTokens(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return `${error.name}: ${error.message.replace(SECRET, '[redacted]')}`;
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
