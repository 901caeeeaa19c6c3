import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { databaseUrl, dropSchema } from '../support/database.js';

const run = promisify(execFile);
const root = process.cwd();
const QUICK_PGLITE = pathToFileURL(path.join(root, 'test/support/pglite/preload.mjs')).href;

/** What each example says when it worked. */
const EXAMPLES: Readonly<Record<string, RegExp>> = {
  'hello.mjs': /Completed, Hello, World!/,
  'fan-out.mjs': /\d+ words counted, \d+ refused/,
  'approval.mjs': /: approved by Ann\n[\s\S]*: expired\n/,
  'monitor.mjs': /\d+ executions, the last one with a short history/,
  'transactional.mjs': /: paid 100, 1 payments\n[\s\S]*: not paid, 0 payments\n[\s\S]*never started/,
  'saga.mjs': /BookHotel[\s\S]*BookCar fails[\s\S]*CancelHotel[\s\S]*CancelFlight[\s\S]*undone: .*no cars left/,
};

// The examples import the package by its name, so they run what was built.
beforeAll(async () => {
  if (!existsSync(path.join(root, 'dist', 'index.js'))) await run('npm', ['run', 'build'], { cwd: root });
}, 300_000);

async function example(file: string, url?: string): Promise<string> {
  // An empty one means none to the examples: they fall back to PGlite.
  const env = { ...process.env, DATABASE_URL: url ?? '' };
  const { stdout } = await run(process.execPath, ['--import', QUICK_PGLITE, path.join('examples', file)], {
    cwd: root,
    env,
  });
  return stdout;
}

describe('examples on PGlite', () => {
  test.each(Object.entries(EXAMPLES))('%s', async (file, says) => {
    expect(await example(file)).toMatch(says);
  });
});

describe('examples on PostgreSQL', () => {
  afterAll(() => dropSchema('duroxide_examples'));

  test.each(Object.entries(EXAMPLES))('%s', async (file, says) => {
    expect(await example(file, databaseUrl())).toMatch(says);
  });
});
