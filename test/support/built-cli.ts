import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

/** The command line as it is published; there once {@link buildCli} has resolved. */
export const BUILT_CLI = path.resolve('dist/cli.js');

/** Builds the package unless it is built: `npm run build` brings it up to date. */
export async function buildCli(): Promise<void> {
  const isBuilt = ['cli.js', 'dashboard/assets.json'].every((file) => existsSync(path.resolve('dist', file)));
  if (!isBuilt) await promisify(execFile)('npm', ['run', 'build']);
}
