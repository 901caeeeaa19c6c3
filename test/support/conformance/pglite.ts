import { PGlite } from '@electric-sql/pglite';
import { drizzle, type PgliteDatabase } from 'drizzle-orm/pglite';
import type { Provider } from '../../../src/provider/provider.js';
import { uniqueSchema } from '../database.js';
import {
  type Backend,
  backendOf,
  recordedMigrations,
  type RunSql,
  underTest,
  type UnderTestOptions,
} from './backend.js';

/** How a provider is opened on a Drizzle database; on a fresh schema it migrates it. */
export type OpenOnDrizzle = (
  db: PgliteDatabase & { $client: PGlite },
  options: UnderTestOptions & { schema: string },
) => Promise<Provider>;

export async function pgliteBackend(open: OpenOnDrizzle, answersTails: boolean): Promise<Backend> {
  const { clock, options } = underTest();
  const client = await PGlite.create();
  const db = drizzle(client);
  const schema = uniqueSchema('conf');
  const provider = await open(db, { schema, ...options });
  const sql: RunSql = (text, values) =>
    client.transaction(async (tx) => {
      await tx.exec(`set local search_path to ${schema}`);
      return (await tx.query<Record<string, unknown>>(text, [...(values ?? [])])).rows;
    });
  return backendOf({
    provider,
    clock,
    answersTails,
    sql,
    userTransactions: {
      run: (use) => db.transaction(use),
      savepoint: (tx, use) => (tx as PgliteDatabase).transaction(use),
    },
    async startOnFreshStorage(count) {
      const fresh = uniqueSchema('fresh');
      const providers = await Promise.all(Array.from({ length: count }, () => open(db, { schema: fresh, ...options })));
      return { providers, recorded: await recordedMigrations(sql, `${fresh}.ddz_migrations`) };
    },
    close: () => client.close(),
  });
}
