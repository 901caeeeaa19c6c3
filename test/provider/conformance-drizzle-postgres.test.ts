import { afterAll, describe, expect, test } from '@jest/globals';
import { describeProvider } from '../../src/conformance/index.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { lazily } from '../support/conformance/backend.js';
import { postgresBackend } from '../support/conformance/postgres.js';
import { ourSchema } from '../support/conformance/skips.js';

const backend = lazily(() =>
  postgresBackend({
    connect: (url, options) => DrizzleProvider.connect(url, options),
    answersTails: true,
    schemaBy: 'ours',
  }),
);

afterAll(backend.close);

describeProvider({
  name: 'DrizzleProvider on PostgreSQL',
  open: backend.open,
  skips: ourSchema,
  runner: { describe, test, expect },
});
