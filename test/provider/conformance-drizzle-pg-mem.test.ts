import { afterAll, describe, expect, test } from '@jest/globals';
import { describeProvider } from '../../src/conformance/index.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { lazily } from '../support/conformance/backend.js';
import { pgMemBackend } from '../support/conformance/pg-mem.js';
import { oneConnection } from '../support/conformance/skips.js';

const backend = lazily(() => pgMemBackend((db, options) => DrizzleProvider.fromDrizzle(db, options)));

afterAll(backend.close);

describeProvider({
  name: 'DrizzleProvider on pg-mem',
  open: backend.open,
  skips: oneConnection,
  runner: { describe, test, expect },
});
