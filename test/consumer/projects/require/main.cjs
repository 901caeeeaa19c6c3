const assert = require('node:assert/strict');
const { PGlite } = require('@electric-sql/pglite');
const { drizzle } = require('drizzle-orm/pglite');
const { DrizzleProvider, FakeClock, ProviderError } = require('duroxide-drizzle');
const { describeProvider } = require('duroxide-drizzle/conformance');
const { version } = require('duroxide-drizzle/package.json');
const { defineSchema } = require('duroxide-drizzle/schema');
const testing = require('duroxide-drizzle/testing');
const { useProvider } = require('./use-provider.cjs');

async function main() {
  assert.equal(testing.FakeClock, FakeClock, 'a class exists once, whatever entry it comes from');
  assert.equal(typeof describeProvider, 'function');
  assert.equal(typeof version, 'string');
  const client = new PGlite();
  await useProvider({ DrizzleProvider, ProviderError, defineSchema }, drizzle(client));
  await client.close();
  await useProvider({ DrizzleProvider, ProviderError, defineSchema }, await testing.createTestDatabase());
  console.log('used by require, on PGlite and pg-mem');
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
