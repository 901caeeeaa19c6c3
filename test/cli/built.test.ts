import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { BUILT_CLI, buildCli } from '../support/built-cli.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';

const run = promisify(execFile);
const schema = uniqueSchema('cli');

beforeAll(async () => {
  await buildCli();
  await (await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger })).close();
}, 300_000);
afterAll(() => dropSchema(schema));

/** The packages whose files were loaded, and nothing of Node or of ours. */
function packagesIn(stderr: string): string[] {
  const names = [...stderr.matchAll(/^loaded file:.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(([, name]) => name);
  return [...new Set(names)].sort() as string[];
}

describe('the built program', () => {
  test.each([[['--help']], [['--version']], [['list', '--help']], [['lsit']]])(
    '%j loads neither Drizzle nor a driver nor a server',
    async (argv) => {
      const watch = pathToFileURL(path.resolve('test/support/loaded-modules.mjs')).href;
      const { stderr } = await run(process.execPath, ['--import', watch, BUILT_CLI, ...argv]).catch(
        (error: unknown) => error as { stderr: string },
      );
      expect(packagesIn(stderr)).toEqual(['commander', 'picocolors']);
    },
  );

  test('--version and --help answer on stdout, and end with 0', async () => {
    expect((await run(process.execPath, [BUILT_CLI, '--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run(process.execPath, [BUILT_CLI, '--help'])).stdout).toContain('Usage: duroxide-drizzle');
  });
});

describe('the dashboard of the built program', () => {
  let child: ChildProcess;
  let url: string;
  let ended: Promise<unknown[]>;
  let stderr = '';

  beforeAll(async () => {
    child = spawn(process.execPath, [BUILT_CLI, 'dashboard', '--port', '0', '--read-only', '--schema', schema], {
      env: { ...process.env, DATABASE_URL: databaseUrl() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    ended = once(child, 'close');
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    url = await new Promise<string>((resolve, reject) => {
      let stdout = '';
      child.stdout?.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
        const [, found] = /^the dashboard is at (http:\S+)\n/m.exec(stdout) ?? [];
        if (found !== undefined) resolve(found);
      });
      void ended.then(([code]) => reject(new Error(`it ended with ${String(code)}: ${stderr}`)));
    });
  });
  afterAll(() => {
    child.kill('SIGKILL');
  });

  test('serves the page with all of its files, and answers with what is in the schema', async () => {
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    const page = await fetch(url);
    expect(page.status).toBe(200);
    const html = await page.text();
    const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file ?? '');
    expect(files.map((file) => path.extname(file)).sort()).toEqual(['.css', '.js', '.js', '.svg']);
    const types: (string | null)[] = [];
    for (const file of files) {
      const asset = await fetch(new URL(file, url));
      expect(asset.status).toBe(200);
      expect((await asset.arrayBuffer()).byteLength).toBeGreaterThan(100);
      types.push(asset.headers.get('content-type'));
    }
    expect(new Set(types)).toEqual(
      new Set(['image/svg+xml', 'text/css; charset=utf-8', 'text/javascript; charset=utf-8']),
    );
    const instances = await fetch(new URL('/api/instances?limit=10', url));
    expect(await instances.json()).toMatchObject({ rows: [], next: null });
  });

  test('with --read-only it changes nothing', async () => {
    const answer = await fetch(new URL('/api/actions/cancel', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-duroxide-dashboard': '1', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ id: 'order-1' }),
    });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ error: { code: 'read_only' } });
  });

  test('does not answer under the name of another host', async () => {
    // Not `fetch`: it writes this header itself.
    const asked = request(url, { headers: { host: 'evil.example' } });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [{ statusCode: number; resume(): void }];
    answer.resume();
    expect(answer.statusCode).toBe(403);
  });

  test('ends on SIGTERM with 0, whoever looks on', async () => {
    const live = await fetch(new URL('/api/live/overview', url));
    expect(live.status).toBe(200);
    child.kill('SIGTERM');
    await live.text().catch(() => 'the stream was cut'); // either way it is over
    expect(await ended).toEqual([0, null]);
    expect(stderr).not.toContain('error');
  });
});
