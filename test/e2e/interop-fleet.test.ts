import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { driverFor } from '../../src/provider/drizzle/drivers/index.js';
import { migrateSchema } from '../../src/provider/drizzle/migrate/index.js';
import { connectNative, nativeAvailable, type NativeSdk, nativeUnavailableReason } from '../oracle/native.js';
import { connectOurs, type OurSdk } from '../oracle/ours.js';
import type { DurableClient, DurableRuntime, DurableSdk, OrchestrationFunction } from '../oracle/sdk.js';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.js';

/** `npm run test:fleet` takes three minutes. */
const SECONDS = Number(process.env['FLEET_SECONDS'] ?? 20);
const IN_FLIGHT = 40;
/** Instances of the mixed fleet, however slow the machine. */
const AT_LEAST = 200;
/** Polling is as good as off. */
const LONG_TIME_MS = 24 * 3_600_000;

const suite = nativeAvailable ? describe : describe.skip;

/**
 * Native workers and ours on one schema that native migrated and ours adopted, under load:
 * two runtimes and one client of each. The server is the test's own, because it counts
 * statements by role.
 */
suite(`mixed fleet for ${SECONDS} s ${nativeUnavailableReason}`, () => {
  const schema = 'fleet';
  let server: PostgresServer;
  let sql: pg.Client;
  let native: NativeSdk;
  let ours: OurSdk;
  let nativeUrl: string;

  beforeAll(async () => {
    server = await startPostgresServer({
      settings: ['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track=all', 'max_connections=200'],
    });
    sql = new pg.Client({ connectionString: server.url });
    await sql.connect();
    await sql.query('create extension pg_stat_statements');
    await sql.query('create role native_worker superuser login');
    nativeUrl = server.url.replace('postgres@', 'native_worker@');
    native = await connectNative(nativeUrl, schema);
    ours = await connectOurs(server.url, schema);
  });
  afterAll(async () => {
    await native.close();
    await ours.close();
    await sql.end();
    await server.destroy();
  });

  let nativeAlone = NaN;

  test('native alone, for comparison', async () => {
    const { completed, statements } = await underLoad({
      name: 'alone',
      seconds: Math.max(5, SECONDS / 6),
      runtimes: [native, native],
      clients: [native.client()],
    });
    nativeAlone = statements / completed;
    expect(completed).toBeGreaterThan(0);
  });

  test('every instance completes exactly once, with the right output, and native does not spin', async () => {
    const { completed, statements } = await underLoad({
      name: 'mixed',
      seconds: SECONDS,
      atLeast: AT_LEAST,
      runtimes: [native, ours, native, ours],
      clients: [native.client(), ours.client()],
    });
    expect(completed).toBeGreaterThanOrEqual(AT_LEAST);
    report(
      `statements of native per instance: alone ${nativeAlone.toFixed(0)}, mixed ${(statements / completed).toFixed(0)}`,
    );
    expect(statements / completed).toBeLessThanOrEqual(2 * nativeAlone);
  });

  test('ours finds by polling alone what native starts', async () => {
    const deaf = await connectOurs(server.url, schema, { notifications: false });
    const { stop } = await startRuntime(deaf, { maxPollIntervalMs: 100 });
    const waitsMs: number[] = [];
    for (let n = 0; n < Math.min(100, SECONDS * 2); n++) {
      waitsMs.push(await pickUpMs(`polling-${n}`));
    }
    await stop();
    await deaf.close();
    waitsMs.sort((a, b) => a - b);
    const p95 = waitsMs[Math.ceil(waitsMs.length * 0.95) - 1];
    report(
      `from a start by native to its first turn by ours: p50 ${waitsMs[waitsMs.length >> 1]} ms, p95 ${p95} ms (goal 150)`,
    );
  });

  test('with the triggers it finds them without polling', async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    await migrateSchema(driverFor({ $client: pool }), { schema, notifyTriggers: true });
    await pool.end();
    const woken = await connectOurs(server.url, schema);
    expect(woken.provider.wakeUps()).toMatchObject({ sharedWithNative: true, notifyTriggers: true });
    const { stop } = await startRuntime(woken, {
      dispatcherPollIntervalMs: LONG_TIME_MS,
      maxPollIntervalMs: LONG_TIME_MS,
    });
    for (let n = 0; n < 20; n++) await pickUpMs(`triggers-${n}`);
    await stop();
    await woken.close();
  });

  /** Starts by native's client, and the time until the first turn was stamped. */
  async function pickUpMs(id: string): Promise<number> {
    const client = native.client();
    const startedAtMs = Date.now();
    await client.startOrchestration(id, 'load', { id, width: 1 });
    await client.waitForOrchestration(id, 60_000);
    const { rows } = await sql.query<{ at: string }>(
      `select event_data::json ->> 'timestamp_ms' as at from ${schema}.history where instance_id = $1 and event_id = 1`,
      [id],
    );
    return Number(rows[0]?.at) - startedAtMs;
  }

  interface LoadParams {
    readonly name: string;
    readonly seconds: number;
    readonly atLeast?: number;
    readonly runtimes: readonly DurableSdk[];
    readonly clients: readonly DurableClient[];
  }

  /** Keeps instances in flight, waits for the last ones, and looks at every single one. */
  async function underLoad({ name, seconds, atLeast = 0, runtimes, clients }: LoadParams) {
    const runs = new Map<string, number>();
    const running = [];
    for (const sdk of runtimes) running.push(await startRuntime(sdk, {}, runs));
    const before = await statementsOfNative();
    const endMs = Date.now() + seconds * 1_000;
    let started = 0;
    const ids: string[] = [];
    const slot = async (n: number) => {
      const client = clients[n % clients.length];
      while (client && (Date.now() < endMs || started < atLeast)) {
        const id = `${name}-${started++}`;
        ids.push(id);
        const width = 1 + (ids.length % 4);
        await client.startOrchestration(id, 'load', { id, width });
        const { status, output } = await client.waitForOrchestration(id, 120_000);
        expect({ id, status, output }).toEqual({ id, status: 'Completed', output: expectedOutput(id, width) });
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, n) => slot(n)));
    const statements = (await statementsOfNative()) - before;
    for (const { stop } of running) await stop();
    await expectOnceEach(name, ids, runs);
    return { completed: ids.length, statements };
  }

  async function statementsOfNative(): Promise<number> {
    const { rows } = await sql.query<{ calls: string }>(
      `select coalesce(sum(calls), 0)::text as calls from pg_stat_statements where userid = 'native_worker'::regrole`,
    );
    return Number(rows[0]?.calls);
  }

  async function expectOnceEach(
    name: string,
    ids: readonly string[],
    runs: ReadonlyMap<string, number>,
  ): Promise<void> {
    const { rows } = await sql.query<{ roots: number; ends: number; repeated: number; left: number }>(
      `select (select count(*)::int from ${schema}.instances where instance_id like $1 and parent_instance_id is null) as roots,
        (select count(*)::int from ${schema}.history h where h.instance_id like $1
            and h.event_data like '%"type":"OrchestrationCompleted"%') as ends,
        (select count(*)::int from (select 1 from ${schema}.history h where h.instance_id like $1
            and h.event_data::json ->> 'source_event_id' is not null
            group by h.instance_id, h.execution_id, h.event_data::json ->> 'source_event_id' having count(*) > 1) r) as repeated,
        (select count(*)::int from ${schema}.worker_queue where instance_id like $1) as left`,
      [`${name}-%`],
    );
    // A child each.
    expect(rows[0]).toEqual({ roots: ids.length, ends: 2 * ids.length, repeated: 0, left: 0 });
    const again = [...runs].filter(([, times]) => times !== 1);
    expect(again).toEqual([]);
  }
});

async function startRuntime(
  sdk: DurableSdk,
  options: Record<string, number>,
  runs = new Map<string, number>(),
): Promise<{ stop: () => Promise<void> }> {
  const native = { orchestrationConcurrency: 4, workerConcurrency: 4, dispatcherPollIntervalMs: 10 };
  const runtime: DurableRuntime = sdk.runtime({
    ...(sdk.name === 'native' ? native : {}),
    logLevel: 'off',
    ...options,
  });
  for (const [program, fn] of Object.entries(programs)) runtime.registerOrchestration(program, fn);
  runtime.registerActivity('once', (ctx, input) => {
    const key = `${ctx.instanceId} ${JSON.stringify(input)}`;
    runs.set(key, (runs.get(key) ?? 0) + 1);
    return input;
  });
  await runtime.start();
  return {
    stop: async () => {
      await runtime.shutdown(200);
    },
  };
}

const programs: Readonly<Record<string, OrchestrationFunction>> = {
  load: function* (ctx, input) {
    const { id, width } = input as { id: string; width: number };
    ctx.setValue('id', id);
    const many = yield ctx.all(Array.from({ length: width }, (_, n) => ctx.scheduleActivity('once', `${id} ${n}`)));
    yield ctx.scheduleTimer(1);
    const child = yield ctx.scheduleSubOrchestration('child', `${id} child`);
    return { many, child, kv: ctx.getValue('id') };
  },
  child: function* (ctx, input) {
    return yield ctx.scheduleActivity('once', input);
  },
};

function expectedOutput(id: string, width: number): unknown {
  return { many: Array.from({ length: width }, (_, n) => ({ ok: `${id} ${n}` })), child: `${id} child`, kv: id };
}

function report(text: string): void {
  process.stdout.write(`mixed fleet: ${text}\n`);
}
