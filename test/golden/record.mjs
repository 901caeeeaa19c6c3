/**
 * Makes the golden folder of a release, before it is published:
 *
 *     DATABASE_URL=postgres://… node test/golden/record.mjs 1.2.0
 *
 * It bundles the package as it stands, lets it make a schema and run the programs of
 * `programs.mjs` up to their middle, and keeps: `package.mjs.gz` (the release itself, for
 * rolling upgrades), `schema.sql` (what it migrated) and `rows.json` (what it left).
 * `--package FILE` records with a bundle that exists, from an older checkout.
 */
import { build } from 'esbuild';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import { finishAll, expectedOutputs, register, startAll, startLater, startQueued } from './programs.mjs';
import { isDeepStrictEqual } from 'node:util';

const [release, flag, given] = process.argv.slice(2);
const url = process.env.DATABASE_URL;
if (!release || !/^[\w.-]+$/.test(release) || !url)
  throw new Error('usage: DATABASE_URL=… node test/golden/record.mjs <release> [--package FILE]');

const folder = path.resolve('test/golden', release);
await mkdir(folder, { recursive: true });
const work = await mkdtemp(path.resolve('.tmp-golden-'));
const file = path.join(work, 'package.mjs');
if (flag === '--package' && given) await writeFile(file, await readFile(given));
else {
  await build({
    entryPoints: ['src/index.ts'],
    outfile: file,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
  });
}
const code = await import(pathToFileURL(file).href);

const schema = 'golden';
const pool = new pg.Pool({ connectionString: url, max: 4 });
await pool.query(`drop schema if exists ${schema} cascade`);
const { sql } = await code.migrate(drizzle(pool), { schema, dryRun: true });
const provider = await code.DrizzleProvider.fromPool(pool, { schema });
const options = { logLevel: 'off', workerTagFilter: 'defaultOnly' };
const run = async (use) => {
  const runtime = new code.Runtime(provider, options);
  register(runtime);
  await runtime.start();
  await use(new code.Client(provider));
  await runtime.shutdown(5_000);
};
await run(async (client) => {
  await startAll(client, 'done-');
  // The one with the tag `later` stays where it is.
  void finishAll(client, 'done-').catch(() => undefined);
  await client.waitForOrchestration('done-loop', 60_000);
  await startAll(client);
  await startLater(client);
  await startQueued(client);
});

const { rows: tables } = await pool.query(
  `select table_name as name from information_schema.tables where table_schema = $1 order by 1`,
  [schema],
);
const rows = {};
for (const { name } of tables) {
  const result = await pool.query(`select to_jsonb(t) as row from ${schema}."${name}" t order by 1`);
  rows[name] = result.rows.map(({ row }) => row);
}
// The schema's own name stands in no row, and in the SQL as `golden`.
await writeFile(path.join(folder, 'schema.sql'), `${sql.join(';\n')};\n`);
// Stacks of failures name the folder of the moment.
const text = JSON.stringify(rows).replaceAll(pathToFileURL(work).href, 'file:///golden');
await writeFile(path.join(folder, 'rows.json'), `${text}\n`);
await writeFile(path.join(folder, 'package.mjs.gz'), gzipSync(await readFile(file), { level: 9 }));
if (isDeepStrictEqual(expectedOutputs, {})) throw new Error('there are no programs');
await provider.close();
await pool.query(`drop schema ${schema} cascade`);
await pool.end();
await rm(work, { recursive: true });
console.log(
  `recorded ${release}: ${Object.entries(rows)
    .map(([name, list]) => `${name} ${list.length}`)
    .join(', ')}`,
);
process.exit(0);
