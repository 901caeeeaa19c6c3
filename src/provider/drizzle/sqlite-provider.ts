import { fileURLToPath } from 'node:url';
import { errorText } from '../../base/error-text.js';
import { DrizzleProvider, openEmbedded } from './drizzle-provider.js';
import { consoleLogger, guardedLogger } from '../../base/logger.js';
import type { ProviderParts } from './open-provider.js';
import type { DrizzleProviderOptions } from './options.js';
import { ConnectionFailedError } from './postgres-provider.js';

/** Beside the file that native would have made. */
const DIRECTORY_SUFFIX = '.pglite';

/**
 * {@link DrizzleProvider} by the name and the static methods of duroxide-node's provider
 * for SQLite. Behind it stands PGlite, a PostgreSQL inside this process; SQLite files
 * are neither read nor written.
 */
export class SqliteProvider extends DrizzleProvider {
  /**
   * In a directory beside `path`, which is a path or a `sqlite:` URL; made when missing.
   * @throws ConnectionFailedError
   */
  static async open(path: string, options: DrizzleProviderOptions = {}): Promise<SqliteProvider> {
    if (typeof path !== 'string') {
      throw new ConnectionFailedError('StringExpected', `path must be a string, got ${typeof path}`);
    }
    const file = fileOf(path);
    if (file === undefined) return this.inMemory(options);
    const directory = file + DIRECTORY_SUFFIX;
    say(options, directory);
    return new this(await speaking('Failed to open SQLite', () => openEmbedded({ ...options, directory })));
  }

  /** Private and empty; gone when it is closed. @throws ConnectionFailedError */
  static async inMemory(options: DrizzleProviderOptions = {}): Promise<SqliteProvider> {
    say(options, 'memory');
    return new this(await speaking('Failed to create in-memory SQLite', () => openEmbedded(options)));
  }
}

/** The name says SQLite, and a user may look for a file. */
function say({ logger = consoleLogger }: DrizzleProviderOptions, where: string): void {
  guardedLogger(logger).info({ where }, 'SqliteProvider keeps its data in PGlite, an embedded PostgreSQL');
}

async function speaking(what: string, open: () => Promise<ProviderParts>): Promise<ProviderParts> {
  try {
    return await open();
  } catch (error) {
    const detail = errorText(error);
    throw new ConnectionFailedError('GenericFailure', `${what}: ${detail}`, error);
  }
}

/** The path in `sqlite:path`, `sqlite://path?mode=rwc` or a plain path; `undefined`: in memory. */
function fileOf(path: string): string | undefined {
  if (path.startsWith('file:')) return fileURLToPath(path);
  const [file = ''] = path.replace(/^sqlite:(\/\/)?/, '').split('?');
  return file === '' || file === ':memory:' ? undefined : file;
}
