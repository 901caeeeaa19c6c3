import { afterAll, describe, expect, test } from '@jest/globals';
import { describeProvider } from '../../src/conformance/index.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { nativeAvailable, nativeUnavailableReason } from '../oracle/native.js';
import { lazily } from '../support/conformance/backend.js';
import { postgresBackend } from '../support/conformance/postgres.js';

const backend = lazily(() =>
  postgresBackend({
    connect: (url, options) => DrizzleProvider.connect(url, options),
    answersTails: true,
    schemaBy: 'native',
  }),
);

afterAll(backend.close);

if (nativeAvailable) {
  describeProvider({
    name: 'DrizzleProvider on a schema that native migrated',
    open: backend.open,
    runner: { describe, test, expect },
  });
} else {
  test.skip(`DrizzleProvider on a schema that native migrated: ${nativeUnavailableReason}`, () => {});
}
