import { randomBytes } from 'node:crypto';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { checkInvariants, DrizzleProvider, Runtime, silentLogger } from '../../../src/index.js';
import type { PostgresServer } from '../../support/postgres-server.js';
import type { Administrator } from './administrator.js';
import { type Counts, sumOf } from './counts.js';
import { meetClients, meetWorker } from './failpoint-faults.js';
import { Load } from './load.js';
import { pause, Random } from './random.js';
import type { SmallDisk } from './small-disk.js';
import { KINDS, registerWorkload } from './workload.js';
import { befallWorld } from './world-faults.js';
import { World } from './world.js';

export interface RoundOptions {
  readonly seed: number;
  readonly server: PostgresServer;
  readonly administrator: Administrator;
  readonly disk: SmallDisk | undefined;
  readonly program: string;
  readonly counts: Counts;
  readonly workers: number;
  /** Instances that are started in all. */
  readonly instances: number;
  /** How long faults go on. */
  readonly forMs: number;
  /** Faults end earlier when there were so many in this round. */
  readonly maxFaults?: number | undefined;
  readonly meanPauseMs: number;
  readonly worldPauseMs: number;
  /** What befalls the world instead of the usual; ends when `mayGoOn` says no. */
  readonly befall?: ((world: World, mayGoOn: () => boolean) => Promise<void>) | undefined;
  /** Where the database is in the end, when it has moved. */
  readonly lastServer?: PostgresServer | undefined;
}

/** Between two batches of starts or two deeds of a kind, in ms. */
const MAX_PAUSE_MS = 1_200;
/** After the last fault everything ends within this time, or it is stuck. */
const CALM_MS = 120_000;

/**
 * One round: a schema of its own, workers and a load on it, faults of all kinds while they
 * work, and calm in the end, in which everything must end as expected and the checker must
 * find nothing. What is wrong goes into `counts.violations`, with the seed.
 */
export async function runRound(options: RoundOptions): Promise<void> {
  const { seed, server, administrator, counts } = options;
  const schema = `f_${randomBytes(5).toString('hex')}`;
  const appSchema = `${schema}_app`;
  const ledgerTable = `"${appSchema}".ledger`;
  const random = new Random(seed);
  const logged = server.log().length;
  counts.seeds.push(seed);
  const violate = (problem: string) => counts.violations.push(`seed ${seed}: ${problem}`);
  await administrator.query(`create schema "${appSchema}"`);
  await administrator.query(`create table ${ledgerTable} (key text not null)`);
  await administrator.query(`create table "${appSchema}".orders (id text primary key)`);

  const world = await World.open({ ...options, schema, ledgerTable, onViolation: violate });
  const batches = Math.ceil(options.instances / KINDS.length);
  const load = await Load.open({
    ...{ url: world.clientProxy.url, schema, appSchema, administrator, random, repairs: world.repairs },
    whileStopped: (use) => world.whileStopped(use),
    handOverAt: Math.floor(batches / 2),
  });
  const untilMs = performance.now() + options.forMs;
  const before = sumOf(counts, '');
  const mayGoOn = () => performance.now() < untilMs && sumOf(counts, '') - before < (options.maxFaults ?? Infinity);
  const faults = { world, counts, random, mayGoOn };
  await Promise.all([
    giveWork(load, options, mayGoOn),
    ...world.slots.map((slot) => meetWorker({ ...faults, meanPauseMs: options.meanPauseMs }, slot)),
    meetClients({ ...faults, meanPauseMs: options.meanPauseMs }),
    options.befall?.(world, mayGoOn) ??
      befallWorld({ ...faults, disk: options.disk, meanPauseMs: options.worldPauseMs }),
  ]);

  await untilEnded(load);
  for (const problem of await load.problems(world.effects)) violate(problem);
  for (const problem of await checkedInvariants((options.lastServer ?? server).url, schema, ledgerTable, counts))
    violate(problem);
  counts.rounds += 1;
  counts.instances += load.started;
  if (counts.violations.length === 0) for (const problem of await cleanUp(world, load)) violate(problem);
  await load.close();
  await world.close();
  const deadlocks = server.log().slice(logged).split('deadlock detected').slice(1);
  counts.deadlocks += deadlocks.length;
  counts.deadlockDetails.push(...deadlocks.map((text) => `seed ${seed}: ${text.slice(0, 3_000)}`));
  if (/PANIC/.test(server.log())) violate('the server panicked');
  // Kept when something is wrong, for whoever looks into it.
  if (counts.violations.length === 0) {
    await administrator.query(`drop schema "${appSchema}" cascade`);
  }
}

/** The last operation that writes: the schema goes, although nobody answers that it has gone. */
async function cleanUp(world: World, load: Load): Promise<string[]> {
  await Promise.all(world.slots.map(({ process }) => process.stop()));
  const cut = world.clientProxy
    .arm({ when: 'after', at: ({ text }) => /^commit$/i.test(text) })
    .then(() => world.clientProxy.cut());
  await Promise.all([load.cleanUp(), cut]);
  return load.leftovers();
}

/** Starts, deeds and looks go on beside each other: what waits for a fault to end holds up its own kind only. */
async function giveWork(load: Load, { instances, forMs }: RoundOptions, mayGoOn: () => boolean): Promise<void> {
  const everyMs = Math.min(MAX_PAUSE_MS, (forMs * 0.8) / (instances / KINDS.length));
  // No more of them when the faults are over: what was begun has to end, and in calm.
  const batches = async (isWanted: () => boolean, use: (batch: number) => Promise<unknown>) => {
    for (let batch = 0; isWanted() && (batch === 0 || mayGoOn()); batch++) {
      const begunMs = performance.now();
      await use(batch);
      while (mayGoOn() && performance.now() < begunMs + everyMs) await pause(50);
    }
  };
  const startAll = (batch: number) => Promise.all(KINDS.map((kind) => load.start(kind, `${kind}-${batch}`)));
  await Promise.all([
    batches(() => load.started < instances, startAll),
    ...load.deeds.map((deed) =>
      batches(
        () => true,
        (batch) => deed.begin(batch),
      ),
    ),
    (async () => {
      while (mayGoOn()) {
        await load.tend();
        await pause(200);
      }
    })(),
  ]);
}

async function untilEnded(load: Load): Promise<void> {
  const giveUpAtMs = performance.now() + CALM_MS;
  load.calm();
  do {
    await load.tend();
    await pause(100);
  } while (load.open.length > 0 && performance.now() < giveUpAtMs);
  // Detached instances and late messages end a moment after those who sent them.
  await pause(1_000);
  await load.tend();
}

async function checkedInvariants(url: string, schema: string, ledgerTable: string, counts: Counts): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const provider = await DrizzleProvider.fromPool(pool, { schema, logger: silentLogger, ownsClient: true });
  try {
    const orchestrations = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
    registerWorkload(orchestrations, { note: () => {}, ledgerTable, repairs: '' });
    const report = await checkInvariants(drizzle(pool), { schema, orchestrations });
    counts.events += report.checked.events;
    counts.replayed += report.checked.replayed;
    const quarantined = report.quarantined.map((row) => `quarantined: ${JSON.stringify(row)}`);
    return [...report.violations.map((violation) => JSON.stringify(violation)), ...quarantined];
  } finally {
    await provider.close();
  }
}
