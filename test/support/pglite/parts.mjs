import { PGlite } from '@electric-sql/pglite';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

const dist = path.dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'));

let parts;

/**
 * What a PGlite in memory starts with: its program; its files; and a data directory as `initdb`
 * leaves it, which is made once per version and kept in `.tmp`. A start with them takes a sixth
 * of the processor time.
 */
export function pgliteParts() {
  if (parts) return parts;
  // At once: a PGlite can be made by `new`, too, where nothing waits.
  const wasm = readFileSync(path.join(dist, 'pglite.wasm'));
  const program = {
    pgliteWasmModule: new globalThis.WebAssembly.Module(wasm),
    fsBundle: file(() => readFile(path.join(dist, 'pglite.data'))),
    // Zeroing the 128 MB of the default is half of what is left of a start.
    startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=8MB'],
  };
  return (parts = { ...program, wasm, loadDataDir: file(() => dataDirectory(program)) });
}

async function dataDirectory(program) {
  const { version } = JSON.parse(await readFile(path.join(dist, '..', 'package.json'), 'utf8'));
  const kept = path.resolve('.tmp', 'pglite', `data-${version}.tar`);
  try {
    return await readFile(kept);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const database = await PGlite.create(program);
  // Whoever starts from it finds nothing to recover.
  await database.exec('checkpoint');
  const made = Buffer.from(await (await database.dumpDataDir('none')).arrayBuffer());
  await database.close();
  // Never seen half written: another process may look for it now.
  const unfinished = `${kept}.${randomBytes(5).toString('hex')}`;
  await mkdir(path.dirname(kept), { recursive: true });
  await writeFile(unfinished, made);
  await rename(unfinished, kept);
  return made;
}

/** What PGlite asks of a `File`, read once. A real one copies its contents in small pieces each time. */
function file(read) {
  let bytes;
  return {
    type: 'application/x-tar',
    arrayBuffer: () => (bytes ??= read().then((made) => new Uint8Array(made).buffer)),
  };
}
