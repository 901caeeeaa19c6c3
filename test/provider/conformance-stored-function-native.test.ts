import { afterAll, describe, expect, test } from '@jest/globals';
import { describeProvider } from '../../src/conformance/index.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import { nativeAvailable, nativeUnavailableReason } from '../oracle/native.js';
import { lazily } from '../support/conformance/backend.js';
import { postgresBackend } from '../support/conformance/postgres.js';
import { nativeFunctions } from '../support/conformance/skips.js';

const backend = lazily(() =>
  postgresBackend({
    connect: (url, options) => StoredFunctionProvider.connect(url, options),
    answersTails: false,
    schemaBy: 'native',
  }),
);

afterAll(backend.close);

const name = "StoredFunctionProvider over native's functions";
if (nativeAvailable) {
  describeProvider({ name, open: backend.open, skips: nativeFunctions, runner: { describe, test, expect } });
} else {
  test.skip(`${name}: ${nativeUnavailableReason}`, () => {});
}
