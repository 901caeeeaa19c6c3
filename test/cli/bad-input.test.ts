import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { cli } from '../support/cli.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';

const schema = uniqueSchema('cli');
const folder = mkdtempSync(path.join(tmpdir(), 'ddz-cli-'));

beforeAll(async () => {
  await (await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger })).close();
});
afterAll(async () => {
  await dropSchema(schema);
  rmSync(folder, { recursive: true, force: true });
});

/** The URL of the tests with another user, password, port or database. */
function urlWith(change: (url: URL) => void): string {
  const url = new URL(databaseUrl());
  change(url);
  return url.href;
}

describe('command lines', () => {
  test.each([
    [['lsit'], "unknown command 'lsit'"],
    [['queues', 'create', 'q'], "unknown command 'create'"],
    [['schedules', 'pasue', 'x'], "unknown command 'pasue'\n(Did you mean pause?)"],
    [['schedules', 'foo'], "unknown command 'foo'"],
    [['start', ''], "the orchestration is ''; expected the name"],
    [['schedules', 'create', 'x', '', '--every', '1h'], "expected an orchestration: a definition or its name, got ''"],
    [
      ['start', 'X', '--orchestration-version', '9.x'],
      "orchestration 'X': expected a version such as 1.2.3, got '9.x'",
    ],
    [
      ['schedules', 'create', 'x', 'X', '--every', '1h', '--orchestration-version', '9.x'],
      "orchestration 'X': expected a version such as 1.2.3, got '9.x'",
    ],
    [['list', '--sttaus', 'x'], "unknown option '--sttaus'"],
    [['list', '--status', 'lost'], 'Expected one of Running, Completed, Failed, ContinuedAsNew'],
    [['list', '--limit', '0'], 'Expected a whole number from 1 to 100000'],
    [['list', '--since', 'yesterday'], 'Expected a moment such as'],
    [['list', '--since', '99999999999d'], "'99999999999d' is invalid. Expected a duration of at most 100000000d"],
    [['list', '--since', '9999999d'], "'9999999d' is invalid. Expected a moment from 0001-01-01 on"],
    [['list', '--updated-until', '0000-05-01'], "'0000-05-01' is invalid. Expected a moment from 0001-01-01 on"],
    [['watch', 'x', '--timeout', '99999999999w'], 'Expected a duration of at most 100000000d'],
    [['list', '--roots', '--parent', 'x'], 'both --roots and --parent were given'],
    [['show'], "missing required argument 'id'"],
    [['show', 'a', 'b'], 'too many arguments'],
    [['watch', 'x', '--timeout', 'soon'], 'Expected a duration such as'],
    [['completion', 'tcsh'], 'Allowed choices are bash, zsh, fish'],
    [['list', '--schema', 'Bad-Name'], 'invalid schema name "Bad-Name"'],
    [['list', '--url', 'mysql://root:secret@x/y'], '--url is a mysql: URL; expected postgres://'],
    [['list', '--url', 'nonsense'], '--url is no URL'],
    [['list', '--url', 'postgres://x', '--pglite', 'y'], 'both --url and --pglite were given'],
    [['migrate', '--hand-over-to-native', '--stored-functions'], 'expected it alone'],
    [['doctor', '--module', 'x.mjs'], '--module was given without --deep; expected both'],
    [['list', '--after', 'bm9uc2Vuc2U'], 'after is not a cursor of a page'],
  ])('%j exits with 2 and says: %s', async (argv, message) => {
    const { code, stdout, stderr } = await cli(argv.includes('--schema') ? argv : [...argv, '--schema', schema]);
    expect(stderr).toContain(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('without a command the help is shown, as a mistake; asked for, as an answer', async () => {
    const nothing = await cli([]);
    expect(nothing).toMatchObject({ code: 2, stdout: '' });
    expect(nothing.stderr).toContain('Usage: duroxide-drizzle');
    const help = await cli(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const word of [
      'migrate',
      'doctor',
      'list',
      'show',
      'watch',
      'start',
      'raise',
      'enqueue',
      'cancel',
      'retry',
      'prune',
      'delete',
      'stats',
      'workers',
      'export',
      'replay',
      'dashboard',
      'demo',
      'completion',
    ]) {
      expect(help.stdout).toMatch(new RegExp(`^ {2}${word} `, 'm'));
    }
    expect((await cli(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('with --json errors are JSON, too', async () => {
    for (const argv of [
      ['list', '--bogus'],
      ['show', 'nobody', '--schema', schema],
    ]) {
      const { code, stderr } = await cli([...argv, '--json']);
      expect(JSON.parse(stderr)).toMatchObject({ error: { exitCode: code, message: expect.any(String) as unknown } });
    }
  });

  test('without any database it says what to give', async () => {
    const { code, stderr } = await cli(['list'], { env: { DATABASE_URL: undefined } });
    expect(code).toBe(2);
    expect(stderr).toContain('no database was given; expected DATABASE_URL, --url postgres://… or --pglite DIRECTORY');
  });

  test('a cursor of another query is refused', async () => {
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
    const { cursorOf } = await import('../../src/provider/drizzle/admin/page-query.js');
    const cursor = cursorOf({ createdAt: '2026-01-01 00:00:00+00', instance: 'x' }, { limit: 1, status: 'Failed' });
    await provider.close();
    const { code, stderr } = await cli(['list', '--after', cursor, '--schema', schema]);
    expect(code).toBe(2);
    expect(stderr).toContain('after is the cursor of another query');
    expect((await cli(['list', '--status', 'Failed', '--after', cursor, '--schema', schema])).code).toBe(0);
  });
});

test('where nothing is there, a sentence says so, and no headings', async () => {
  for (const [argv, text] of [
    [['list'], 'no instances\n'],
    [['queues'], 'no start queues\n'],
    [['schedules'], `no schedules in schema "${schema}"\n`],
  ] as const) {
    expect(await cli([...argv, '--schema', schema])).toEqual({ code: 0, stdout: '', stderr: text });
  }
});

describe('databases', () => {
  test('one that is down, or does not exist, and a role that is unknown; passwords are never printed', async () => {
    const down = await cli(['list', '--url', 'postgres://me:hunter2secret@127.0.0.1:1/db']);
    expect(down.code).toBe(5);
    expect(down.stderr).toContain('ECONNREFUSED');
    const absent = await cli([
      'list',
      '--url',
      urlWith((url) => ((url.pathname = '/nowhere_db'), (url.password = 'hunter2secret'))),
    ]);
    expect(absent.code).toBe(5);
    expect(absent.stderr).toContain('"nowhere_db" does not exist');
    const role = await cli([
      'doctor',
      '--url',
      urlWith((url) => ((url.username = 'nobody_here'), (url.password = 'hunter2secret'))),
    ]);
    expect(role.code).toBe(5);
    for (const { stdout, stderr } of [down, absent, role]) expect(stdout + stderr).not.toContain('hunter2secret');
  });

  test('an empty one, and a directory that PGlite did not make: nothing is created', async () => {
    const empty = uniqueSchema('cli');
    const { code, stderr } = await cli(['list', '--schema', empty]);
    expect(code).toBe(6);
    expect(stderr).toContain(`schema "${empty}" of `);
    expect(stderr).toContain(`npx duroxide-drizzle migrate --schema ${empty}`);
    expect((await cli(['doctor', '--schema', empty])).code).toBe(7);
    expect((await cli(['start', 'X', '--schema', empty])).code).toBe(6);
    await withClient(async (client) => {
      expect((await client.query('select from pg_namespace where nspname = $1', [empty])).rowCount).toBe(0);
    });
    const directory = await cli(['list', '--pglite', folder]);
    expect(directory.code).toBe(3);
    expect(directory.stderr).toContain('is no directory of PGlite');
  });

  test('a read-only one can be read, and a write says why it is not', async () => {
    const url = urlWith((given) => given.searchParams.set('options', '-c default_transaction_read_only=on'));
    const at = (...argv: string[]) => cli([...argv, '--url', url, '--schema', schema]);
    expect((await at('list')).code).toBe(0);
    const start = await at('start', 'Hello', '--id', 'never');
    expect(start.code).toBe(5);
    expect(start.stderr).toContain('read-only');
    expect((await at('doctor')).stdout).toContain('problem  writable: transactions are read-only');
    expect((await cli(['show', 'never', '--schema', schema])).code).toBe(3);
  });

  test('a schema that is newer, and one that is damaged', async () => {
    const newer = uniqueSchema('cli');
    await (await DrizzleProvider.connect(databaseUrl(), { schema: newer, logger: silentLogger })).close();
    await withClient((client) =>
      client.query(`insert into ${newer}.ddz_migrations values ('9999_future', 'base', now())`),
    );
    const refused = await cli(['list', '--schema', newer]);
    expect(refused.code).toBe(6);
    expect(refused.stderr).toContain('a newer duroxide-drizzle migrated it (unknown here: 9999_future)');
    await withClient((client) =>
      client.query(`delete from ${newer}.ddz_migrations where name = '9999_future'; drop table ${newer}.history`),
    );
    const damaged = await cli(['list', '--schema', newer]);
    expect(damaged.code).toBe(6);
    expect(damaged.stderr).toContain('table history is missing');
    expect((await cli(['doctor', '--schema', newer])).code).toBe(7);
    await dropSchema(newer);
  });
});

test.each([
  [`it's "$HOME" & more; --x`],
  ['--all'],
  ['-'],
  ['two\nlines \u001b[31m, \\ and \u0085'],
  ['ünïcode/100%?&#'],
])('the id %j is taken as it is, and told so that a shell gives it back', async (id) => {
  const started = await cli(['start', 'Hello', `--id=${id}`, '--schema', schema]);
  expect(started.code).toBe(0);
  // eslint-disable-next-line no-control-regex -- these would steer the terminal
  expect(started.stderr).not.toMatch(/[\u001b\u0085]/);
  const [, words = ''] = /follow it with: npx duroxide-drizzle (.*)\n/.exec(started.stderr) ?? [];
  const { stdout } = await promisify(execFile)('bash', ['-c', `printf '%s\\0' ${words}`]);
  const argv = stdout.split('\0').slice(0, -1);
  expect(argv).toEqual(['watch', '--schema', schema, ...(id.startsWith('-') ? ['--'] : []), id]);
  // No worker has taken it yet, and it is this very id that waits.
  const watched = await cli(['watch', '--timeout', '0s', ...argv.slice(1)]);
  expect(watched.code).toBe(8);
  expect(watched.stderr).toContain('has not begun');
});

describe('migrate', () => {
  test('creates what is missing, and with --dry-run only prints the SQL of it', async () => {
    const fresh = uniqueSchema('cli');
    const dry = await cli(['migrate', '--dry-run', '--schema', fresh]);
    expect(dry.code).toBe(0);
    expect(dry.stdout).toMatch(new RegExp(`create schema "${fresh}";[^]*CREATE TABLE "instances"`));
    expect((await cli(['list', '--schema', fresh])).code).toBe(6);
    expect((await cli(['migrate', '--schema', fresh])).stdout).toMatch(/applied schema\n[^]*applied 0000_base/);
    expect((await cli(['migrate', '--schema', fresh])).stdout).toBe(`schema "${fresh}" is up to date\n`);
    expect((await cli(['migrate', '--notify-triggers', '--stored-functions', '--schema', fresh])).stdout).toBe(
      'applied notify_triggers\napplied stored_functions\n',
    );
    await dropSchema(fresh);
  });

  test('a hand-over is asked for, refused while anything is locked, and done once', async () => {
    const mine = uniqueSchema('cli');
    const at = (...argv: string[]) => cli(['migrate', ...argv, '--schema', mine]);
    await at();
    expect((await at('--hand-over-to-native')).code).toBe(4);
    await withClient((client) =>
      client.query(
        `insert into ${mine}.instance_locks values ('x', 't', (extract(epoch from now()) * 1000)::bigint + 60000, 0)`,
      ),
    );
    const locked = await at('--hand-over-to-native', '--yes');
    expect(locked.code).toBe(6);
    expect(locked.stderr).toContain('locked');
    await withClient((client) => client.query(`truncate ${mine}.instance_locks`));
    expect((await at('--hand-over-to-native', '--dry-run')).stdout).toContain('would hand schema');
    expect((await at('--hand-over-to-native', '--yes')).stdout).toContain('applied handed_over_to_native');
    expect((await at('--hand-over-to-native', '--dry-run')).stdout).toBe('handed over already\n');
    await dropSchema(mine);
  });
});
