import { describe, expect, test } from 'vitest';
import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import { DrizzleProvider, FakeClock, ProviderError } from 'duroxide-drizzle';
import { conformanceGroups } from 'duroxide-drizzle/conformance';
import { defineSchema } from 'duroxide-drizzle/schema';
import * as testing from 'duroxide-drizzle/testing';
import { useProvider } from './use-provider.cjs';

describe('the package is used from vitest', () => {
  test('on PGlite', async () => {
    const client = new PGlite();
    await useProvider({ DrizzleProvider, ProviderError, defineSchema }, drizzle(client));
    await client.close();
  });

  test('on pg-mem', async () => {
    expect(testing.FakeClock).toBe(FakeClock);
    expect(conformanceGroups.length).toBeGreaterThan(20);
    await useProvider({ DrizzleProvider, ProviderError, defineSchema }, await testing.createTestDatabase());
  });
});
