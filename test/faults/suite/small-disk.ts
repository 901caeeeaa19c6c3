import { execFile, execFileSync } from 'node:child_process';
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { PostgresServer } from '../../support/postgres-server.js';
import type { Administrator } from './administrator.js';

const run = promisify(execFile);
const SIZE_MB = 192;

/**
 * A file system of its own for the tables, small enough to be filled: a tmpfs, which only
 * root may mount. The log of the server stands elsewhere, so that what fails is the
 * extension of a table (SQLSTATE 53100) and not the server itself.
 */
export class SmallDisk {
  // A run that is broken off must not leave a mount behind.
  private readonly unmount = () => execFileSync('umount', ['-l', this.directory]);

  private constructor(private readonly directory: string) {
    process.once('exit', this.unmount);
  }

  /** `undefined` where nothing may be mounted. */
  static async open(server: PostgresServer, administrator: Administrator): Promise<SmallDisk | undefined> {
    if (process.getuid?.() !== 0) return undefined;
    const directory = await mkdtemp(path.join(tmpdir(), 'ddz-disk-'));
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=0700`, 'tmpfs', directory]);
    } catch {
      await rm(directory, { recursive: true });
      return undefined;
    }
    const owner = await stat(server.dataDir);
    await chown(directory, owner.uid, owner.gid);
    await administrator.query(`create tablespace small location '${directory}'`);
    await administrator.query(`alter database postgres set default_tablespace = small`);
    return new SmallDisk(directory);
  }

  /** Leaves no room for another page of a table. */
  async fill(): Promise<void> {
    const chunk = Buffer.alloc(1024 * 1024);
    const file = path.join(this.directory, 'ballast');
    try {
      for (let mb = 0; mb <= SIZE_MB; mb++) await writeFile(file, chunk, { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }

  async free(): Promise<void> {
    await rm(path.join(this.directory, 'ballast'), { force: true });
  }

  /** After the server has ended. */
  async close(): Promise<void> {
    process.off('exit', this.unmount);
    this.unmount();
    await rm(this.directory, { recursive: true, force: true });
  }
}
