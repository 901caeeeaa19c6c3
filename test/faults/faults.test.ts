import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.js';
import { Administrator } from './suite/administrator.js';
import { bundleProgram } from './suite/bundle.js';
import { emptyCounts, sumOf } from './suite/counts.js';
import { runFailover } from './suite/failover.js';
import { runRound } from './suite/round.js';
import { SmallDisk } from './suite/small-disk.js';

// The short form of `npm run test:faults`: each kind of fault once or more. The seed is in what fails.
const seed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
let program: string;
let server: PostgresServer;
let administrator: Administrator;
let disk: SmallDisk | undefined;

beforeAll(async () => {
  program = await bundleProgram('test/faults/suite/worker.ts', 'worker');
  server = await startPostgresServer({ settings: ['max_connections=60', 'fsync=off', 'deadlock_timeout=100ms'] });
  administrator = new Administrator(server.url);
  disk = await SmallDisk.open(server, administrator);
});
afterAll(async () => {
  await administrator.close();
  await server.destroy();
  await disk?.close();
});

test('C-02 C-04 C-05 C-07 C-09 C-40 faults of every kind: everything ends once, and as expected', async () => {
  const counts = emptyCounts();
  await runRound({
    seed,
    program,
    counts,
    server,
    administrator,
    disk,
    workers: 2,
    instances: 30,
    forMs: 60_000,
    maxFaults: 40,
    meanPauseMs: 20,
    worldPauseMs: 30,
  });
  expect(counts.violations).toEqual([]);
  expect(sumOf(counts, '')).toBeGreaterThanOrEqual(40);
  expect(counts.events).toBeGreaterThan(100);
});

test('C-09 a primary dies and its standby takes over: what was acknowledged is there, and work goes on', async () => {
  const counts = emptyCounts();
  await runFailover({
    seed,
    program,
    counts,
    workers: 1,
    instances: 15,
    forMs: 4_000,
    meanPauseMs: 100,
    worldPauseMs: 1_000,
  });
  expect(counts.violations).toEqual([]);
  expect(sumOf(counts, 'primary stopped')).toBe(1);
});
