import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { describeProvider, type Skips } from '../../src/conformance/index.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { createTestDatabase, type TestDatabase } from '../../src/testing/index.js';
import { STATE_TABLES } from '../support/storage-helpers.js';

const oneConnection = { trap: '-', reason: 'pg-mem has one connection: nobody can stand in the way' };
const skips: Skips = {
  'XR-7': oneConnection,
  'XR-9/large': oneConnection,
  'XR-10': oneConnection,
  'XR-12': { trap: 'T-35', reason: 'no connection can be lost inside of one process' },
  'XR-3': { trap: '-', reason: 'schemas are made one after the other on one connection' },
  'XR-4': { trap: '-', reason: 'native needs PostgreSQL' },
};

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.$client.end());

const rowsOf = async (text: string, values?: readonly unknown[]) =>
  (await db.$client.query(text, values)).rows as Record<string, unknown>[];

describeProvider({
  name: 'DrizzleProvider on pg-mem',
  runner: { describe, test, expect },
  skips,
  open: async () => {
    const clock = new FakeClock();
    const provider = await DrizzleProvider.fromDrizzle(db, { clock, logger: silentLogger });
    for (const table of STATE_TABLES) await rowsOf(`delete from ${table}`);
    return {
      provider,
      clock,
      answersTails: true,
      corruptHistory: async (instance) => {
        await rowsOf(`update history set event_data = '{"garbage": true}' where instance_id = $1`, [instance]);
      },
      highestAttemptCount: async (instance) => {
        const text = 'select max(attempt_count) as highest from orchestrator_queue where instance_id = $1';
        return Number((await rowsOf(text, [instance]))[0]?.['highest'] ?? 0);
      },
      sql: rowsOf,
      userTransactions: {
        run: (use) => db.transaction((tx) => use(tx)),
        savepoint: (tx, use) => (tx as TestDatabase).transaction((inner) => use(inner)),
      },
      cleanup: () => provider.close(),
    };
  },
});
