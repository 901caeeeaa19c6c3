import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** CPU time in ms that was used so far. */
export interface CpuMs {
  readonly server: number;
  readonly client: number;
}

/** Ticks of `/proc/<pid>/stat` per second: 100 on every Linux that Node runs on. */
const MS_PER_TICK = 10;

/** Reads what PostgreSQL (all its processes, ended ones included) and this process have used; Linux only. */
export class CpuMeter {
  readonly #postmaster: number;

  constructor(dataDir: string) {
    this.#postmaster = Number(readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }

  read(): CpuMs {
    const { user, system } = process.cpuUsage();
    return { server: this.#serverMs(), client: (user + system) / 1000 };
  }

  /** What was used since an earlier reading. */
  since(earlier: CpuMs): CpuMs {
    const now = this.read();
    return { server: now.server - earlier.server, client: now.client - earlier.client };
  }

  #serverMs(): number {
    let ticks = 0;
    for (const entry of readdirSync('/proc')) {
      if (!/^\d+$/.test(entry)) continue;
      const stat = readStat(Number(entry));
      if (stat?.pid === this.#postmaster) ticks += stat.own + stat.ofEndedChildren;
      else if (stat?.parent === this.#postmaster) ticks += stat.own;
    }
    return ticks * MS_PER_TICK;
  }
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly own: number;
  readonly ofEndedChildren: number;
}

function readStat(pid: number): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined; // it ended meanwhile
  }
  // The name stands in parentheses and may hold blanks; the fields behind it are counted from the third.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  return { pid, parent: field(4), own: field(14) + field(15), ofEndedChildren: field(16) + field(17) };
}
