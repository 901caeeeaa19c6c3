/**
 * For programs that tests start, with `node --import`: what they keep in memory starts from the
 * parts that were made already. Directories are made as ever.
 */
import { PGlite } from '@electric-sql/pglite';
import { pgliteParts } from './parts.mjs';

const create = PGlite.create.bind(PGlite);
PGlite.create = (directory) => create(directory ?? pgliteParts());
