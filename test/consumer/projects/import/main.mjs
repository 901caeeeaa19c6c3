import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { trace } from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { Client, DrizzleProvider, FakeClock, ProviderError, Runtime } from 'duroxide-drizzle';
import { describeProvider } from 'duroxide-drizzle/conformance';
import { startDashboard } from 'duroxide-drizzle/dashboard';
import { openTelemetry } from 'duroxide-drizzle/otel';
import { defineSchema } from 'duroxide-drizzle/schema';
import * as testing from 'duroxide-drizzle/testing';
import { runParts } from './run-parts.cjs';
import { entryParts, useLockThread } from './use-entries.cjs';
import { useProvider } from './use-provider.cjs';

const provided = { DrizzleProvider, ProviderError, defineSchema };
// PGlite by import is what the program of the README uses.
const db = await testing.createTestDatabase();

await runParts({
  classes() {
    assert.equal(testing.FakeClock, FakeClock, 'a class exists once, whatever entry it comes from');
    assert.equal(typeof describeProvider, 'function');
    // The other copy of the package, as another dependency may load it.
    const other = createRequire(import.meta.url)('duroxide-drizzle');
    assert.notEqual(other.ProviderError, ProviderError);
    assert.ok(ProviderError.is(other.ProviderError.permanent('op', 'reason')), 'errors are known across copies');
  },
  'pg-mem': () => useProvider(provided, db),
  ...entryParts({ Client, openTelemetry, startDashboard }, { BasicTracerProvider, trace }, (schema) =>
    DrizzleProvider.fromDrizzle(db, { schema }),
  ),
  'lock thread': () => useLockThread({ Client, DrizzleProvider, Runtime }, process.env.LOCK_THREAD_SCHEMA),
});
