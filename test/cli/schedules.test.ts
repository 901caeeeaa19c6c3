import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { cli, cliJson } from '../support/cli.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';

const schema = uniqueSchema('cli');
let provider: DrizzleProvider;
let client: Client;

beforeAll(async () => {
  provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
  client = new Client(provider);
  await client.schedules.create({
    id: 'nightly',
    orchestration: 'Report',
    input: { kind: 'sales' },
    cron: '0 2 * * *',
    timeZone: 'Europe/Berlin',
  });
}, 60_000);
afterAll(async () => {
  await provider.close();
  await dropSchema(schema);
});

const at = (...argv: string[]) => cli(['schedules', ...argv, '--schema', schema]);
const json = <T>(...argv: string[]) => cliJson<T>(['schedules', ...argv, '--schema', schema]);

test('a list says when each fires, which is paused, and what is wrong with one', async () => {
  await client.schedules.create({ id: 'broken', orchestration: 'Report', everyMs: 60_000 });
  await withClient((pg) =>
    pg.query(`update ${schema}.ddz_schedules set is_paused = true, next_fire_ms = null, problem = 'no such zone'
      where schedule_id = 'broken'`),
  );
  await client.schedules.create({ id: '\u001b[31mred', orchestration: 'Report', everyMs: 90_000, paused: true });
  const { code, stdout } = await at();
  expect(code).toBe(0);
  const [headings, ...rows] = stdout.trimEnd().split('\n');
  expect(headings).toMatch(/^SCHEDULE +ORCHESTRATION +TIMES +NEXT FIRE +LAST FIRE +FIRED +STATE$/);
  expect(rows).toEqual([
    expect.stringMatching(/^\\u001b\[31mred +Report +every 1 min 30 s +- +- +0 +paused$/) as unknown,
    expect.stringMatching(/^broken .* paused: no such zone$/) as unknown,
    expect.stringMatching(
      /^nightly +Report +0 2 \* \* \* Europe\/Berlin +\d{4}-\d\d-\d\d 0[01]:00:00Z .* active$/,
    ) as unknown,
  ]);
  const { schedules } = await json<{ schedules: { id: string }[] }>('list', 'night');
  expect(schedules).toMatchObject([{ id: 'nightly', isPaused: false, problem: null, input: { kind: 'sales' } }]);
  await client.schedules.delete('broken');
});

test('show counts the next fires on the clocks of the schedule', async () => {
  const { stdout } = await at('show', 'nightly');
  expect(stdout).toMatch(/input +\{"kind":"sales"\}[^]*Next fires(\n.* 02:00:00 Europe\/Berlin){5}\n$/);
  const shown = await json<{ nextFiresAtMs: number[]; nextFireAtMs: number }>('show', 'nightly');
  expect(shown.nextFiresAtMs).toHaveLength(5);
  expect(shown.nextFiresAtMs[0]).toBe(shown.nextFireAtMs);
});

test('pause and resume stop and begin the fires, and say what was so already', async () => {
  expect((await at('pause', 'nightly')).stdout).toBe('paused\n');
  expect(await client.schedules.get('nightly')).toMatchObject({ isPaused: true, nextFireAt: null });
  expect((await at('pause', 'nightly')).stdout).toBe('it was paused already\n');
  expect((await at('resume', 'nightly')).stdout).toMatch(/^resumed\nit fires next at .*:00:00\.000Z\n$/);
  expect((await client.schedules.get('nightly')).isPaused).toBe(false);
  expect((await at('resume', 'nightly')).stdout).toMatch(/^it was not paused\n/);
});

test('trigger starts an instance now', async () => {
  const { instanceId } = await json<{ instanceId: string }>('trigger', 'nightly');
  expect(instanceId).toMatch(/^nightly@.*Z\+/);
  const queued = await withClient(async (pg) => {
    const { rows } = await pg.query(`select work_item from ${schema}.orchestrator_queue where instance_id = $1`, [
      instanceId,
    ]);
    return rows as { work_item: string }[];
  });
  expect(queued).toHaveLength(1);
  expect(JSON.parse(queued[0]!.work_item)).toMatchObject({
    StartOrchestration: { orchestration: 'Report', input: '{"kind":"sales"}' },
  });
});

test('create makes one, refuses an id that is taken, and changes it when that is asked for', async () => {
  const made = await at('create', 'often', 'Report', '{"n": 1}', '--every', '15m', '--overlap', 'skip');
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^created often\nit fires next at /) as unknown,
  });
  const taken = await at('create', 'often', 'Report', '--every', '30m');
  expect(taken.code).toBe(4);
  expect(taken.stderr).toContain(`there is a schedule "often" in schema "${schema}" already`);
  expect((await at('create', 'often', 'Report', '--every', '30m', '--update')).code).toBe(0);
  expect(await client.schedules.get('often')).toMatchObject({ everyMs: 1_800_000 });
});

test('create --queue, --key and --priority: its instances go through the queue, and show says so', async () => {
  await client.startQueues.create({ id: 'mails' });
  const into = ['--every', '15m', '--queue', 'mails', '--key', 'ann', '--priority', '5'];
  expect((await at('create', 'queued', 'Report', ...into)).code).toBe(0);
  expect((await at('show', 'queued')).stdout).toMatch(/\n +queue +mails, key ann, priority 5\n/);
  expect(await json('show', 'queued')).toMatchObject({ queue: 'mails', key: 'ann', priority: 5 });
  expect((await at('show', 'often')).stdout).not.toContain('queue');
  await client.schedules.delete('queued');
});

test('delete asks, and leaves the instances', async () => {
  const asked = await at('delete', 'often');
  expect(asked.code).toBe(4);
  expect(asked.stderr).toContain('Delete schedule "often" of Report, for good?');
  expect((await at('delete', 'often', '--yes')).stdout).toBe('deleted often; its instances stay\n');
  expect((await at('delete', 'often', '--yes')).code).toBe(3);
});

test.each([
  [['show', 'nobody'], 3, 'there is no schedule "nobody" in schema'],
  [['pause', 'nobody'], 3, 'there is no schedule "nobody" in schema'],
  [['trigger', 'nobody', '--timeout', '5m'], 2, '--timeout was given without --wait'],
  [['create', 'x', 'Report'], 2, 'neither --cron nor --every was given'],
  [['create', 'x', 'Report', '--cron', '* * * * *', '--every', '5m'], 2, 'both --cron and --every were given'],
  [['create', 'x', 'Report', '--cron', '99 * * * *'], 2, "schedule 'x': cron '99 * * * *' is not understood"],
  [['create', 'x', 'Report', '--every', '5m', '--overlap', 'maybe'], 2, 'Allowed choices are allow, skip'],
  [['create', 'x', 'Report', '--every', '5m', '--key', 'k'], 2, '--key was given without --queue'],
  [
    ['create', 'x', 'Report', '--every', '5m', '--queue', 'none'],
    2,
    "start queue 'none': there is no queue of this id",
  ],
  [['pause', 'nightly', '--jsn'], 2, "unknown option '--jsn'"],
] as const)('schedules %j ends with %i', async (argv, code, message) => {
  const result = await at(...argv);
  expect(result).toMatchObject({ code, stderr: expect.stringContaining(message) as unknown });
});
