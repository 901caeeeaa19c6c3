import { afterAll, describe, expect, test } from '@jest/globals';
import { describeProvider } from '../../src/conformance/index.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { lazily } from '../support/conformance/backend.js';
import { pgliteBackend } from '../support/conformance/pglite.js';
import { oneConnection } from '../support/conformance/skips.js';

const backend = lazily(() => pgliteBackend((db, options) => DrizzleProvider.fromDrizzle(db, options), true));

afterAll(backend.close);

describeProvider({
  name: 'DrizzleProvider on PGlite',
  open: backend.open,
  skips: oneConnection,
  runner: { describe, test, expect },
});
