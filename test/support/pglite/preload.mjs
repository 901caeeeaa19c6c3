/**
 * For programs that tests start, with `node --import`: a PGlite in memory or in a new directory
 * starts from the parts that were made already.
 */
import { PGlite } from '@electric-sql/pglite';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { pgliteParts } from './parts.mjs';

// In the few seconds of such a program, optimizing WebAssembly costs more than it saves.
setFlagsFromString('--liftoff-only');

const create = PGlite.create.bind(PGlite);
PGlite.create = (directory) => {
  const { loadDataDir, ...parts } = pgliteParts();
  const isThere = directory !== undefined && existsSync(path.join(directory, 'PG_VERSION'));
  return create({
    ...parts,
    ...(directory === undefined ? {} : { dataDir: directory }),
    ...(isThere ? {} : { loadDataDir }),
  });
};
