import { availableParallelism, cpus, loadavg } from 'node:os';
import pg from 'pg';

/** Under which circumstances figures were measured. */
export interface Environment {
  readonly node: string;
  readonly postgres: string;
  readonly cores: number;
  readonly cpu: string;
  /** Of the last minute, before the benchmark: what else was running. */
  readonly load: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly startedAt: string;
}

const SETTINGS = [
  'fsync',
  'synchronous_commit',
  'shared_buffers',
  'max_connections',
  'max_wal_size',
  'autovacuum',
  'shared_preload_libraries',
];

export async function describeEnvironment(url: string): Promise<Environment> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const version = await client.query<{ server_version: string }>('show server_version');
    const settings = await client.query<{ name: string; setting: string }>(
      'select name, current_setting(name) as setting from pg_settings where name = any($1) order by name',
      [SETTINGS],
    );
    return {
      node: process.version,
      postgres: version.rows[0]?.server_version ?? 'unknown',
      cores: availableParallelism(),
      cpu: cpus()[0]?.model ?? 'unknown',
      load: loadavg()[0] ?? NaN,
      settings: Object.fromEntries(settings.rows.map(({ name, setting }) => [name, setting])),
      startedAt: new Date().toISOString(),
    };
  } finally {
    await client.end();
  }
}

export function printEnvironment(environment: Environment, seed: number): void {
  const { node, postgres, cores, cpu, load, settings } = environment;
  console.log(
    `Node ${node}, PostgreSQL ${postgres}, ${cores} cores (${cpu}), load before ${load.toFixed(2)}, seed ${seed}`,
  );
  console.log(
    Object.entries(settings)
      .map(([name, setting]) => `${name}=${setting}`)
      .join(' '),
  );
}
