import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { comparableTurn } from '../oracle/comparable-turn.js';
import { historyAtFetch, readHistories } from '../oracle/fixture.js';
import { expectedEnd, type Program, PROGRAM, ProgramMaker, programOrchestrations } from '../oracle/generated.js';
import { connectNative, nativeAvailable, type NativeSdk, nativeUnavailableReason } from '../oracle/native.js';
import { decidedByNative, ourTurn } from '../oracle/our-turn.js';
import { connectOurs, type OurRuntime, type OurSdk } from '../oracle/ours.js';
import { commonActivities } from '../oracle/scenarios/index.js';
import type { DurableRuntime } from '../oracle/sdk.js';
import { clearTurns, dropTurnLog, readTurns, recordTurns } from '../oracle/turn-recorder.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { seededRandom } from '../support/seeded-random.js';

const PROGRAMS = Number(process.env['GENERATED_PROGRAMS'] ?? 1_000);
const CHUNK = 100;
const SEED = Number(process.env['GENERATED_SEED'] ?? 1);

const suite = nativeAvailable ? describe : describe.skip;

/**
 * Random programs on a schema where a native runtime and ours work at the same time, so
 * that most instances pass from one to the other several times. Each has to end as its
 * program says; and every turn, whoever took it, has to be what our engine decides from
 * the same history and messages, event for event.
 */
suite(`${PROGRAMS} generated orchestrations on a mixed fleet, seed ${SEED} ${nativeUnavailableReason}`, () => {
  const schema = uniqueSchema('generated');
  const registrations = Object.entries(programOrchestrations).map(([name, fn]) => ({ name, fn }));
  const turnsBy = { native: 0, ours: 0 };
  let sql: pg.Client;
  let native: NativeSdk;
  let ours: OurSdk;
  let ourRuntime: OurRuntime;
  const runtimes: DurableRuntime[] = [];

  beforeAll(async () => {
    // Failure texts hold stacks, which depend on who called.
    Error.stackTraceLimit = 0;
    sql = new pg.Client({ connectionString: databaseUrl() });
    await sql.connect();
    native = await connectNative(databaseUrl(), schema);
    ours = await connectOurs(databaseUrl(), schema);
    await recordTurns(sql, schema);
    // One turn at a time, so that a transaction is a turn; each warm one is compared with a cold replay.
    ourRuntime = ours.runtime({
      orchestrationConcurrency: 1,
      maxPollIntervalMs: 20,
      verifyWarm: true,
      logLevel: 'off',
    });
    runtimes.push(native.runtime({ dispatcherPollIntervalMs: 5, logLevel: 'off' }), ourRuntime);
    for (const runtime of runtimes) {
      for (const [name, fn] of Object.entries(programOrchestrations)) runtime.registerOrchestration(name, fn);
      for (const [name, fn] of Object.entries(commonActivities())) runtime.registerActivity(name, fn);
      await runtime.start();
    }
  });

  afterAll(async () => {
    for (const runtime of runtimes) await runtime.shutdown(100);
    await native.close();
    await ours.close();
    await dropTurnLog(sql, schema);
    await sql.end();
    await dropSchema(schema);
  });

  for (let from = 0; from < PROGRAMS; from += CHUNK) {
    const upTo = Math.min(from + CHUNK, PROGRAMS);
    test(`programs ${from} to ${upTo - 1}`, async () => {
      const programs = new Map<string, Program>();
      for (let n = from; n < upTo; n++) {
        programs.set(`program-${n}`, new ProgramMaker(seededRandom(SEED * 1_000_003 + n), `p${n}`).make());
      }
      await startAll(programs);
      const client = ours.client();
      for (const [id, program] of programs) {
        const status = await client.waitForOrchestration(id, 240_000);
        const end = {
          status: status.status,
          result: status.status === 'Failed' ? status.error : status.output,
          values: await client.getKvAllValues(id),
          customStatus: status.customStatus ?? null,
        };
        expect({ id, ...end }).toEqual({ id, ...expectedEnd(program) });
      }
      await untilQuiet();
      await compareTurns();
      await clearTurns(sql, schema);
    }, 300_000);
  }

  test('both took part, and no warm turn differed from its cold replay', () => {
    expect(turnsBy.native).toBeGreaterThan(PROGRAMS / 20);
    expect(turnsBy.ours).toBeGreaterThan(PROGRAMS / 20);
    expect(ourRuntime.runtime.metricsSnapshot()).toMatchObject({ warmMismatches: 0 });
  });

  /** Half of them from either client; mail arrives with the start. */
  async function startAll(programs: ReadonlyMap<string, Program>): Promise<void> {
    let n = 0;
    for (const [id, program] of programs) {
      const client = (n++ % 2 === 0 ? native : ours).client();
      await client.startOrchestration(id, PROGRAM, { program });
      for (const message of program.mail) await client.enqueueEvent(id, 'mail', message);
    }
  }

  /** Detached instances and cancelled children may outlive the roots. */
  async function untilQuiet(): Promise<void> {
    for (;;) {
      const { rows } = await sql.query<{ n: number }>(`
        select (select count(*) from ${schema}.orchestrator_queue where visible_at < now() + interval '1 minute')::int
          + (select count(*) from ${schema}.worker_queue)::int
          + (select count(*) from ${schema}.instance_locks where locked_until > extract(epoch from now()) * 1000)::int as n`);
      if (rows[0]?.n === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function compareTurns(): Promise<void> {
    const recorded = { turns: await readTurns(sql, schema), histories: await readHistories(sql, schema) };
    for (const turn of recorded.turns) {
      turnsBy[turn.engine]++;
      const decided = await ourTurn(registrations, turn, historyAtFetch(recorded, turn));
      const committed = decidedByNative(turn);
      const at = { instance: turn.instance, engine: turn.engine, messages: turn.messages };
      expect({ ...at, ...(comparableTurn(decided) as object) }).toEqual({
        ...at,
        ...(comparableTurn(committed) as object),
      });
      expect(decided.removedActivities).toEqual(expect.arrayContaining([...committed.removedActivities]));
    }
  }
});
