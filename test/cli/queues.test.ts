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
