import { exponentialDelayMs } from '../../base/backoff.js';
import { sleepReal } from '../../base/clock.js';
import type { Ms } from '../provider.js';
import { ProviderError, UnsupportedError } from '../provider-error.js';
import { DEFAULT_ACQUIRE_TIMEOUT_MS } from './drivers/acquire.js';
import type { DrizzleDatabase } from './drivers/index.js';
import { lockDirectory } from './lock-directory.js';
import type { ConnectOptions } from './options.js';

const DEFAULT_MAX_CONNECTIONS = 10;
const RETRY_FROM_MS: Ms = 100;
const RETRY_UP_TO_MS: Ms = 2_000;

/** What `pg.Pool` is made with; the connection itself by `connectionString` or field by field. */
export type PoolConfig = Readonly<Record<string, unknown>>;

/** A pool for a connection URL. Nothing is connected yet. @throws UnsupportedError without the package `pg` */
export async function connectToPostgres(url: string, options: ConnectOptions): Promise<object> {
  return openPool({ connectionString: url }, options);
}

/** A pool with our defaults. */
export async function openPool(config: PoolConfig, options: ConnectOptions): Promise<object> {
  const { Pool } = await importDriver('pg', async () => (await import('pg')).default);
  const pool = new Pool({
    application_name: 'duroxide-drizzle',
    keepAlive: true,
    connectionTimeoutMillis: options.acquireTimeoutMs ?? DEFAULT_ACQUIRE_TIMEOUT_MS,
    ...config,
    max: Math.max(1, options.maxConnections ?? maxConnectionsOfEnvironment()),
  });
  hidePassword(pool.options);
  return pool;
}

/** The pool itself hides a `password`; a URL has one in it, too, and whoever prints a provider prints its pool. */
function hidePassword(options: { connectionString?: string | undefined }): void {
  if (options.connectionString === undefined) return;
  Object.defineProperty(options, 'connectionString', { enumerable: false });
}

export interface EmbeddedDatabase {
  readonly db: DrizzleDatabase;
  /** To be called when the database is closed. */
  readonly release: () => Promise<void>;
}

/**
 * A PGlite of this process's own, ready to use; a missing directory is made.
 * @throws UnsupportedError without its package, or when another process has the directory open
 */
export async function embeddedDatabase(directory: string | undefined): Promise<EmbeddedDatabase> {
  const { PGlite } = await importDriver('@electric-sql/pglite', () => import('@electric-sql/pglite'));
  const release = directory === undefined || isUrl(directory) ? async () => {} : await lockDirectory(directory);
  try {
    return { db: { $client: await PGlite.create(directory) }, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** `memory://`, `idb://` and the like, which are no directories. */
function isUrl(directory: string): boolean {
  return /^[a-z]{2,}:\/\//.test(directory);
}

/** Connects again and again, for so long, while the server cannot be reached. */
export async function withRetriedConnect<T>(timeoutMs: Ms | undefined, connect: () => Promise<T>): Promise<T> {
  const giveUpAtMs = performance.now() + (timeoutMs ?? 0);
  for (let attempt = 1; ; attempt++) {
    try {
      return await connect();
    } catch (error) {
      const pauseMs = exponentialDelayMs(RETRY_FROM_MS, attempt, RETRY_UP_TO_MS);
      const isTransient = ProviderError.is(error) && error.retryable;
      if (!isTransient || performance.now() + pauseMs > giveUpAtMs) throw error;
      await sleepReal(pauseMs);
    }
  }
}

/** Drivers are optional peers: they are loaded when they are asked for. */
async function importDriver<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    throw new UnsupportedError(`the package ${name} is needed for this: npm install ${name}`, { cause });
  }
}

/** Native's variable, so that a drop-in worker keeps its pool size. */
function maxConnectionsOfEnvironment(): number {
  const given = Number(process.env['DUROXIDE_PG_POOL_MAX']);
  return Number.isInteger(given) && given > 0 ? given : DEFAULT_MAX_CONNECTIONS;
}
