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
  expect(await json('rep')).toMatchObject({ queues: [{ id: 'reports', waiting: 1, running: 0, isPaused: false }] });

  expect((await at('pause', 'reports')).stdout).toBe('paused\n');
  expect((await at('pause', 'reports')).stdout).toBe('it was paused already\n');
  expect(await json('list', 'rep')).toMatchObject({ queues: [{ isPaused: true }] });
  expect((await at('resume', 'reports')).stdout).toBe('resumed\n');
  expect(await at('pause', 'none')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`there is no start queue "none" in schema "${schema}"`) as unknown,
  });

  await withClient((pg) => pg.query(`drop table ${schema}.ddz_queued_starts, ${schema}.ddz_start_queues`));
  expect(await at()).toMatchObject({ code: 6, stderr: expect.stringContaining('--adopt-tables') as unknown });
});
