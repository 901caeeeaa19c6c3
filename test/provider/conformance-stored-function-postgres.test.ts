import { afterAll, describe, expect, test } from '@jest/globals';
import { describeProvider } from '../../src/conformance/index.js';
import { lazily } from '../support/conformance/backend.js';
import { postgresBackend } from '../support/conformance/postgres.js';
import { ourSchema } from '../support/conformance/skips.js';
import { connectWithOurFunctions } from '../support/conformance/stored-functions.js';

const backend = lazily(() =>
  postgresBackend({ connect: connectWithOurFunctions, answersTails: false, schemaBy: 'ours' }),
);

afterAll(backend.close);

describeProvider({
  name: 'StoredFunctionProvider over our functions on PostgreSQL',
  open: backend.open,
  skips: ourSchema,
  runner: { describe, test, expect },
});
