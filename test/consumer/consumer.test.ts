import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import ts from 'typescript';
import { dropSchema, uniqueSchema } from '../support/database.js';
import { commandOf, type PackedPackage, packPackage } from './package-under-test.js';

// What an application has beside the package: its peers, and for ES modules its one dependency.
// CommonJS gets no `uuid`, which it could not load: it is part of that build.
const databases = ['drizzle-orm', 'pg', 'pg-mem', '@electric-sql/pglite'];

let packed: PackedPackage;
beforeAll(async () => {
  packed = await packPackage();
}, 300_000);
afterAll(() => packed.destroy());

describe('the packed package', () => {
  test('is used by plain require', async () => {
    const project = await packed.project('require', databases);
    expect(await project.node(['main.cjs'])).toContain('used by require, on PGlite and pg-mem');
  });

  test('is used by plain import', async () => {
    const project = await packed.project('import', [...databases, 'uuid']);
    expect(await project.node(['main.mjs'])).toContain('used by import, on PGlite and pg-mem');
  });

  test('is used in a CommonJS jest with ts-jest', async () => {
    const runner = ['jest', 'ts-jest', 'typescript', '@jest/globals', '@types/node', '@types/pg'];
    const project = await packed.project('jest-cjs', [...databases, ...runner]);
    expect(await project.node([await commandOf('jest')])).toContain('1 passed');
  });

  test('is used in an ESM jest', async () => {
    const project = await packed.project('jest-esm', [...databases, 'uuid', 'jest', '@jest/globals']);
    const output = await project.node(['--experimental-vm-modules', await commandOf('jest')]);
    expect(output).toContain('2 passed');
  });

  test('is used in vitest', async () => {
    const project = await packed.project('vitest', [...databases, 'uuid', 'vitest']);
    expect(await project.node([await commandOf('vitest'), 'run'])).toContain('2 passed');
  });

  test.each(['node16', 'bundler', 'node10'])('has types that resolve with module resolution %s', async (resolution) => {
    const project = await packed.project('types', [...databases, '@types/node', '@types/pg']);
    const compiler = await commandOf('typescript', 'tsc');
    expect(await project.node([compiler, '-p', `tsconfig.${resolution}.json`])).toBe('');
  });

  test.each([
    ['import', 'module'],
    ['require', 'commonjs'],
  ])('serves its dashboard, front end included, by %s', async (how, type) => {
    const project = await packed.project(how, [...databases, 'uuid', 'hono', '@hono/node-server']);
    const load = (name: string) => (how === 'import' ? `await import('${name}')` : `require('${name}')`);
    const script = `(async () => {
      const { DrizzleProvider } = ${load('duroxide-drizzle')};
      const { startDashboard } = ${load('duroxide-drizzle/dashboard')};
      const provider = await DrizzleProvider.embedded();
      const dashboard = await startDashboard({ provider, port: 0 });
      const page = await (await fetch(dashboard.url)).text();
      for (const [, file] of page.matchAll(/(?:src|href)="([^"]*[.](?:js|css|svg))"/g)) {
        console.log((await fetch(new URL(file, dashboard.url))).status, file);
      }
      await dashboard.close();
      await provider.close();
    })()`;
    const lines = (await project.node([`--input-type=${type}`, '-e', script])).trim().split('\n');
    expect(lines.map((line) => line.replace(/-\w{8}[.]/, '.')).sort()).toEqual([
      '200 /assets/app.js',
      '200 /assets/icon.svg',
      '200 /assets/style.css',
      '200 /assets/theme.js',
    ]);
  });

  test('runs the first program of the README', async () => {
    const [, source = ''] = /```ts\n(.*?)```/s.exec(await readFile('README.md', 'utf8')) ?? [];
    const [, expected = 'the README says what its program prints'] =
      /console\.log\(.*\); \/\/ → (.*)/.exec(source) ?? [];
    const program = ts.transpile(source, { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 });
    const project = await packed.project('import', [...databases, 'uuid']);
    expect(await project.node(['--input-type=module', '-e', program])).toContain(expected);
  });

  test.each([
    { format: 'import', flags: ['--input-type=module'], load: "await import('duroxide-drizzle')" },
    { format: 'require', flags: ['--input-type=commonjs'], load: "require('duroxide-drizzle')" },
  ])('finds the thread that renews locks, by plain $format', async ({ format, flags, load }) => {
    const schema = uniqueSchema('thread');
    const project = await packed.project(format, ['drizzle-orm', 'pg', ...(format === 'import' ? ['uuid'] : [])]);
    const script = `(async () => {
      const { Client, DrizzleProvider, Runtime } = ${load};
      const provider = await DrizzleProvider.connect(process.env.DDZ_TEST_DATABASE_URL, { schema: '${schema}' });
      const runtime = new Runtime(provider, { lockRenewal: 'worker-thread', workerLockTimeoutMs: 1000, logLevel: 'off' });
      runtime.registerActivity('Block', () => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
        return 'blocked';
      });
      runtime.registerOrchestration('Block', function* (ctx) { return yield ctx.scheduleActivity('Block'); });
      await runtime.start();
      const client = new Client(provider);
      await client.startOrchestration('i', 'Block');
      const { output } = await client.waitForOrchestration('i', 60000);
      console.log(output, runtime.metricsSnapshot().locksLost);
      await runtime.shutdown();
      await provider.close();
    })()`;
    expect(await project.node([...flags, '-e', script])).toBe('blocked 0\n');
    await dropSchema(schema);
  });

  test('says which package is missing when an optional one is', async () => {
    const project = await packed.project('import', ['drizzle-orm', 'uuid']);
    const script = `import { DrizzleProvider } from 'duroxide-drizzle';
      await DrizzleProvider.embedded().catch((error) => console.log(error.message));`;
    expect(await project.node(['--input-type=module', '-e', script])).toContain('npm install @electric-sql/pglite');
  });
});
