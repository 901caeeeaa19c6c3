/**
 * The fault suite in its long form: rounds of faults until a time or a number is reached.
 * `FAULTS_MINUTES` (default 60) bounds it; what was done is kept in `FAULTS_FILE` (default
 * `.tmp/faults/counts.json`), and the next run goes on from there. `FAULTS_SEED` repeats the
 * choices of one round, `FAULTS_ROUND_SECONDS` says how long a round is.
 */
import { randomInt } from 'node:crypto';
import { startPostgresServer } from '../support/postgres-server.js';
import { Administrator } from './suite/administrator.js';
import { bundleProgram } from './suite/bundle.js';
import { readCounts, sumOf, writeCounts } from './suite/counts.js';
import { runFailover } from './suite/failover.js';
import { runRound } from './suite/round.js';
import { SmallDisk } from './suite/small-disk.js';

const setting = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const file = process.env['FAULTS_FILE'] ?? '.tmp/faults/counts.json';
const counts = readCounts(file);
const untilMs = performance.now() + setting('FAULTS_MINUTES', 60) * 60_000;
const roundMs = setting('FAULTS_ROUND_SECONDS', 60) * 1_000;

// So that servers, workers and mounts go along.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const program = await bundleProgram('test/faults/suite/worker.ts', 'worker');
const server = await startPostgresServer({
  settings: ['max_connections=60', 'fsync=off', 'log_min_messages=warning', 'deadlock_timeout=100ms'],
});
const administrator = new Administrator(server.url);
const disk = await SmallDisk.open(server, administrator);
if (!disk) console.log('no disk is filled: only root may mount a small one');
try {
  // A round takes its time in calm, too.
  while (performance.now() + roundMs * 1.5 < untilMs && counts.violations.length === 0) {
    const begunMs = performance.now();
    const seed = process.env['FAULTS_SEED'] === undefined ? randomInt(2 ** 31) : setting('FAULTS_SEED', 0);
    const common = { seed, program, counts, workers: 3, meanPauseMs: 10, worldPauseMs: 400, forMs: roundMs };
    const instances = Math.max(30, Math.round(roundMs / 100));
    // The faults of a server that moves are few, but each of them takes a while.
    if (counts.rounds % 4 === 3) await runFailover({ ...common, instances: 60, forMs: Math.min(15_000, roundMs) });
    else await runRound({ ...common, server, administrator, disk, instances });
    writeCounts(file, counts);
    console.log(
      `seed ${seed}, ${Math.round((performance.now() - begunMs) / 1000)} s: ${sumOf(counts, '')} faults, ${sumOf(counts, 'kill')} SIGKILL, ${sumOf(counts, 'server stopped', 'primary')} server stops, ` +
        `${counts.instances} instances, ${counts.violations.length} violations`,
    );
  }
} finally {
  writeCounts(file, counts);
  await administrator.close();
  await server.destroy();
  await disk?.close();
}
for (const violation of counts.violations) console.error(violation);
process.exit(counts.violations.length === 0 ? 0 : 1);
