import type { Clock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { databaseUrl } from './database.js';

/** A provider on the test server, on a time of the test's own. */
export function openDrizzleProvider(options: { schema: string; clock: Clock }): Promise<DrizzleProvider> {
  return DrizzleProvider.connect(databaseUrl(), { ...options, logger: silentLogger });
}
