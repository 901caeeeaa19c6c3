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
PGlite.create = (directory, ...more) => {
  // With options of its own, as PGlite itself does inside: as it is.
  if (typeof directory === 'object' || more.length > 0) return create(directory, ...more);
  const { loadDataDir, ...parts } = pgliteParts();
  if (directory === undefined) return create({ ...parts, loadDataDir });
  const isThere = existsSync(path.join(directory, 'PG_VERSION'));
  return create({ ...parts, dataDir: directory, ...(isThere ? {} : { loadDataDir }) });
};
