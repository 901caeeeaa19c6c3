import { afterAll, describe, expect, test } from '@jest/globals';
import { describeAdministration, type ProviderUnderTest, type Skips } from '../../src/conformance/index.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import { nativeAvailable, nativeUnavailableReason } from '../oracle/native.js';
import { type Backend, lazily } from '../support/conformance/backend.js';
import { pgMemBackend } from '../support/conformance/pg-mem.js';
import { pgliteBackend } from '../support/conformance/pglite.js';
import { type ConnectProvider, postgresBackend } from '../support/conformance/postgres.js';
import { connectWithOurFunctions } from '../support/conformance/stored-functions.js';

const nativeDeletes: Skips = {};

function run(name: string, backend: Backend, skips: Skips = {}): void {
  afterAll(backend.close);
  describeAdministration({ name, open: () => emptied(backend), skips, runner: { describe, test, expect } });
}

/** Our own tables are not emptied with native's. */
async function emptied(backend: Backend): Promise<ProviderUnderTest> {
  const sut = await backend.open();
  await sut.sql?.('delete from ddz_workers');
  await sut.sql?.('delete from ddz_history_archive');
  return sut;
}

/** With the additions of ours that a schema of native's has on request. */
const adopting =
  (connect: (url: string, options: Parameters<ConnectProvider>[1]) => Promise<DrizzleProvider>): ConnectProvider =>
  async (url, options) => {
    const provider = await connect(url, options);
    await provider.migrate({ adoptTables: true, adoptIndexes: true });
    return provider;
  };

run(
  'DrizzleProvider on PostgreSQL',
  lazily(() =>
    postgresBackend({
      connect: (url, options) => DrizzleProvider.connect(url, options),
      answersTails: true,
      schemaBy: 'ours',
    }),
  ),
);
run(
  'DrizzleProvider on PGlite',
  lazily(() => pgliteBackend((db, options) => DrizzleProvider.fromDrizzle(db, options), true)),
);
run(
  'DrizzleProvider on pg-mem',
  lazily(() => pgMemBackend((db, options) => DrizzleProvider.fromDrizzle(db, options))),
);
run(
  'StoredFunctionProvider over our functions on PostgreSQL',
  lazily(() => postgresBackend({ connect: connectWithOurFunctions, answersTails: false, schemaBy: 'ours' })),
);
if (nativeAvailable) {
  run(
    'DrizzleProvider on a schema that native migrated',
    lazily(() =>
      postgresBackend({
        connect: adopting((url, options) => DrizzleProvider.connect(url, options)),
        answersTails: true,
        schemaBy: 'native',
      }),
    ),
  );
  run(
    "StoredFunctionProvider over native's functions",
    lazily(() =>
      postgresBackend({
        connect: adopting((url, options) => StoredFunctionProvider.connect(url, options)),
        answersTails: false,
        schemaBy: 'native',
      }),
    ),
    nativeDeletes,
  );
} else {
  test.skip(`the administration on a schema that native migrated: ${nativeUnavailableReason}`, () => {});
}
