import { build, type BuildOptions } from 'esbuild';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';

/** TypeScript as the package ships it; what it imports of packages stays outside. */
export const asPublished = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  outExtension: { '.js': '.mjs' },
  logLevel: 'error',
} as const satisfies BuildOptions;

/**
 * A TypeScript program as plain JavaScript, with the program of the lock thread beside it, as
 * in the published package: a thread runs no TypeScript. Below the checkout, so that what it
 * imports is found.
 */
export async function bundledProgram(source: string): Promise<{ readonly file: string; remove(): Promise<void> }> {
  const folder = path.resolve('.tmp', `program-${randomBytes(5).toString('hex')}`);
  await build({
    entryPoints: {
      program: source,
      'lock-thread-worker': 'src/provider/drizzle/lock-thread/lock-thread-worker.ts',
    },
    outdir: folder,
    splitting: true,
    ...asPublished,
  });
  return { file: path.join(folder, 'program.mjs'), remove: () => rm(folder, { recursive: true, force: true }) };
}
