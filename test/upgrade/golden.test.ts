import { afterEach, describe, expect, test } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { migrate } from '../../src/provider/drizzle/migrate/on-database.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { builtInMigrations } from '../../src/schema/migrations.generated.js';
import {
  expectedOutputs,
  finishAll,
  instances,
  queuedStarts,
  queues,
  register,
  schedule,
  sleeper,
  startAll,
} from '../golden/programs.mjs';
import { insertRows, orchestrations, recordedRows } from '../oracle/filled-schema.js';
import { commonActivities } from '../oracle/scenarios/scenario.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { waitFor } from '../support/waiting.js';
import { insertRows as putRows, packageOf, releases, restore, rowsOf } from './golden.js';
import { NATIVE_MIGRATIONS } from '../../src/provider/drizzle/migrate/native-levels.js';

let cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

function freshSchema(): string {
  const schema = uniqueSchema('golden');
  cleanUps.push(() => dropSchema(schema));
  return schema;
}

interface Code {
  readonly Client: typeof Client;
  readonly DrizzleProvider: typeof DrizzleProvider;
  readonly Runtime: typeof Runtime;
}
const today: Code = { Client, DrizzleProvider, Runtime };

async function startRuntime(code: Code, provider: DrizzleProvider, options = {}): Promise<Runtime> {
  const runtime = new code.Runtime(provider, {
    logger: silentLogger,
    logLevel: 'off',
    workerTagFilter: 'any',
    ...options,
  });
  register(runtime);
  await runtime.start();
  cleanUps.push(() => runtime.shutdown(0));
  return runtime;
}

/**
 * Both versions have one clock. By clocks that differ by a millisecond an old version puts a message off
 * that comes before the next execution is due, and gives it to the orchestration after later ones.
 */
const clock = new SystemClock();

async function connect(code: Code, schema: string): Promise<DrizzleProvider> {
  const provider = await code.DrizzleProvider.connect(databaseUrl(), { schema, clock, logger: silentLogger });
  cleanUps.push(() => provider.close());
  return provider;
}

/** `UPGRADES=whole`: every release in every way. Otherwise the oldest in every way, and of the others what is new in them. */
const WHOLE = process.env['UPGRADES'] === 'whole';
const thorough = (release: string) => WHOLE || release === releases[0];

/** Timers and schedules come due, and the hour of a rate is over, whatever the date is. */
async function makeDue(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(
    `update ${schema}.orchestrator_queue set visible_at = now() - interval '1 s' where instance_id = $1`,
    [sleeper.id],
  );
  await client.query(`do $$ begin
    if to_regclass('${schema}.ddz_schedules') is not null then
      update ${schema}.ddz_schedules set next_fire_ms = (extract(epoch from now()) * 1000)::bigint - 90000000;
    end if;
    if to_regclass('${schema}.ddz_queued_starts') is not null then
      update ${schema}.ddz_queued_starts set admitted_ms = admitted_ms - 90000000 where queue_id = 'hourly';
    end if; end $$`);
}

/** What later recordings have: a timer that ran, a session, and a schedule. */
async function finishLater(client: Client, hasSchedules: boolean): Promise<void> {
  expect(await client.waitForOrchestrationTyped(sleeper.id, 60_000)).toEqual(sleeper.output);
  if (!hasSchedules) return;
  const { firedCount, lastInstanceId } = await waitFor(
    'the schedule fires',
    () => client.schedules.get(schedule.id),
    ({ lastFireAt }) => lastFireAt !== null,
  );
  // Once by hand when it was recorded, and once for all the times that have passed since.
  expect(firedCount).toBe(2);
  expect(await client.waitForOrchestrationTyped(lastInstanceId ?? '', 60_000)).toEqual(schedule.input);
}

/** What recordings with start queues have: starts that ended, that run and that wait, of several keys and priorities. */
async function finishQueued(client: Client): Promise<void> {
  const figures = async () =>
    (await client.startQueues.list()).map(({ id, waiting, running, isPaused }) => ({ id, waiting, running, isPaused }));
  const idle = { waiting: 0, running: 0, isPaused: false };
  // What was in the way when it was recorded is so still; only the hour of the rate has passed.
  await client.waitForOrchestration('hourly-waits', 60_000);
  expect(
    await waitFor('the rate lets one in', figures, (all) =>
      all.some(({ id, running, waiting }) => id === 'hourly' && running + waiting === 0),
    ),
  ).toEqual([
    { id: 'hourly', ...idle },
    { id: 'parked', waiting: 1, running: 0, isPaused: true },
    { id: 'queued', waiting: 4, running: 2, isPaused: false },
  ]);
  await client.startQueues.resume('parked');
  for (const { id, is, go, output } of queuedStarts) {
    if (is !== 'ended' && go === undefined && typeof output === 'number') await client.enqueueEvent(id, 'go', output);
  }
  for (const { id, output } of queuedStarts) {
    const ended = await client.waitForOrchestration(id, 60_000);
    expect({ id, status: ended.status, output: ended.output }).toMatchObject(
      output === undefined ? { id, status: 'Failed' } : { id, status: 'Completed', output },
    );
  }
  // One of a key at a time, and the more urgent first, although it came last.
  const [first, last] = await Promise.all(['queued-a-first', 'queued-a-last'].map((id) => client.getInstanceInfo(id)));
  expect(last?.createdAt).toBeGreaterThanOrEqual(first?.updatedAt ?? Infinity);
  expect(await waitFor('all have ended', figures, (all) => all.every(({ running }) => running === 0))).toEqual(
    queues.map(({ id }) => ({ id, ...idle })).sort((a, b) => a.id.localeCompare(b.id)),
  );
}

describe.each(releases)('what release %s left', (release) => {
  test.each([...(thorough(release) ? [{ warmInstances: 0 }] : []), { verifyWarm: true }])(
    'is migrated, replayed and finished by this code: %j',
    async (options) => {
      const schema = freshSchema();
      await withClient(async (client) => {
        await restore(release, client, schema);
        await makeDue(client, schema);
      });
      const provider = await connect(today, schema);
      const runtime = await startRuntime(today, provider, options);
      const client = new Client(provider);
      expect(await finishAll(client)).toEqual(expectedOutputs);
      const recorded = await rowsOf(release);
      if ('ddz_schedules' in recorded) await finishLater(client, true);
      if ('ddz_queued_starts' in recorded) await finishQueued(client);
      // What ended before the upgrade is read as it ended, and ends where it had not.
      for (const { id } of instances) {
        const { status, output } = await client.waitForOrchestration(`done-${id}`, 60_000);
        expect({ id, status, output }).toEqual({
          id,
          status: 'Completed',
          output: id === 'parent' ? expectedOutputs[id] : expectedOutputs[id],
        });
        for (const execution of await client.listExecutions(`done-${id}`)) {
          expect((await client.readExecutionHistory(`done-${id}`, execution)).length).toBeGreaterThan(0);
        }
      }
      expect(runtime.metricsSnapshot()).toMatchObject({ orchConfigurationErrors: 0, orchPoison: 0, warmMismatches: 0 });
      const { rows } = await withClient((connection) =>
        connection.query<{ name: string }>(`select name from ${schema}.ddz_migrations where kind = 'base' order by 1`),
      );
      expect(rows.map(({ name }) => name)).toEqual(builtInMigrations.map(({ name }) => name));
    },
  );

  if (!thorough(release)) return;

  test('a rolling upgrade: its workers go on beside those of this code, on a schema that this code has migrated', async () => {
    const schema = freshSchema();
    const old = await packageOf(release);
    cleanUps.push(() => old.remove());
    const oldProvider = await connect(old.code, schema);
    const oldRuntime = await startRuntime(old.code, oldProvider);
    const oldClient = new old.code.Client(oldProvider);
    await startAll(oldClient, 'a-');
    // The first process of the new version comes up, and migrates.
    const provider = await connect(today, schema);
    await startRuntime(today, provider);
    const client = new Client(provider);
    // Started by either, run by both; what one began the other may go on with.
    await Promise.all([startAll(oldClient, 'b-'), startAll(client, 'c-')]);
    expect(await finishAll(oldClient, 'a-')).toEqual(expectedOutputs);
    // The last old process goes.
    await oldRuntime.shutdown(5_000);
    expect(await finishAll(client, 'b-')).toEqual(expectedOutputs);
    expect(await finishAll(client, 'c-')).toEqual(expectedOutputs);
  });

  test('both versions on one pool of an application: prepared statements do not meet', async () => {
    const schema = freshSchema();
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 3 });
    cleanUps.push(() => pool.end());
    const old = await packageOf(release);
    cleanUps.push(() => old.remove());
    const oldProvider = await old.code.DrizzleProvider.fromPool(pool, {
      schema,
      clock,
      logger: silentLogger,
    });
    cleanUps.push(() => oldProvider.close());
    const provider = await DrizzleProvider.fromPool(pool, { schema, clock, logger: silentLogger });
    cleanUps.push(() => provider.close());
    await startRuntime(old.code, oldProvider);
    await startRuntime(today, provider);
    const oldClient = new old.code.Client(oldProvider);
    const client = new Client(provider);
    await Promise.all([startAll(oldClient, 'a-'), startAll(client, 'b-')]);
    expect(await finishAll(client, 'a-')).toEqual(expectedOutputs);
    expect(await finishAll(oldClient, 'b-')).toEqual(expectedOutputs);
  });
});

describe('every level that the schema has had', () => {
  // Those of a recording of their own are run above.
  const levels = builtInMigrations.map(({ name }, at) => [name, at + 1] as const);
  test.each(levels.filter(([, level]) => WHOLE || level === 2 || level === levels.length))(
    '%s is migrated, and its instances, timers, sessions and schedules go on',
    async (_name, level) => {
      const schema = freshSchema();
      const latest = releases.at(-1) ?? '';
      await withClient(async (client) => {
        await migrate(drizzle(client), { schema, exclusive: true, migrations: builtInMigrations.slice(0, level) });
        const { rows } = await client.query<{ name: string }>(
          'select table_name as name from information_schema.tables where table_schema = $1',
          [schema],
        );
        const tables = new Set(rows.map(({ name }) => name));
        const recorded = Object.entries(await rowsOf(latest));
        const fitting = recorded.filter(([table]) => tables.has(table) && table !== 'ddz_migrations');
        await putRows(client, schema, Object.fromEntries(fitting));
        await makeDue(client, schema);
      });
      const provider = await connect(today, schema);
      await startRuntime(today, provider);
      const client = new Client(provider);
      expect(await finishAll(client)).toEqual(expectedOutputs);
      const schedules = await client.schedules.list();
      await finishLater(client, schedules.length > 0);
    },
  );
});

describe('what native left, by level', () => {
  const levels = NATIVE_MIGRATIONS.map(({ version }) => version).filter((version) => version >= 20);

  test.each(levels)('level %i is adopted as it is, and its instances go on', async (level) => {
    const schema = freshSchema();
    // The tables of these levels are alike; 21 added a function, 23 changed predicates of indexes.
    await withClient(async (client) => {
      await client.query(`create schema ${schema}; set search_path to ${schema}`);
      await client.query(
        (builtInMigrations[0]?.statements ?? []).filter((statement) => !/ddz_/.test(statement)).join(';'),
      );
      await client.query(
        `create table _duroxide_migrations (version bigint primary key, name text not null, applied_at timestamptz default now())`,
      );
      for (const { version, name } of NATIVE_MIGRATIONS.filter((one) => one.version <= level)) {
        await client.query('insert into _duroxide_migrations (version, name) values ($1, $2)', [version, name]);
      }
      await insertRows(client, schema, recordedRows());
    });
    const provider = await connect(today, schema);
    const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off', workerTagFilter: 'any' });
    for (const [name, fn] of Object.entries(orchestrations)) runtime.registerOrchestration(name, fn);
    for (const [name, fn] of Object.entries(commonActivities())) runtime.registerActivity(name, fn);
    await runtime.start();
    cleanUps.push(() => runtime.shutdown(0));
    const client = new Client(provider);
    const ends = async (id: string) => (await client.waitForOrchestration(id, 60_000)).output;
    expect(await ends('done')).toEqual([{ n: 1 }, 2]);
    expect(await ends('steps-1')).toEqual([{ n: 2 }, 2]);
    expect(await ends('steps-2')).toEqual([3, 2]);
    expect(await ends('routes-1')).toEqual([{ ok: 1 }, { ok: 2 }, { ok: 3 }]);
    expect(await ends('subscribes-1')).toEqual([{ ok: [1, 2] }, { ok: { a: 1 } }]);
    expect(await ends('unborn')).toEqual([{ text: 'naïve 漢字 🎉 \u0000' }, 2]);
    expect((await client.waitForOrchestration('sleeps-1', 60_000)).status).toBe('Failed');
    expect((await client.waitForOrchestration('fails-1', 60_000)).status).toBe('Failed');
    expect((await client.getStatus('nowhere-1')).status).toBe('Running');
  });
});
