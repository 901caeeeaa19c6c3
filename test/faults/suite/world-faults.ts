import pg from 'pg';
import { count } from './failpoint-faults.js';
import type { Counts } from './counts.js';
import type { SmallDisk } from './small-disk.js';
import { pause, type Random } from './random.js';
import type { Slot, World } from './world.js';

export interface WorldFaults {
  readonly world: World;
  readonly counts: Counts;
  readonly random: Random;
  /** Where the tables stand, when this machine lets us make one. */
  readonly disk: SmallDisk | undefined;
  /** Mean pause between two faults of the world, in ms. */
  readonly meanPauseMs: number;
  readonly mayGoOn: () => boolean;
}

type Fault = (faults: WorldFaults) => Promise<void>;

/** What befalls all processes, the server or a machine; the weights say how often. */
const FAULTS: readonly (readonly [string, Fault, number])[] = [
  ['server stopped immediately', stopServer, 6],
  ['backends terminated', terminateBackends, 4],
  ['all connections cut', async ({ world }) => world.relay.cut(), 2],
  ['all connections half-open', halfOpen, 2],
  ['statement time-out by the administrator', (f) => withSetting(f, 'statement_timeout', '3ms'), 2],
  ['lock time-out by the administrator', (f) => withSetting(f, 'lock_timeout', '1ms'), 2],
  ['idle-in-transaction time-out', (f) => withSetting(f, 'idle_in_transaction_session_timeout', '1ms'), 2],
  ['serializable by default', (f) => withSetting(f, 'default_transaction_isolation', 'serializable'), 2],
  ['repeatable read by default', (f) => withSetting(f, 'default_transaction_isolation', 'repeatable read'), 2],
  ['connections of the server exhausted', exhaustConnections, 2],
  ['disk full', fillDisk, 2],
  ['clock of a host jumped', jumpClock, 4],
  ['process stopped for longer than its locks', stopProcess, 3],
  ['event loop blocked for longer than the locks', blockLoop, 3],
];

/** One fault of the world after the other, in turn at first, so that a short run meets each. */
export async function befallWorld(faults: WorldFaults): Promise<void> {
  const inTurn = [...FAULTS].sort(() => faults.random.between(-1, 1));
  while (faults.mayGoOn()) {
    await pause(faults.random.exponential(faults.meanPauseMs));
    const next = inTurn.pop();
    const [name, befall] = next ?? faults.random.weighted(FAULTS.map(([n, f, weight]) => [[n, f] as const, weight]));
    if (name === 'disk full' && !faults.disk) continue;
    await befall(faults);
    count(faults.counts, name);
  }
}

async function stopServer({ world, random }: WorldFaults): Promise<void> {
  const { server } = world.options;
  await server.stop('immediate');
  await pause(random.between(0, 300));
  await server.start();
}

async function terminateBackends({ world, random }: WorldFaults): Promise<void> {
  await world.options.administrator.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where backend_type = 'client backend' and application_name <> 'administrator' and random() < $1`,
    [random.between(0.3, 1.01)],
  );
}

async function halfOpen({ world }: WorldFaults): Promise<void> {
  world.relay.hush();
}

/** Sessions that run take the setting over at once. */
async function withSetting({ world, random }: WorldFaults, name: string, value: string): Promise<void> {
  const { administrator } = world.options;
  const set = async (text: string) => {
    await administrator.query(text);
    await administrator.query('select pg_reload_conf()');
  };
  await set(`alter system set ${name} = ${pg.escapeLiteral(value)}`);
  await pause(random.between(200, 700));
  await set(`alter system reset ${name}`);
}

async function exhaustConnections({ world, random }: WorldFaults): Promise<void> {
  const held: pg.Client[] = [];
  const { url } = world.options.server;
  try {
    for (let n = 0; n < 200; n++) {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => {});
      await client.connect();
      held.push(client);
    }
  } catch {
    // That is what was wanted: nobody gets in any more. Whoever lost a connection now waits.
    await world.options.administrator
      .query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where backend_type = 'client backend' and application_name = 'duroxide-drizzle'`,
      )
      .catch(() => undefined);
    await pause(random.between(100, 500));
  }
  await Promise.all(held.map((client) => client.end().catch(() => undefined)));
}

async function fillDisk({ disk, random }: WorldFaults): Promise<void> {
  await disk?.fill();
  await pause(random.between(200, 600));
  await disk?.free();
}

async function jumpClock({ world, random }: WorldFaults): Promise<void> {
  const { process } = someSlot(world, random);
  const byMs = random.pick([-60_000, 60_000]);
  process.send({ kind: 'jump', byMs });
  await pause(random.between(200, 1_500));
  process.send({ kind: 'jump', byMs: -byMs });
}

async function stopProcess({ world, random }: WorldFaults): Promise<void> {
  const { process } = someSlot(world, random);
  process.pause();
  await pause(random.between(1_100, 2_200));
  process.resume();
}

async function blockLoop({ world, random }: WorldFaults): Promise<void> {
  const forMs = random.between(1_100, 2_200);
  someSlot(world, random).process.send({ kind: 'block', forMs });
  await pause(forMs);
}

function someSlot(world: World, random: Random): Slot {
  const [first, ...others] = world.slots;
  if (!first) throw new Error('no workers');
  return random.pick([first, ...others]);
}
