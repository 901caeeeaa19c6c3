import { afterAll, describe, expect, test } from '@jest/globals';
import { describeProvider } from '../../src/conformance/index.js';
import { driverFor } from '../../src/provider/drizzle/drivers/index.js';
import { migrateSchema } from '../../src/provider/drizzle/migrate/index.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import { lazily } from '../support/conformance/backend.js';
import { pgliteBackend } from '../support/conformance/pglite.js';
import { oneConnection } from '../support/conformance/skips.js';

const backend = lazily(() =>
  pgliteBackend(async (db, options) => {
    await migrateSchema(driverFor(db), { schema: options.schema, storedFunctions: true });
    return StoredFunctionProvider.fromDrizzle(db, options);
  }, false),
);

afterAll(backend.close);

describeProvider({
  name: 'StoredFunctionProvider over our functions on PGlite',
  open: backend.open,
  skips: oneConnection,
  runner: { describe, test, expect },
});
