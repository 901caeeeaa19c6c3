const assert = require('node:assert/strict');
const { PGlite } = require('@electric-sql/pglite');
const { trace } = require('@opentelemetry/api');
const { BasicTracerProvider } = require('@opentelemetry/sdk-trace-base');
const { drizzle } = require('drizzle-orm/pglite');
const { Client, DrizzleProvider, FakeClock, ProviderError, Runtime } = require('duroxide-drizzle');
const { describeProvider } = require('duroxide-drizzle/conformance');
const { startDashboard } = require('duroxide-drizzle/dashboard');
const { openTelemetry } = require('duroxide-drizzle/otel');
const { version } = require('duroxide-drizzle/package.json');
const { defineSchema } = require('duroxide-drizzle/schema');
const testing = require('duroxide-drizzle/testing');
const { runParts } = require('./run-parts.cjs');
const { entryParts, useLockThread } = require('./use-entries.cjs');
const { useProvider } = require('./use-provider.cjs');

const provided = { DrizzleProvider, ProviderError, defineSchema };
const pglite = new PGlite();
const db = drizzle(pglite);

void runParts({
  classes() {
    assert.equal(testing.FakeClock, FakeClock, 'a class exists once, whatever entry it comes from');
    assert.equal(typeof describeProvider, 'function');
    assert.equal(typeof version, 'string');
  },
  'pg-mem': async () => useProvider(provided, await testing.createTestDatabase()),
  pglite: () => useProvider(provided, db),
  ...entryParts({ Client, openTelemetry, startDashboard }, { BasicTracerProvider, trace }, (schema) =>
    DrizzleProvider.fromDrizzle(db, { schema }),
  ),
  'lock thread': () => useLockThread({ Client, DrizzleProvider, Runtime }, process.env.LOCK_THREAD_SCHEMA),
}).then(() => pglite.close());
