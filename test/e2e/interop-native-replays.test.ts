import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { comparableTurn } from '../oracle/comparable-turn.js';
import { historyAtFetch, readHistories } from '../oracle/fixture.js';
import { emptySchema } from '../oracle/filled-schema.js';
import { connectNative, nativeAvailable, type NativeSdk, nativeUnavailableReason } from '../oracle/native.js';
import { NativeTurns } from '../oracle/native-turns.js';
import { decidedByNative } from '../oracle/our-turn.js';
import { connectOurs, type OurSdk } from '../oracle/ours.js';
import { type Registration, type Scenario, scenarios } from '../oracle/scenarios/index.js';
import { playScenario } from '../oracle/stage.js';
import { clearTurns, dropTurnLog, readTurns, recordTurns } from '../oracle/turn-recorder.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';

const suite = nativeAvailable ? describe : describe.skip;

/** Where native decides otherwise on purpose of ours (runtime.md 7.1), or cannot be asked. */
const NOT_ASKED: Readonly<Record<string, string>> = {
  'late-messages': 'messages of unknown instances leave no turn of native behind (P:T-10)',
  'poison-history': 'the scenario damages rows in the middle',
};

/**
 * Ours plays every scenario alone. Then native is given each of our histories as it stood
 * before a turn, and the messages of that turn, and has to commit what we committed.
 */
suite(`our histories, replayed by native at every turn ${nativeUnavailableReason}`, () => {
  const ourSchema = uniqueSchema('ours');
  const nativeSchema = uniqueSchema('replays');
  let sql: pg.Client;
  let ours: OurSdk;
  let native: NativeSdk;
  let turns: NativeTurns;

  beforeAll(async () => {
    Error.stackTraceLimit = 0;
    sql = new pg.Client({ connectionString: databaseUrl() });
    await sql.connect();
    ours = await connectOurs(databaseUrl(), ourSchema);
    native = await connectNative(databaseUrl(), nativeSchema);
    await recordTurns(sql, ourSchema);
    await recordTurns(sql, nativeSchema);
    turns = new NativeTurns(native, sql, nativeSchema);
    await turns.install();
  });
  afterAll(async () => {
    await native.close();
    await ours.close();
    for (const schema of [ourSchema, nativeSchema]) {
      await dropTurnLog(sql, schema);
      await dropSchema(schema);
    }
    await sql.end();
  });

  for (const scenario of scenarios) {
    const reason = NOT_ASKED[scenario.name] ?? scenario.nativeOnly;
    if (reason !== undefined) {
      test.skip(`${scenario.name}: ${reason}`, () => undefined);
      continue;
    }
    test(`${scenario.name}: ${scenario.about}`, async () => {
      const recorded = await playAlone(scenario);
      const registrations = scenario.orchestrations();
      await turns.with(registrations, async () => {
        for (const turn of recorded.turns) {
          const history = historyAtFetch(recorded, turn);
          if (history.length > 0) registrations.forEach(changeMind);
          const decided = await turns.decide(turn, history);
          const at = { instance: turn.instance, messages: turn.messages };
          expect({ ...at, ...(comparableTurn(decided) as object) }).toEqual({
            ...at,
            ...(comparableTurn(decidedByNative(turn)) as object),
          });
        }
      });
    });
  }

  async function playAlone(scenario: Scenario) {
    await emptySchema(sql, ourSchema);
    await clearTurns(sql, ourSchema);
    // One turn at a time, so that a transaction is a turn.
    const engine = {
      name: ours.name,
      client: () => ours.client(),
      runtime: (options = {}) => ours.runtime({ ...options, orchestrationConcurrency: 1 }),
      close: async () => undefined,
    };
    await playScenario(scenario, { url: databaseUrl(), schema: ourSchema, engineOf: () => engine });
    return { turns: await readTurns(sql, ourSchema), histories: await readHistories(sql, ourSchema) };
  }
});

function changeMind(registration: Registration): void {
  if ('change' in registration) (registration as Registration & { change(): void }).change();
}
