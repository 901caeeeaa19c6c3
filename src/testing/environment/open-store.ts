import vm from 'node:vm';
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/logger.js';
import { DrizzleProvider } from '../../provider/drizzle/drizzle-provider.js';
import type { Provider } from '../../provider/provider.js';
import { UnsupportedError } from '../../provider/provider-error.js';
import { createTestDatabase } from '../pg-mem/create-test-database.js';

/** `auto`: PGlite where it can be loaded, else pg-mem. */
export type TestStore = 'auto' | 'pglite' | 'pg-mem' | OpenStore;

/** Opens a store of the test's own, such as a schema on a real PostgreSQL. Its time must be `clock`. */
export type OpenStore = (options: { readonly clock: Clock; readonly logger: Logger }) => Promise<Provider>;

const FLAG = '--experimental-vm-modules';
const JEST_ADVICE =
  `PGlite needs jest to run with ${FLAG}, and would end it without a word otherwise: ` +
  `set NODE_OPTIONS=${FLAG} (or start it as \`node ${FLAG} node_modules/jest/bin/jest.js\`), ` +
  `or use { store: 'pg-mem' } with the packages pg-mem and pg installed`;

/**
 * A fresh, empty store in this process.
 * @throws UnsupportedError when its packages are missing, or PGlite cannot be loaded under this jest; it says what to do
 */
export async function openStore(store: TestStore, options: { clock: Clock; logger: Logger }): Promise<Provider> {
  if (typeof store === 'function') return store(options);
  switch (store) {
    case 'pglite':
      if (isJestWithoutModules()) throw new UnsupportedError(JEST_ADVICE);
      return DrizzleProvider.embedded(options);
    case 'pg-mem':
      return openPgMem(options);
    case 'auto':
      return isJestWithoutModules() ? openPgMem(options) : openPgliteOrPgMem(options);
    default:
      throw new RangeError(
        `store must be 'auto', 'pglite', 'pg-mem' or a function that opens a provider, got ${String(store)}`,
      );
  }
}

/** PGlite loads its WebAssembly by `import()`, which a jest without the flag answers by ending the process. */
function isJestWithoutModules(): boolean {
  return process.env['JEST_WORKER_ID'] !== undefined && !('SourceTextModule' in vm);
}

async function openPgliteOrPgMem(options: { clock: Clock; logger: Logger }): Promise<Provider> {
  try {
    return await DrizzleProvider.embedded(options);
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    return openPgMem(options, error);
  }
}

/** @param instead why it is not PGlite */
async function openPgMem(options: { clock: Clock; logger: Logger }, instead?: Error): Promise<Provider> {
  try {
    return await DrizzleProvider.fromDrizzle(await createTestDatabase(), { ...options, ownsClient: true });
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    const advice = isJestWithoutModules() ? JEST_ADVICE : (instead?.message ?? 'or npm install @electric-sql/pglite');
    throw new UnsupportedError(`the packages pg-mem and pg are needed here: npm install pg-mem pg; ${advice}`, {
      cause,
    });
  }
}
