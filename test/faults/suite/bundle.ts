import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';

/** Builds a program of the tests into one file, so that hundreds of processes start in a fraction of a second each. */
export async function bundleProgram(source: string, name: string): Promise<string> {
  const require = createRequire(import.meta.url);
  // Inside the checkout, because the packages that stay outside are looked for from there.
  const directory = path.resolve('.tmp', 'faults');
  await mkdir(directory, { recursive: true });
  const outfile = path.join(directory, `${name}-${process.pid}.mjs`);
  // Its program and not its API, which does not work in the realm of a test of Jest's.
  const esbuild = path.join(path.dirname(require.resolve('esbuild/package.json')), 'bin', 'esbuild');
  const options = ['--bundle', '--platform=node', '--format=esm', '--packages=external', '--log-level=warning'];
  await promisify(execFile)(esbuild, [path.resolve(source), ...options, `--outfile=${outfile}`]);
  return outfile;
}
