import { buildSync } from 'esbuild';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { asPublished } from '../../test/support/bundled-program.js';

let compiled: string | undefined;

/**
 * The program of the children as plain JavaScript, as the package ships it. A loader that
 * compiles on the fly gives each function its name when it is made, closures included,
 * at the expense of what is to be measured.
 */
export function compiledChild(): string {
  if (compiled !== undefined) return compiled;
  // Below the checkout, so that what it imports is found.
  const folder = path.resolve('.tmp', `bench-${process.pid}`);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  buildSync({ entryPoints: [path.join(import.meta.dirname, 'child.ts')], outdir: folder, ...asPublished });
  return (compiled = path.join(folder, 'child.mjs'));
}
