import assert from 'node:assert/strict';
import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import { DrizzleProvider, FakeClock, ProviderError } from 'duroxide-drizzle';
import { describeProvider } from 'duroxide-drizzle/conformance';
import { defineSchema } from 'duroxide-drizzle/schema';
import * as testing from 'duroxide-drizzle/testing';
import { useProvider } from './use-provider.cjs';

assert.equal(testing.FakeClock, FakeClock, 'a class exists once, whatever entry it comes from');
assert.equal(typeof describeProvider, 'function');
const client = new PGlite();
await useProvider({ DrizzleProvider, ProviderError, defineSchema }, drizzle(client));
await client.close();
await useProvider({ DrizzleProvider, ProviderError, defineSchema }, await testing.createTestDatabase());

// The other copy of the package, as another dependency may load it.
const { createRequire } = await import('node:module');
const other = createRequire(import.meta.url)('duroxide-drizzle');
assert.notEqual(other.ProviderError, ProviderError);
assert.ok(ProviderError.is(other.ProviderError.permanent('op', 'reason')), 'errors are known across copies');
console.log('used by import, on PGlite and pg-mem');
