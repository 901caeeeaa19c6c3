import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import type pg from 'pg';
import { Client } from '../../src/client/client.js';
import { openTelemetry } from '../../src/otel/index.js';
import { connectNative, nativeAvailable, type NativeSdk, nativeUnavailableReason } from '../oracle/native.js';
import { connectOurs, type OurSdk } from '../oracle/ours.js';
import { emptySchema } from '../oracle/filled-schema.js';
import { type Scenario, scenarios } from '../oracle/scenarios/index.js';
import type { DurableRuntime, DurableSdk, OrchestrationFunction } from '../oracle/sdk.js';
import { playScenario, readEnds } from '../oracle/stage.js';
import { clearTurns, dropTurnLog, readWorkItems, recordTurns } from '../oracle/turn-recorder.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { waitFor } from '../support/waiting.js';

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

  test('P:2.2 the field `trace`: ours carries it; native runs such messages and drops it', async () => {
    const telemetry = openTelemetry({ tracer: new BasicTracerProvider().getTracer('interop') });
    const client = new Client(ours.provider, { telemetry });
    await withClient(async (sql) => {
      await emptySchema(sql, schema);
      await recordTurns(sql, schema);

      // The first turn is ours; its activity waits for a tag that ours does not serve.
      await client.startOrchestration('begun', 'Traced', 1);
      const ourRuntime = withTraced(ours.runtime({ telemetry }));
      await ourRuntime.start();
      await waitFor(
        'the activity of ours',
        () => count(sql, `${schema}.worker_queue`),
        (rows) => rows === 1,
      );
      await ourRuntime.shutdown();
      const written = await readWorkItems(sql, schema);
      expect(written).toEqual([
        expect.objectContaining({ kind: 'StartOrchestration', trace: TRACEPARENT }),
        expect.objectContaining({ kind: 'ActivityExecute', trace: TRACEPARENT }),
      ]);
      const [started, planned] = written.map(({ trace }) => String(trace).split('-')[1]);
      expect(planned).toBe(started);

      // The second one native runs from its start; of the first it reads the activity.
      await client.startOrchestration('fresh', 'Traced', 2);
      await clearTurns(sql, schema);
      const nativeRuntime = withTraced(
        native.runtime({ dispatcherPollIntervalMs: 10, workerTagFilter: { defaultAnd: ['there'] } }),
      );
      await nativeRuntime.start();
      expect((await native.client().waitForOrchestration('begun')).output).toBe(1);
      expect((await native.client().waitForOrchestration('fresh')).output).toBe(2);
      await nativeRuntime.shutdown();
      const byNative = await readWorkItems(sql, schema);
      const kinds = byNative.map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'StartOrchestration')).toHaveLength(2);
      // `begun` lacks the one that ours planned.
      expect(kinds.filter((kind) => kind === 'ActivityExecute')).toHaveLength(5);
      expect(byNative.filter((item) => 'trace' in item)).toEqual([]);
      expect(await count(sql, `${schema}.history where event_data like '%trace%'`)).toBe(0);
      await dropTurnLog(sql, schema);
    });
  });
});

const TRACEPARENT = expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);

/** Two activities in a row, the first one for a tag, and a child with one of its own. */
const traced: Readonly<Record<string, OrchestrationFunction>> = {
  *Traced(ctx, input) {
    const first = yield ctx.scheduleActivity('Echo', input).withTag('there');
    const second = yield ctx.scheduleActivity('Echo', first);
    return yield ctx.scheduleSubOrchestration('TracedChild', second);
  },
  *TracedChild(ctx, input) {
    return yield ctx.scheduleActivity('Echo', input);
  },
};

function withTraced<T extends DurableRuntime>(runtime: T): T {
  for (const [name, fn] of Object.entries(traced)) runtime.registerOrchestration(name, fn);
  runtime.registerActivity('Echo', (_ctx, input) => input);
  return runtime;
}

async function count(sql: pg.ClientBase, table: string): Promise<number> {
  const { rows } = await sql.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return rows[0]?.n ?? 0;
}
