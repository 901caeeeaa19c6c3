import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import ts from 'typescript';
import { codeBlocks } from '../docs/code-blocks.js';
import { dropSchema, uniqueSchema } from '../support/database.js';
import { type Runs, runsOf } from './runs.js';
import { commandOf, type PackedPackage, packPackage } from './package-under-test.js';

// What an application has beside the package: its peers, and for ES modules its one dependency.
// CommonJS gets no `uuid`, which it could not load: it is part of that build.
const databases = ['drizzle-orm', 'pg', 'pg-mem', '@electric-sql/pglite'];
const telemetry = ['@opentelemetry/api', '@opentelemetry/sdk-trace-base'];

const threadSchemas = { import: uniqueSchema('thread'), require: uniqueSchema('thread') };

/** The programs of the guide as files of a project; `language` is what its runner can read. */
function guideFiles(runner: '@jest/globals' | 'vitest', language: 'ts' | 'js'): Record<string, string> {
  const blocks = codeBlocks(process.cwd(), 'docs/guides/testing.md').map(({ code }) => code);
  const found = ['subscribe.ts', 'subscribe.test.ts'].map((file) => {
    const code = blocks.find(
      (each) => each.startsWith(`// ${file}\n`) && (file === 'subscribe.ts' || each.includes(`from '${runner}'`)),
    );
    if (code === undefined) throw new Error(`docs/guides/testing.md has no ${file} for ${runner}`);
    return language === 'ts' ? [file, code] : [file.replace(/ts$/, 'js'), transpiled(code)];
  });
  return Object.fromEntries(found) as Record<string, string>;
}

function transpiled(source: string): string {
  return ts.transpile(source, { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 });
}

/** What the projects do; two of them at a time, so that a test finds most of them done. */
const projects = {
  async import(packed: PackedPackage) {
    const project = await packed.project('import', [...databases, ...telemetry, 'uuid']);
    // An option that a thread must not inherit.
    return project.node(['--input-type=module', '-e', "await import('./main.mjs')"], {
      LOCK_THREAD_SCHEMA: threadSchemas.import,
    });
  },
  async require(packed: PackedPackage) {
    const project = await packed.project('require', [...databases, ...telemetry]);
    return project.node(['--input-type=commonjs', '-e', "require('./main.cjs')"], {
      LOCK_THREAD_SCHEMA: threadSchemas.require,
    });
  },
  async jestCommonJs(packed: PackedPackage) {
    const runner = ['jest', 'ts-jest', 'typescript', '@jest/globals', '@types/node', '@types/pg', '@opentelemetry/api'];
    const project = await packed.project('jest-cjs', [...databases, ...runner], guideFiles('@jest/globals', 'ts'));
    return project.node([await commandOf('jest'), '--runInBand', '--verbose']);
  },
  async jestModules(packed: PackedPackage) {
    const dependencies = [...databases, 'uuid', 'jest', '@jest/globals', '@opentelemetry/api'];
    const project = await packed.project('jest-esm', dependencies, guideFiles('@jest/globals', 'js'));
    return project.node(['--experimental-vm-modules', await commandOf('jest'), '--runInBand', '--verbose']);
  },
  async vitest(packed: PackedPackage) {
    const dependencies = [...databases, 'uuid', 'vitest', '@opentelemetry/api'];
    const project = await packed.project('vitest', dependencies, guideFiles('vitest', 'ts'));
    return project.node([await commandOf('vitest'), 'run', '--reporter=verbose']);
  },
  async types(packed: PackedPackage) {
    const project = await packed.project('types', [...databases, '@opentelemetry/api', '@types/node', '@types/pg']);
    const configurations = ['node16', 'bundler', 'node10'].map((resolution) => `tsconfig.${resolution}.json`);
    return project.node([await commandOf('typescript', 'tsc'), '--build', ...configurations]);
  },
  async readme(packed: PackedPackage) {
    const [, source = ''] = /```ts\n(.*?)```/s.exec(await readFile('README.md', 'utf8')) ?? [];
    const project = await packed.project('import', [...databases, 'uuid']);
    return project.node(['--input-type=module', '-e', transpiled(source)]);
  },
  async missingPeer(packed: PackedPackage) {
    const project = await packed.project('import', ['drizzle-orm', 'uuid']);
    const script = `import { DrizzleProvider } from 'duroxide-drizzle';
      await DrizzleProvider.embedded().catch((error) => console.log(error.message));`;
    return project.node(['--input-type=module', '-e', script]);
  },
};

let packed: PackedPackage;
let runs: Runs<keyof typeof projects>;
beforeAll(async () => {
  packed = await packPackage();
  runs = runsOf(projects, packed);
}, 300_000);
afterAll(async () => {
  await runs.settled();
  await packed.destroy();
  for (const schema of Object.values(threadSchemas)) await dropSchema(schema);
});

describe('the packed package', () => {
  test.each([
    ['import', ['pg-mem']],
    ['require', ['pg-mem', 'pglite']],
  ] as const)('is used by plain %s, every entry of it', async (how, stores) => {
    expect((await runs.outcome(how)).trim().split('\n')).toEqual([
      'classes: ok',
      ...stores.map((store) => `${store}: ok`),
      'otel: ok',
      'dashboard: 200 /assets/app.js, 200 /assets/icon.svg, 200 /assets/style.css, 200 /assets/theme.js',
      'lock thread: blocked, 0 locks lost',
    ]);
  });

  test('is used in a CommonJS jest with ts-jest, the testing kit and the guide’s test on pg-mem', async () => {
    const output = await runs.outcome('jestCommonJs');
    expect(output).toContain('a subscription is charged after its trial');
    expect(output).toContain('Tests:       3 passed, 3 total');
  });

  test('is used in an ESM jest, the testing kit and the guide’s test on PGlite', async () => {
    const output = await runs.outcome('jestModules');
    expect(output).toContain('a subscription is charged after its trial');
    expect(output).toContain('Tests:       3 passed, 3 total');
  });

  test('is used in vitest, the testing kit and the guide’s test on PGlite', async () => {
    const output = await runs.outcome('vitest');
    expect(output).toContain('a subscription is charged after its trial');
    expect(output).toMatch(/Tests +3 passed \(3\)/);
  });

  test('has types that resolve with module resolution node16, bundler and node10', async () => {
    expect(await runs.outcome('types')).toBe('');
  });

  test('runs the first program of the README', async () => {
    const [, expected = 'the README says what its program prints'] =
      /console\.log\(.*\); \/\/ → (.*)/.exec(await readFile('README.md', 'utf8')) ?? [];
    expect(await runs.outcome('readme')).toContain(expected);
  });

  test('says which package is missing when an optional one is', async () => {
    expect(await runs.outcome('missingPeer')).toContain('npm install @electric-sql/pglite');
  });
});
