import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UnsupportedError } from '../provider-error.js';

/** How often a lock that was left behind is removed and taken again. */
const MAX_TRIES = 3;

/**
 * Keeps two embedded databases from writing into one directory, which would destroy it:
 * PGlite itself does not look. The lock is a file beside the directory with our process
 * id; one whose process is gone counts for nothing.
 * @returns what gives the lock back
 * @throws UnsupportedError when a living process has the directory
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const file = `${path.resolve(directory)}.lock`;
  await mkdir(path.dirname(file), { recursive: true });
  for (let tries = 1; ; tries++) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx' });
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const owner = Number(await readFile(file, 'utf8').catch(() => ''));
    if (isAlive(owner) || tries === MAX_TRIES) {
      throw new UnsupportedError(
        `${directory} is in use by process ${owner}: an embedded database belongs to one process; use PostgreSQL for several`,
      );
    }
    await rm(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It exists, but belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
