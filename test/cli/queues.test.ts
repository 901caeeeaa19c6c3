import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { declareOrchestration } from '../../src/typed/definitions.js';
import { cli, cliJson } from '../support/cli.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';

const schema = uniqueSchema('cli');
const mail = declareOrchestration<string, string>('Mail');
let provider: DrizzleProvider;
let client: Client;

beforeAll(async () => {
  provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger, maxConnections: 2 });
  client = new Client(provider);
});
afterAll(async () => {
  await provider.close();
  await dropSchema(schema);
});

const at = (...argv: string[]) => cli(['queues', ...argv, '--schema', schema]);
const json = <T>(...argv: string[]) => cliJson<T>(['queues', ...argv, '--schema', schema]);

test('start --queue waits in the queue, by key and priority; not without one, and not in an unknown one', async () => {
  await client.startQueues.create({ id: 'letters', concurrency: 1 });
  const start = (...argv: string[]) => cli(['start', 'Mail', '"x"', ...argv, '--schema', schema]);
  expect((await start('--id', 'l-1', '--queue', 'letters', '--key', 'ann', '--priority', '-5')).code).toBe(0);
  expect(await client.startQueues.get('letters')).toMatchObject({ waiting: 1 });
  await withClient(async (pg) => {
    const { rows } = await pg.query(`select instance_id, start_key, priority from ${schema}.ddz_queued_starts`);
    expect(rows).toEqual([{ instance_id: 'l-1', start_key: 'ann', priority: -5 }]);
  });
  expect(await start('--id', 'l-1')).toMatchObject({ code: 4, stderr: expect.stringContaining('l-1') as unknown });
  expect(await start('--key', 'ann')).toMatchObject({ code: 2, stderr: expect.stringContaining('--queue') as unknown });
  expect(await start('--queue', 'none')).toMatchObject({ code: 2, stderr: expect.stringContaining('none') as unknown });
  const on = (...argv: string[]) => cli([...argv, '--schema', schema]);
  const why = /instance "l-1" of orchestration "Mail" .* has not begun: it waits in start queue "letters" for/;
  expect(await on('show', 'l-1')).toMatchObject({ code: 3, stderr: expect.stringMatching(why) as unknown });
  expect(await on('watch', 'l-1', '--timeout', '0s')).toMatchObject({
    code: 8,
    stderr: expect.stringMatching(why) as unknown,
  });
  expect((await on('enqueue', 'l-1', 'box', '1')).stdout).toBe('enqueued into box\n');
  expect((await on('delete', 'l-1', '--dry-run')).stdout).toMatch(
    /l-1 +Mail +waits in start queue "letters"\nwould delete 1 instance with all children\n/,
  );
  expect((await on('delete', 'l-1', '--yes')).code).toBe(0);
  expect(await client.startQueues.get('letters')).toMatchObject({ waiting: 0 });
  expect((await on('show', 'l-1')).stderr).toContain('there is no instance "l-1"');

  await start('--id', 'l-2', '--queue', 'letters');
  expect((await on('cancel', 'l-2', '--yes')).code).toBe(0);
  expect(await client.startQueues.get('letters')).toMatchObject({ waiting: 0 });
  expect((await on('raise', 'l-2', 'go')).code).toBe(0);
  expect((await on('cancel', 'l-2', '--yes', '--wait', '--timeout', '0s')).code).toBe(8);
  expect(await on('delete', 'l-2', '--force', '--yes')).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/has not begun: a message waits for a worker .* cannot be taken back/) as unknown,
  });
  await client.startQueues.delete('letters', { waiting: 'discard' });
});

test('queues: the limits and what waits, in text and JSON; pause and resume; an unknown one', async () => {
  expect((await at()).stderr).toContain('no start queues');
  await client.startQueues.create({ id: 'reports' });
  const limits = { concurrency: 20, concurrencyPerKey: 1, rate: { limit: 100, periodMs: 60_000 } };
  await client.startQueues.create({ id: '\u001b[31memails', ...limits });
  await client.start(mail, 'x', { id: 'm', queue: 'reports' });
  const [headings, ...rows] = (await at()).stdout.trimEnd().split('\n');
  expect(headings).toMatch(/^QUEUE +CONCURRENCY +PER KEY +RATE +RATE PER KEY +WAITING +OLDEST +RUNNING +STATE$/);
  expect(rows).toEqual([
    expect.stringMatching(/^\\u001b\[31memails +20 +1 +100 in 1 min +- +0 +- +0 +active$/) as unknown,
    expect.stringMatching(/^reports +- +- +- +- +1 +\d+ \S+.* +0 +active$/) as unknown,
  ]);
  expect(await json('list', 'rep')).toMatchObject({
    queues: [{ id: 'reports', waiting: 1, running: 0, isPaused: false }],
  });

  expect((await at('pause', 'reports')).stdout).toBe('paused\n');
  expect((await at('pause', 'reports')).stdout).toBe('it was paused already\n');
  expect(await json('list', 'rep')).toMatchObject({ queues: [{ isPaused: true }] });
  expect((await at('resume', 'reports')).stdout).toBe('resumed\n');
  for (const argv of [
    ['list', 'none'],
    ['list', 'none', '--json'],
  ]) {
    expect(await at(...argv)).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('there is no start queue') as unknown,
    });
  }
  expect(await at('pause', 'none')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`there is no start queue "none" in schema "${schema}"`) as unknown,
  });

  await withClient((pg) => pg.query(`drop table ${schema}.ddz_queued_starts, ${schema}.ddz_start_queues`));
  expect(await at()).toMatchObject({ code: 6, stderr: expect.stringContaining('--adopt-tables') as unknown });
});

test('doctor: starts that wait although there is room, or without a queue; nothing of those that wait for good reason', async () => {
  const sick = uniqueSchema('cli');
  const own = await DrizzleProvider.connect(databaseUrl(), { schema: sick, logger: silentLogger });
  const queues = new Client(own).startQueues;
  await queues.create({ id: 'free', concurrency: 1 });
  await queues.create({ id: 'full', concurrency: 1 });
  await queues.create({ id: 'ended lately', concurrency: 1 });
  await queues.create({ id: 'ended long ago', concurrency: 1 });
  await queues.create({ id: 'one key is full', concurrencyPerKey: 1 });
  await queues.create({ id: 'the other has room', concurrencyPerKey: 1 });
  await queues.create({ id: 'rate spent', rate: { limit: 1, periodMs: 3_600_000 } });
  await queues.create({ id: 'rate of a key spent', ratePerKey: { limit: 1, periodMs: 3_600_000 } });
  await queues.create({ id: 'rate open', rate: { limit: 1, periodMs: 1_000 }, ratePerKey: { limit: 1, periodMs: 1 } });
  await queues.create({ id: 'paused', paused: true });
  await queues.create({ id: 'young' });
  await queues.create({ id: 'changed lately' });
  await own.close();
  await withClient(async (pg) => {
    await pg.query(`set search_path to ${sick}`);
    const ago = (ms: number) => `((extract(epoch from clock_timestamp()) * 1000)::bigint - ${ms})`;
    const old = 180_000;
    await pg.query(`update ddz_start_queues set updated_ms = ${ago(old)} where queue_id <> 'changed lately'`);
    const add = (queue: string, key: string, enqueued: number, admitted: number | null, instance: string) =>
      pg.query(
        `insert into ddz_queued_starts (instance_id, queue_id, start_key, priority, work_item, enqueued_ms, admitted_ms)
         values ($1, $2, $3, 0, '{}', ${ago(enqueued)}, ${admitted === null ? 'null' : ago(admitted)})`,
        [instance, queue, key],
      );
    const run = async (instance: string, completedMs?: number) => {
      await pg.query(
        `insert into instances (instance_id, orchestration_name, created_at, updated_at) values ($1, 'O', now(), now())`,
        [instance],
      );
      await pg.query(
        `insert into executions (instance_id, execution_id, status, started_at, completed_at)
         values ($1, 1, $2, now(), clock_timestamp() - $3::float8 * interval '1 ms')`,
        [instance, completedMs === undefined ? 'Running' : 'Completed', completedMs ?? null],
      );
    };
    for (const queue of [
      'free',
      'full',
      'ended lately',
      'ended long ago',
      'one key is full',
      'the other has room',
      'rate spent',
      'rate of a key spent',
      'rate open',
      'paused',
      'changed lately',
      'lost \u001b[31m',
    ])
      await add(queue, 'a', old, null, `waits in ${queue}`);
    await add('young', 'a', 1_000, null, 'young');
    await add('the other has room', 'b', old, null, 'b');
    for (const [queue, completedMs] of [
      ['full'],
      ['one key is full'],
      ['the other has room'],
      ['ended lately', 1_000],
      ['ended long ago', 120_000],
    ] as const) {
      await add(queue, 'a', old, old, `runs in ${queue}`);
      await run(`runs in ${queue}`, completedMs);
    }
    for (const queue of ['rate spent', 'rate of a key spent', 'rate open']) {
      await add(queue, 'a', old, old, `was in ${queue}`);
      await run(`was in ${queue}`, old);
    }
  });
  const ask = async () => {
    const { findings } = JSON.parse((await cli(['doctor', '--json', '--schema', sick])).stdout) as {
      findings: { check: string; level: string; text: string; advice?: string }[];
    };
    return findings.filter(({ check }) => check === 'start queues');
  };
  const found = await ask();
  expect(found.map(({ level, text }) => `${level} ${text.replace(/ \d+ s\b/, '')}`).sort()).toEqual([
    'problem 1 start waits in queue "lost \\u001b[31m", the oldest for 3 min, and there is no queue of this id',
    'warning 1 start waits in queue "ended long ago", the oldest for 3 min, although its limits leave room',
    'warning 1 start waits in queue "free", the oldest for 3 min, although its limits leave room',
    'warning 1 start waits in queue "rate open", the oldest for 3 min, although its limits leave room',
    'warning 2 starts wait in queue "the other has room", the oldest for 3 min, although its limits leave room',
  ]);
  expect(found.at(-1)?.advice).toContain('no worker runs on this schema');
  await withClient((pg) =>
    pg.query(`delete from ${sick}.ddz_queued_starts where queue_id ~ 'lost|free|room|long|open'`),
  );
  expect(await ask()).toMatchObject([
    { level: 'ok', text: expect.stringMatching(/^8 starts wait for room; 1 queue is paused$/) as unknown },
  ]);
  await withClient((pg) => pg.query(`drop table ${sick}.ddz_queued_starts, ${sick}.ddz_start_queues`));
  expect(await ask()).toEqual([]);
  await dropSchema(sick);
});
