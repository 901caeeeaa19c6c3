import type { Provider } from '../../../src/provider/provider.js';
import { createTestDatabase, type TestDatabase } from '../../../src/testing/index.js';
import {
  type Backend,
  backendOf,
  recordedMigrations,
  type RunSql,
  underTest,
  type UnderTestOptions,
} from './backend.js';

export type OpenOnPgMem = (db: TestDatabase, options: UnderTestOptions & { schema: string }) => Promise<Provider>;

export async function pgMemBackend(open: OpenOnPgMem): Promise<Backend> {
  const { clock, options } = underTest();
  const db = await createTestDatabase();
  const schema = 'public';
  const provider = await open(db, { schema, ...options });
  const sql: RunSql = async (text, values) =>
    (await db.$client.query(text, [...(values ?? [])])).rows as Record<string, unknown>[];
  return backendOf({
    provider,
    clock,
    answersTails: true,
    sql,
    userTransactions: {
      run: (use) => db.transaction(use),
      savepoint: (tx, use) => (tx as TestDatabase).transaction(use),
    },
    async startOnFreshStorage(count) {
      const fresh = await createTestDatabase();
      const providers = await Promise.all(Array.from({ length: count }, () => open(fresh, { schema, ...options })));
      const freshSql: RunSql = async (text) => (await fresh.$client.query(text)).rows as Record<string, unknown>[];
      return { providers, recorded: await recordedMigrations(freshSql, 'ddz_migrations') };
    },
    close: async () => {},
  });
}
