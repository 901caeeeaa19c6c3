// PGlite is used by the program of the guide beside this file.
import { expect, test } from 'vitest';
import { activity, DrizzleProvider, FakeClock, orchestration, ProviderError } from 'duroxide-drizzle';
import { conformanceGroups } from 'duroxide-drizzle/conformance';
import { openTelemetry } from 'duroxide-drizzle/otel';
import { defineSchema } from 'duroxide-drizzle/schema';
import * as testing from 'duroxide-drizzle/testing';
import { useKit } from './use-kit.cjs';
import { useProvider } from './use-provider.cjs';

test('the package is used from vitest', async () => {
  expect(testing.FakeClock).toBe(FakeClock);
  expect(conformanceGroups.length).toBeGreaterThan(20);
  expect(typeof openTelemetry().observe).toBe('function');
  await useProvider({ DrizzleProvider, ProviderError, defineSchema }, await testing.createTestDatabase());
}, 60_000);

test('the testing kit', async () => {
  await useKit({ activity, orchestration }, testing, { store: 'pg-mem' });
}, 60_000);
