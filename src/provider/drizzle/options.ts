import type { Clock, HostClock } from '../../base/clock.js';
import type { Logger } from '../../base/logger.js';

/** How a provider works on a database; every field may be left out. */
export interface DrizzleProviderOptions {
  /**
   * The PostgreSQL schema with duroxide's tables: `^[a-z_][a-z0-9_]*$`, at most 63 bytes.
   * @defaultValue `public`
   */
  readonly schema?: string | undefined;
  /**
   * Create or migrate the tables while connecting. `false` only looks, needs no
   * privilege to create anything, and fails with what to run when something is missing.
   * @defaultValue `true`
   */
  readonly migrate?: boolean | undefined;
  /** Use a schema that a newer native duroxide migrated, of a level unknown here. @defaultValue `false` */
  readonly allowNewer?: boolean | undefined;
  /**
   * Wake other processes by NOTIFY and be woken by LISTEN, on a connection beside the
   * pool. `false` behind poolers in transaction mode; work is then found by polling.
   * @defaultValue `true`
   */
  readonly notifications?: boolean | undefined;
  /**
   * Prepare statements by name, once per connection. `false` behind poolers that do
   * not keep them.
   * @defaultValue `true`
   */
  readonly namedStatements?: boolean | undefined;
  /** How long an operation waits for a connection, in ms. @defaultValue `30_000` */
  readonly acquireTimeoutMs?: number | undefined;
  /**
   * How long a statement may go unanswered before the server is asked, on a connection of
   * its own, whether it still works at it; if it does not, the connection is half-open and
   * closed. In ms; `0`: never. Over node-postgres only.
   * @defaultValue `30_000`
   */
  readonly answerTimeoutMs?: number | undefined;
  /** The database is a single `pg.Client` that nothing else uses. @defaultValue `false` */
  readonly exclusive?: boolean | undefined;
  /** Whether `close()` also closes the database's client. @defaultValue `false`, `true` where connecting opened it */
  readonly ownsClient?: boolean | undefined;
  /**
   * Whether the password is a token that is replaced from time to time; a refused login
   * is tried again then.
   * @defaultValue `false`
   */
  readonly rotatesTokens?: boolean | undefined;
  /**
   * Fetches after which a message that cannot be read is set aside for good.
   * @defaultValue `10`
   */
  readonly quarantineAttempts?: number | undefined;
  /** Where the provider reports what it cannot return. @defaultValue warnings and errors on stderr */
  readonly logger?: Logger | undefined;
  /**
   * The time of everything that is stored, final: nothing corrects it. For tests.
   * @defaultValue the database's time, measured every minute
   */
  readonly clock?: Clock | undefined;
  /** The host's time, which the measured clock starts from. For tests of clocks that are wrong. */
  readonly hostClock?: HostClock | undefined;
}

/** What connecting by a URL needs beside it. */
export interface ConnectOptions extends DrizzleProviderOptions {
  /**
   * Connections at most; at least 1.
   * @defaultValue the environment's `DUROXIDE_PG_POOL_MAX`, else `10`
   */
  readonly maxConnections?: number | undefined;
  /**
   * How long connecting goes on trying while the server cannot be reached, in ms; `0`
   * tries once.
   * @defaultValue `0`
   */
  readonly connectTimeoutMs?: number | undefined;
}
