import type { Clock } from '../base/clock.js';
import { SystemClock } from '../base/clock.js';
import { guardedLogger, consoleLogger, type Logger } from '../base/logger.js';
import type { Provider } from '../provider/provider.js';
import type { DashboardAssets } from './assets.js';
import type { Access } from './views.js';

/** Shorter tokens can be guessed. */
const MIN_TOKEN_LENGTH = 16;

export interface DashboardOptions {
  /** The store to look into. It is not closed by the dashboard. */
  readonly provider: Provider;
  /** Where it is mounted, e.g. `/ops`; begins with a slash and does not end with one. @defaultValue `''` */
  readonly basePath?: string | undefined;
  /** Nobody may raise, cancel, retry or delete. @defaultValue `false` */
  readonly readOnly?: boolean | undefined;
  /** What a viewer has to present: as bearer token, on the login page, or once as `?token=`. At least 16 characters. */
  readonly token?: string | undefined;
  /** Decides per request instead of a token, e.g. by your own session. `read` may look, `write` may act. */
  readonly access?: ((request: Request) => Access | Promise<Access>) | undefined;
  /**
   * Host names under which the dashboard answers besides `localhost` and IP addresses; others
   * are refused, since a foreign page may give itself our address (DNS rebinding). `'any'`
   * leaves the check to the server around it.
   */
  readonly allowedHosts?: readonly string[] | 'any' | undefined;
  /** Gets failures, without payloads. @defaultValue warnings and errors on stderr */
  readonly logger?: Logger | undefined;
  /** Spaces the looks of open pages. @internal */
  readonly clock?: Clock | undefined;
  /** The built front end. @defaultValue the one of the package @internal */
  readonly assets?: DashboardAssets | undefined;
}

/** The options with their defaults. @internal */
export interface ResolvedOptions {
  readonly provider: Provider;
  readonly basePath: string;
  readonly readOnly: boolean;
  readonly token: string | undefined;
  readonly access: ((request: Request) => Access | Promise<Access>) | undefined;
  readonly allowedHosts: ReadonlySet<string> | 'any';
  readonly logger: Logger;
  readonly clock: Clock;
  readonly assets: DashboardAssets | undefined;
}

/** @throws RangeError that names the option */
export function resolveDashboardOptions(options: DashboardOptions): ResolvedOptions {
  const { provider, basePath = '', token, access, allowedHosts = [] } = options;
  if (typeof (provider as Partial<Provider> | undefined)?.asManagement !== 'function') {
    throw new RangeError('dashboard: option provider must be a provider, e.g. of DrizzleProvider.connect(…)');
  }
  if (!/^(\/[\w.~-]+)*$/.test(basePath)) {
    throw new RangeError(
      `dashboard: option basePath must be '' or a path such as '/ops/workflows', got '${String(basePath)}'`,
    );
  }
  if (token !== undefined && (typeof token !== 'string' || token.length < MIN_TOKEN_LENGTH)) {
    throw new RangeError(`dashboard: option token must have at least ${MIN_TOKEN_LENGTH} characters`);
  }
  if (token !== undefined && access !== undefined) {
    throw new RangeError('dashboard: give either option token or option access, not both');
  }
  return {
    provider,
    basePath,
    readOnly: options.readOnly ?? false,
    token,
    access,
    allowedHosts: allowedHosts === 'any' ? 'any' : new Set(allowedHosts.map((name) => name.toLowerCase())),
    logger: guardedLogger(options.logger ?? consoleLogger),
    clock: options.clock ?? new SystemClock(),
    assets: options.assets,
  };
}
