import { readdirSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import type * as Package from '../../src/index.js';

const FOLDER = path.resolve('test/golden');

/** The releases that have a golden folder, oldest first. */
export const releases: readonly string[] = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

type Rows = Readonly<Record<string, readonly unknown[]>>;

/** What a release left, by table. */
export async function rowsOf(release: string): Promise<Rows> {
  return JSON.parse(await readFile(path.join(FOLDER, release, 'rows.json'), 'utf8')) as Rows;
}

/** Puts the database that a release left into a schema of this server. */
export async function restore(release: string, client: pg.ClientBase, schema: string): Promise<void> {
  const sql = await readFile(path.join(FOLDER, release, 'schema.sql'), 'utf8');
  const own = pg.escapeIdentifier(schema);
  await client.query(`begin; ${sql.replaceAll('"golden"', own)} commit; reset search_path`);
  await insertRows(client, schema, await rowsOf(release));
}

/** Makes the rows of these tables those that are given. */
export async function insertRows(client: pg.ClientBase, schema: string, rows: Rows): Promise<void> {
  const own = pg.escapeIdentifier(schema);
  for (const [table, list] of Object.entries(rows)) {
    const name = `${own}.${pg.escapeIdentifier(table)}`;
    await client.query(`delete from ${name}`);
    await client.query(`insert into ${name} select * from jsonb_populate_recordset(null::${name}, $1::jsonb)`, [
      JSON.stringify(list),
    ]);
  }
  for (const queue of ['orchestrator_queue', 'worker_queue', 'ddz_queued_starts']) {
    if (queue.startsWith('ddz_') && rows[queue] === undefined) continue;
    await client.query(
      `select setval(pg_get_serial_sequence($1, 'id'), coalesce((select max(id) from ${own}.${queue}), 0) + 1, false)`,
      [`${own}.${queue}`],
    );
  }
}

/** The code of a release, beside that of today. */
export async function packageOf(release: string): Promise<{ readonly code: typeof Package; remove(): Promise<void> }> {
  // Below the checkout, so that what it imports is found.
  const folder = path.resolve('test/golden', `.unpacked-${randomBytes(5).toString('hex')}`);
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, 'package.mjs');
  await writeFile(file, gunzipSync(await readFile(path.join(FOLDER, release, 'package.mjs.gz'))));
  const code = (await import(pathToFileURL(file).href)) as typeof Package;
  return { code, remove: () => rm(folder, { recursive: true, force: true }) };
}
