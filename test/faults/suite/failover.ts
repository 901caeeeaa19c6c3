import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.js';
import { Administrator } from './administrator.js';
import { count } from './failpoint-faults.js';
import { pause, Random } from './random.js';
import { type RoundOptions, runRound } from './round.js';

/**
 * A round in the middle of which the primary dies and its standby takes over: streaming
 * replication, synchronous commit. What was acknowledged must be there, and the workers
 * must find the new primary by themselves.
 */
export async function runFailover(
  options: Omit<RoundOptions, 'server' | 'administrator' | 'disk' | 'befall' | 'lastServer'>,
): Promise<void> {
  const settings = ['max_connections=100', 'fsync=off', 'log_min_messages=warning'];
  const primary = await startPostgresServer({ settings });
  await primary.stop('fast');
  const standby = await startPostgresServer({ settings, standbyOf: primary });
  const administrator = new Administrator(primary.url);
  try {
    await primary.start();
    await replicateSynchronously(administrator);
    const random = new Random(options.seed);
    await runRound({
      ...options,
      server: primary,
      administrator,
      disk: undefined,
      lastServer: standby,
      befall: async (world, mayGoOn) => {
        await pause(options.forMs * random.between(0.3, 0.6));
        await primary.stop('immediate');
        count(options.counts, 'primary stopped immediately, standby promoted');
        await promote(standby);
        world.relay.pointTo(standby.url);
        await administrator.moveTo(standby.url);
        while (mayGoOn()) await pause(50);
      },
    });
  } finally {
    await administrator.close();
    await standby.destroy();
    await primary.destroy();
  }
}

/** From here on a commit is answered when the standby has it, too. */
async function replicateSynchronously(administrator: Administrator): Promise<void> {
  await administrator.query(`alter system set synchronous_standby_names = '*'`);
  await administrator.query('select pg_reload_conf()');
  for (let tries = 0; tries < 600; tries++) {
    const rows = await administrator.query<{ sync_state: string }>('select sync_state from pg_stat_replication');
    if (rows.some(({ sync_state }) => sync_state === 'sync')) return;
    await pause(50);
  }
  throw new Error('the standby does not follow its primary');
}

async function promote(standby: PostgresServer): Promise<void> {
  const administrator = new Administrator(standby.url);
  try {
    await administrator.query('select pg_promote(true, 60)');
  } finally {
    await administrator.close();
  }
}
