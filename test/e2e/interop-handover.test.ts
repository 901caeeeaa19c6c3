import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connectNative, nativeAvailable, type NativeSdk, nativeUnavailableReason } from '../oracle/native.js';
import { connectOurs, type OurSdk } from '../oracle/ours.js';
import { emptySchema } from '../oracle/filled-schema.js';
import { type Scenario, scenarios } from '../oracle/scenarios/index.js';
import type { DurableSdk } from '../oracle/sdk.js';
import { playScenario, readEnds } from '../oracle/stage.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';

const suite = nativeAvailable ? describe : describe.skip;

/**
 * Each scenario is cut into phases at the primitive that it shows. One engine runs a
 * phase, is stopped, and the other one takes over what it finds in the tables.
 */
suite(`native and ours take over from each other ${nativeUnavailableReason}`, () => {
  const schema = uniqueSchema('interop');
  let native: NativeSdk;
  let ours: OurSdk;

  beforeAll(async () => {
    native = await connectNative(databaseUrl(), schema);
    ours = await connectOurs(databaseUrl(), schema);
  });
  afterAll(async () => {
    await native.close();
    await ours.close();
    await dropSchema(schema);
  });

  const play = async (scenario: Scenario, engineOf: (phase: number) => DurableSdk) => {
    // One schema for all, because native keeps its connections; nothing may be left of the scenario before.
    await withClient((client) => emptySchema(client, schema));
    await playScenario(scenario, { url: databaseUrl(), schema, engineOf });
    expect(await readEnds(scenario, { url: databaseUrl(), schema })).toEqual(scenario.expected);
  };

  for (const scenario of scenarios) {
    if (scenario.nativeOnly !== undefined) {
      test.skip(`${scenario.name}: ${scenario.nativeOnly}`, () => undefined);
      continue;
    }
    test(`${scenario.name}: native begins, ours goes on`, () => play(scenario, (n) => (n % 2 === 0 ? native : ours)));
    test(`${scenario.name}: ours begins, native goes on`, () => play(scenario, (n) => (n % 2 === 0 ? ours : native)));
  }
});
