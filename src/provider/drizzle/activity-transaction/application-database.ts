import { UnsupportedError } from '../../provider-error.js';
import { type AnyDrizzle, isDrizzle } from '../drivers/generic.js';
import type { DrizzleDatabase } from '../drivers/index.js';
import type { Driver } from '../executor.js';

/**
 * The database whose transactions the application's code gets: its own, with its schema
 * and casing, where the provider was opened on one. A provider that was opened on a pool
 * or by a URL gets a plain one over the same client.
 * @throws UnsupportedError
 */
export async function applicationDatabase(db: DrizzleDatabase, driver: Driver): Promise<AnyDrizzle> {
  if (isDrizzle(db)) return db;
  return (await plainDatabase(db.$client, driver)) as AnyDrizzle;
}

async function plainDatabase(client: unknown, { kind }: Driver): Promise<unknown> {
  switch (kind) {
    case 'node-postgres': {
      const { drizzle } = await import('drizzle-orm/node-postgres');
      return drizzle({ client: client as never });
    }
    case 'pglite': {
      const { drizzle } = await import('drizzle-orm/pglite');
      return drizzle({ client: client as never });
    }
    // Drizzle would change the parsers of an application's client that it has not been given.
    case 'postgres-js':
    case 'pg-mem':
    case 'drizzle':
      throw new UnsupportedError(
        'transactional activities need a Drizzle database: open the provider with fromDrizzle(db)',
      );
  }
}
