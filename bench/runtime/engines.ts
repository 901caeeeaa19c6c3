import { connectNative, nativeAvailable } from '../../test/oracle/native.js';
import { connectOurs, OurSdk } from '../../test/oracle/ours.js';
import type { DurableSdk, RuntimeOptions } from '../../test/oracle/sdk.js';
import pg from 'pg';
import { registerSdk } from './telemetry-sdk.js';
import { openTelemetry } from '../../src/otel/index.js';
import { silentLogger } from '../../src/base/logger.js';
import { driverFor } from '../../src/provider/drizzle/drivers/index.js';
import { migrateSchema } from '../../src/provider/drizzle/migrate/index.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';

export type EngineName =
  | 'ours'
  | 'ours, pooled'
  | 'ours, cold'
  | 'ours, no-op tracer'
  | 'ours, OpenTelemetry SDK'
  | 'stored-function'
  | 'native'
  | 'native, poll 5 ms';

export interface Engine {
  readonly sdk: DurableSdk;
  /** What its runtimes get: our defaults are what users get, native is tuned. */
  readonly runtimeOptions: RuntimeOptions;
}

/**
 * Native with more slots than its two: with 200 in flight it was slower with 4 and no
 * faster with 32. The poll is its default, or the 5 ms that its latency figures need.
 */
const TUNED_NATIVE: RuntimeOptions = { orchestrationConcurrency: 10, workerConcurrency: 10, logLevel: 'off' };

/** The engines that this machine has. */
export function availableEngines(): EngineName[] {
  return nativeAvailable ? ['ours', 'stored-function', 'native'] : ['ours', 'stored-function'];
}

export async function openEngine(name: EngineName, url: string, schema: string): Promise<Engine> {
  switch (name) {
    case 'ours':
      return { sdk: await connectOurs(url, schema), runtimeOptions: {} };
    case 'ours, pooled':
      return {
        sdk: await connectOurs(url, schema, { namedStatements: false, notifications: false }),
        runtimeOptions: {},
      };
    case 'ours, cold': {
      // Nothing is kept between two turns: each replays from the start.
      const { provider } = await connectOurs(url, schema);
      return { sdk: new OurSdk(provider, { warmInstances: 0 }), runtimeOptions: {} };
    }
    case 'ours, no-op tracer':
      return openWithTelemetry(url, schema);
    case 'ours, OpenTelemetry SDK':
      registerSdk();
      return openWithTelemetry(url, schema);
    case 'stored-function':
      return {
        sdk: new OurSdk(await connectWithFunctions(url, schema)),
        runtimeOptions: {},
      };
    case 'native':
      return { sdk: await connectNative(url, schema), runtimeOptions: TUNED_NATIVE };
    case 'native, poll 5 ms':
      return {
        sdk: await connectNative(url, schema),
        runtimeOptions: { ...TUNED_NATIVE, dispatcherPollIntervalMs: 5 },
      };
  }
}

/** Telemetry of the global providers: those of the API, which do nothing, unless an SDK registered its own. */
async function openWithTelemetry(url: string, schema: string): Promise<Engine> {
  const { provider } = await connectOurs(url, schema);
  const telemetry = openTelemetry();
  return { sdk: new OurSdk(provider, { telemetry }, { telemetry }), runtimeOptions: {} };
}

async function connectWithFunctions(url: string, schema: string): Promise<StoredFunctionProvider> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  await migrateSchema(driverFor({ $client: pool }), { schema, storedFunctions: true });
  await pool.end();
  return StoredFunctionProvider.connect(url, { schema, logger: silentLogger });
}
