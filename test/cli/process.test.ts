import { closeSync, openSync } from 'node:fs';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { BUILT_CLI, buildCli } from '../support/built-cli.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';

const schema = uniqueSchema('cli');

/** More than a pipe holds. */
const ROWS = 8_000;

beforeAll(async () => {
  await buildCli();
  await (await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger })).close();
  await withClient((client) =>
    client.query(`insert into ${schema}.instances (instance_id, orchestration_name, created_at, updated_at)
      select 'order-' || n, 'Order', now() + n * interval '1 ms', now() from generate_series(1, ${ROWS}) n`),
  );
  await withClient((client) =>
    client.query(`update ${schema}.instances set custom_status = 'waiting', custom_status_version = 1
        where instance_id = 'order-1';
      insert into ${schema}.executions (instance_id, execution_id, started_at) values ('order-1', 1, now());
      analyze ${schema}.instances`),
  );
}, 300_000);
afterAll(() => dropSchema(schema));

/** The program as users run it. */
function program(
  ...argv: string[]
): ChildProcess & { readonly ended: Promise<{ code: number | null; stderr: string }> } {
  const child = spawn(process.execPath, [BUILT_CLI, ...argv, '--schema', schema], {
    env: { ...process.env, DATABASE_URL: databaseUrl() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr?.on('data', (text: Buffer) => (stderr += text.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stderr }));
  return Object.assign(child, { ended });
}

test('a reader that has enough ends the program quietly (EPIPE)', async () => {
  const child = program('list', '--all');
  await once(child.stdout as NodeJS.EventEmitter, 'data');
  child.stdout?.destroy();
  expect(await child.ended).toEqual({ code: 141, stderr: '' });
}, 60_000);

test.each([[['list']], [['list', '--all']], [['list', '--json']], [['completion', 'bash']]])(
  'output that cannot be written is one line of an error, and no stack: %j',
  async (argv) => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [BUILT_CLI, ...argv, '--schema', schema], {
      env: { ...process.env, DATABASE_URL: databaseUrl() },
      stdio: ['ignore', full, 'pipe'],
    });
    let stderr = '';
    child.stderr?.on('data', (text: Buffer) => (stderr += text.toString()));
    const [code] = (await once(child, 'close')) as [number];
    closeSync(full);
    expect(stderr).toContain('the output cannot be written (ENOSPC)');
    expect(
      stderr
        .trimEnd()
        .split('\n')
        .filter((line) => line.includes('rror')),
    ).toHaveLength(1);
    expect(stderr).not.toContain('    at ');
    expect(code).toBe(141);
  },
  60_000,
);

test('all of a long answer arrives in a pipe', async () => {
  const child = program('list', '--all', '--json');
  let lines = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) lines += 1;
  });
  expect(await child.ended).toEqual({ code: 0, stderr: '' });
  expect(lines).toBe(ROWS);
}, 60_000);

test('a terminal that is closed, or Ctrl-C, ends a watch with 130', async () => {
  for (const signal of ['SIGHUP', 'SIGINT'] as const) {
    const child = program('watch', 'order-1', '--json');
    const [first] = (await once(child.stdout as NodeJS.EventEmitter, 'data')) as [Buffer];
    expect(first.toString()).toContain('"customStatus":"waiting"');
    child.kill(signal);
    expect((await child.ended).code).toBe(130);
  }
}, 60_000);
