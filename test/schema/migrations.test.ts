import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { pushSchema } from 'drizzle-kit/api';
import { drizzle, type NodePgQueryResultHKT } from 'drizzle-orm/node-postgres';
import { type PgDatabase, pgSequence, pgTable, text } from 'drizzle-orm/pg-core';
import pg from 'pg';
import ts from 'typescript';
import { embeddedMigrations } from '../../scripts/embed-migrations.js';
import { driverFor } from '../../src/provider/drizzle/drivers/index.js';
import { migrateSchema } from '../../src/provider/drizzle/migrate/index.js';
import { codeBlocks } from '../docs/code-blocks.js';
import { inOwnDatabase } from '../support/own-database.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

describe('tables, migrations and their built-in copy', () => {
  test('the built-in copy is what drizzle/ says', async () => {
    const builtIn = await readFile(path.join(root, 'src/schema/migrations.generated.ts'), 'utf8');
    expect(await embeddedMigrations()).toBe(builtIn);
  });

  test('drizzle-kit finds nothing to generate', async () => {
    // Below the checkout, because drizzle-kit takes its folder relative to where it runs.
    const out = await mkdtemp(path.join(root, 'node_modules', '.ddz-drift-'));
    try {
      await cp(path.join(root, 'drizzle'), out, { recursive: true });
      const bin = path.join(root, 'node_modules', 'drizzle-kit', 'bin.cjs');
      const relative = path.relative(root, out);
      const schema = path.join('src', 'schema', 'drizzle-kit.ts');
      const { stdout } = await run(
        process.execPath,
        [bin, 'generate', '--dialect', 'postgresql', '--schema', schema, '--out', relative],
        { cwd: root, env: { ...process.env, NODE_OPTIONS: '' } },
      );
      expect(stdout).toContain('No schema changes');
      expect(await readdir(out)).toEqual(await readdir(path.join(root, 'drizzle')));
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });
});

describe('what drizzle-kit push would change in a database of an application’s with our tables', () => {
  const orders = pgTable('orders', { id: text('id').primaryKey() });
  const changes = async (db: PgDatabase<NodePgQueryResultHKT>, filters: Filters, declared: object = {}) => {
    const { schemaFilter, tablesFilter } = filters;
    return (await pushSchema({ orders, ...declared }, db, schemaFilter, tablesFilter)).statementsToExecute;
  };

  test.each([
    { where: 'in a schema of their own', schema: 'duroxide', declared: () => ({}) },
    { where: 'beside the application’s', schema: 'public', declared: () => guideProgram('pgSequence') },
  ])('nothing of ours, $where, with the configuration of the guide', async ({ schema, declared }) => {
    await inOwnDatabase(async (url) => {
      const pool = new pg.Pool({ connectionString: url, max: 1 });
      const db = drizzle<Record<string, never>>(pool);
      await pool.query('create table orders (id text primary key)');
      await migrateSchema(driverFor(db), { schema });
      expect(await changes(db, guideFilters(schema), declared())).toEqual([]);
      // What it does not leave out is dropped: the test would see it. (Of our expression indexes drizzle-kit can
      // read none, so that one table stands for all.)
      const careless = { schemaFilter: ['public', schema], tablesFilter: ['orders', 'ddz_workers'] };
      expect((await changes(db, careless)).join()).toMatch(/DROP TABLE ("\w+"\.)?"ddz_workers"/);
      await pool.end();
    });
  });
});

interface Filters {
  readonly schemaFilter?: string[];
  readonly tablesFilter?: string[];
}

/** The filters of the guide's `drizzle.config.ts`, for our tables in this schema. */
function guideFilters(schema: string): Filters {
  const { default: filters } = guideProgram(schema === 'public' ? 'tablesFilter' : 'schemaFilter');
  return filters as Filters;
}

/** What the program of the guide that contains a word exports. */
function guideProgram(word: string): Record<string, unknown> {
  const block = codeBlocks(root, 'docs/guides/deployment.md').find(({ code }) => code.includes(word));
  if (!block) throw new Error(`docs/guides/deployment.md has no program with ${word}`);
  const program = ts.transpile(block.code, { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 });
  const exported: Record<string, unknown> = {};
  const modules = { 'drizzle-kit': { defineConfig: (it: unknown) => it }, 'drizzle-orm/pg-core': { pgSequence } };
  const require = (name: keyof typeof modules) => modules[name];
  runInNewContext(program, { exports: exported, require, process: { env: {} } });
  return exported;
}
