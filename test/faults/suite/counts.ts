import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** What a long run has done so far; kept in a file, so that it can go on later. */
export interface Counts {
  rounds: number;
  instances: number;
  /** Events that the checker has read, over all rounds. */
  events: number;
  replayed: number;
  faults: Record<string, number>;
  /** Statements of the provider that were met, and how often before and after each. */
  statements: Record<string, { before: number; after: number }>;
  /** Answers to a COMMIT that were lost, by the last statement of the transaction. */
  commits: Record<string, { before: number; after: number }>;
  seeds: number[];
  /** Deadlocks in the server's log; each was retried, or it would be a violation. */
  deadlocks: number;
  /** What the server said of each of them: who waited for whom, and with which statement. */
  deadlockDetails: string[];
  violations: string[];
}

export function emptyCounts(): Counts {
  return {
    rounds: 0,
    instances: 0,
    events: 0,
    replayed: 0,
    faults: {},
    statements: {},
    commits: {},
    seeds: [],
    deadlocks: 0,
    deadlockDetails: [],
    violations: [],
  };
}

export function readCounts(file: string): Counts {
  try {
    return { ...emptyCounts(), ...(JSON.parse(readFileSync(file, 'utf8')) as Counts) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return emptyCounts();
    throw error;
  }
}

export function writeCounts(file: string, counts: Counts): void {
  mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  writeFileSync(file, `${JSON.stringify(counts, null, 2)}\n`);
}

/** Faults whose names begin like one of these. */
export function sumOf(counts: Counts, ...prefixes: string[]): number {
  return Object.entries(counts.faults)
    .filter(([name]) => prefixes.some((prefix) => name.startsWith(prefix)))
    .reduce((sum, [, count]) => sum + count, 0);
}
