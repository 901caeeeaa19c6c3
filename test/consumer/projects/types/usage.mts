import type { DrizzleProviderOptions, Provider, Result, WorkItem } from 'duroxide-drizzle';
import { DrizzleProvider, ProviderError } from 'duroxide-drizzle';
import type { ProviderUnderTest } from 'duroxide-drizzle/conformance';
import { openTelemetry, type OpenTelemetryOptions } from 'duroxide-drizzle/otel';
import { defineSchema, type DuroxideTables } from 'duroxide-drizzle/schema';
import { createTestDatabase, type TestDatabase, TestEnvironment } from 'duroxide-drizzle/testing';

type IsAny<T> = 0 extends 1 & T ? true : false;
type Expect<T extends true> = T;
type IsNot<T extends boolean> = T extends true ? false : true;

// A type that does not resolve is `any`, and nobody notices.
export type Checks = [
  Expect<IsNot<IsAny<Provider>>>,
  Expect<IsNot<IsAny<WorkItem>>>,
  Expect<IsNot<IsAny<DrizzleProviderOptions>>>,
  Expect<IsNot<IsAny<ProviderUnderTest>>>,
  Expect<IsNot<IsAny<DuroxideTables>>>,
  Expect<IsNot<IsAny<TestDatabase>>>,
  Expect<IsNot<IsAny<TestEnvironment['clock']>>>,
  Expect<IsNot<IsAny<OpenTelemetryOptions['tracer']>>>,
  Expect<IsNot<IsAny<ReturnType<typeof openTelemetry>>>>,
  Expect<IsNot<IsAny<DuroxideTables['history']['$inferSelect']['eventData']>>>,
];

export async function use(): Promise<Result[]> {
  const db = await createTestDatabase();
  const provider = await DrizzleProvider.fromDrizzle(db, { schema: 'app' });
  const rows: { eventData: string }[] = await db.select().from(defineSchema('app').history);
  // @ts-expect-error a work item has a kind
  await provider.enqueueForWorker([{ instance: rows[0]?.eventData }]);
  if (ProviderError.is(null)) throw new Error('never');
  return provider.ackWorkItems([]);
}
