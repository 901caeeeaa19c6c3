import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { transform } from 'esbuild';
import { databaseUrl } from '../support/database.js';
import { type CodeBlock, codeBlocks, pages } from './code-blocks.js';

const run = promisify(execFile);
const root = process.cwd();
/** Inside the package, so that programs find it by its name. */
const folder = path.join(root, '.tmp', 'docs');

const blocks = pages(root).flatMap((page) => codeBlocks(root, page));
const programs = blocks.filter(({ notRun }) => notRun === undefined);
/** A program that is not run is compiled: it may need a server of Azure, but it names nothing that does not exist. */
const compiled = blocks.filter(({ language }) => language === 'ts');
/** A folder for each page, so that a program finds those that its page gives a name. */
const fileOf = ({ place, fileName }: CodeBlock, ending: 'ts' | 'mjs') => {
  const [page = '', line = ''] = place.split(':');
  const name =
    ending === 'ts' && fileName !== undefined && !fileName.includes('.test.') ? fileName : `${line}.${ending}`;
  return path.join(page.replace(/[/.]/g, '_'), name);
};

interface Outcome {
  readonly printed: readonly string[];
  readonly error?: string;
}
let outcomes: Readonly<Record<string, Outcome>> = {};
let typeErrors = '';

// Programs import the package by its name: what was built is what is read about.
beforeAll(async () => {
  if (!existsSync(path.join(root, 'dist', 'index.js'))) await run('npm', ['run', 'build'], { cwd: root });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const block of new Set([...programs, ...compiled])) {
    mkdirSync(path.join(folder, path.dirname(fileOf(block, 'ts'))), { recursive: true });
    if (block.language === 'ts') writeFileSync(path.join(folder, fileOf(block, 'ts')), block.code);
    if (block.notRun !== undefined) continue;
    const { code } = await transform(block.code, { loader: 'ts', format: 'esm', target: 'node20' });
    writeFileSync(path.join(folder, fileOf(block, 'mjs')), code);
  }
  [typeErrors, outcomes] = await Promise.all([compile(), runAll()]);
}, 300_000);

/** What the compiler says of all programs together. */
async function compile(): Promise<string> {
  const options = {
    strict: true,
    target: 'es2022',
    lib: ['es2023'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    skipLibCheck: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [path.join(root, 'node_modules/@types')],
  };
  const files = compiled.map((block) => fileOf(block, 'ts'));
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  return run(process.execPath, [tsc, '-p', folder]).then(
    () => '',
    (error: { stdout?: string; message: string }) => error.stdout ?? error.message,
  );
}

/** Two processes, each running its half of the programs one after the other; what they print is kept apart. */
async function runAll(): Promise<Record<string, Outcome>> {
  const halves = [0, 1].map((half) => programs.filter((_, at) => at % 2 === half));
  const parts = await Promise.all(halves.map((half, at) => runPrograms(half, `outcomes-${at}.json`)));
  return Object.assign({}, ...parts) as Record<string, Outcome>;
}

async function runPrograms(half: readonly CodeBlock[], outcomesFile: string): Promise<Record<string, Outcome>> {
  const outcomes = path.join(folder, outcomesFile);
  const files = half.map((block) => path.join(folder, fileOf(block, 'mjs')));
  await run(process.execPath, [path.join(root, 'test', 'docs', 'run-programs.mjs'), outcomes, ...files], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: databaseUrl() },
  });
  return JSON.parse(readFileSync(outcomes, 'utf8')) as Record<string, Outcome>;
}

test('there are programs, and those that are not run say why', () => {
  expect(programs.length).toBeGreaterThan(10);
  for (const { place, notRun } of blocks)
    if (notRun !== undefined) expect({ place, notRun }).not.toEqual({ place, notRun: '' });
});

describe('programs of the documentation', () => {
  test('are right for the compiler', () => {
    expect(typeErrors).toBe('');
  });

  test.each(programs.map((block) => [block.place, block] as const))('%s runs and prints what it says', (_, block) => {
    const { printed = [], error } = outcomes[path.join(folder, fileOf(block, 'mjs'))] ?? {};
    expect(error).toBeUndefined();
    if (block.prints.length > 0) expect(printed).toEqual(block.prints);
  });
});
