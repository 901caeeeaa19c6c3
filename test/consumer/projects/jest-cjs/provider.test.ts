// A CommonJS jest without `--experimental-vm-modules` cannot load PGlite, so this one runs on pg-mem.
import { expect, test } from '@jest/globals';
import { DrizzleProvider, FakeClock, ProviderError, type Result } from 'duroxide-drizzle';
import { conformanceGroups } from 'duroxide-drizzle/conformance';
import { defineSchema } from 'duroxide-drizzle/schema';
import * as testing from 'duroxide-drizzle/testing';
import { useProvider } from './use-provider.cjs';

test('the package is used from a CommonJS jest with ts-jest', async () => {
  const result: Result<number> = { ok: true, value: 1 };
  expect(result.ok && result.value).toBe(1);
  expect(testing.FakeClock).toBe(FakeClock);
  expect(conformanceGroups.length).toBeGreaterThan(20);
  const db = await testing.createTestDatabase();
  await useProvider({ DrizzleProvider, ProviderError, defineSchema }, db);
});
