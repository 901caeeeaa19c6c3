// A CommonJS jest without `--experimental-vm-modules` cannot load PGlite, so this one runs on pg-mem.
import { expect, test } from '@jest/globals';
import {
  activity,
  DrizzleProvider,
  FakeClock,
  orchestration,
  ProviderError,
  type Result,
  UnsupportedError,
} from 'duroxide-drizzle';
import { conformanceGroups } from 'duroxide-drizzle/conformance';
import { openTelemetry } from 'duroxide-drizzle/otel';
import { defineSchema } from 'duroxide-drizzle/schema';
import * as testing from 'duroxide-drizzle/testing';
import { useKit } from './use-kit.cjs';
import { useProvider } from './use-provider.cjs';

test('the package is used from a CommonJS jest with ts-jest', async () => {
  const result: Result<number> = { ok: true, value: 1 };
  expect(result.ok && result.value).toBe(1);
  expect(testing.FakeClock).toBe(FakeClock);
  expect(conformanceGroups.length).toBeGreaterThan(20);
  expect(typeof openTelemetry().observe).toBe('function');
  const db = await testing.createTestDatabase();
  await useProvider({ DrizzleProvider, ProviderError, defineSchema }, db);
});

test('the testing kit falls back to pg-mem, and refuses PGlite before it ends the process', async () => {
  await useKit({ activity, orchestration }, testing);
  const refused = testing.TestEnvironment.create({ store: 'pglite' });
  await expect(refused).rejects.toThrow(UnsupportedError);
  await expect(refused).rejects.toThrow('NODE_OPTIONS=--experimental-vm-modules');
});
