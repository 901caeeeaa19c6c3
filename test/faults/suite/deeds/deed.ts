import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import type { Client, DrizzleProvider } from '../../../../src/index.js';
import type { Administrator } from '../administrator.js';
import type { Random } from '../random.js';

/** Where an instance stands, as its tables say. */
export interface InstanceRow {
  readonly instance_id: string;
  readonly status: string;
  readonly output: string | null;
}

export type Instances = ReadonlyMap<string, InstanceRow>;

/** What deeds work with: all but the administrator meets faults. */
export interface Stage {
  readonly client: Client;
  readonly provider: DrizzleProvider;
  /** The database of an application, on the pool of the provider. */
  readonly db: NodePgDatabase & { readonly $client: pg.Pool };
  readonly administrator: Administrator;
  readonly schema: string;
  /** The schema of the application. */
  readonly appSchema: string;
  /** A file of its id in here mends what an instance fails of. */
  readonly repairs: string;
  readonly random: Random;
  /** Stops all workers for a while, longer than their locks, and lets them go on. */
  readonly whileStopped: (use: () => Promise<void>) => Promise<void>;
}

/** One kind of operation that is done again and again while faults happen, and what must hold of it. */
export interface Deed {
  /** Does one more of it, or begins to. */
  begin(number: number): Promise<void>;
  /** Goes on with those that were begun. */
  tend(instances: Instances): Promise<void>;
  /** Those that have not come to their end. */
  open(): readonly string[];
  /** What is not as it must be, once all have ended. */
  problems(instances: Instances): Promise<string[]>;
}

/** A table of the schema, quoted. */
export function tableOf({ schema }: Stage, name: string): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}

/** Rows of any table that belong to one of these instances or to a descendant of theirs. */
export async function traces(stage: Stage, ids: readonly string[]): Promise<string[]> {
  const tables = await stage.administrator.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = $1 and c.column_name = 'instance_id' and t.table_type = 'BASE TABLE'`,
    [stage.schema],
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await stage.administrator.query<{ instance_id: string; n: number }>(
      `select instance_id, count(*)::int as n from ${tableOf(stage, name)}
       where instance_id = any($1) or split_part(instance_id, '::', 1) = any($1) group by instance_id`,
      [ids],
    );
    found.push(...rows.map(({ instance_id, n }) => `${instance_id} has ${n} rows in ${name}`));
  }
  return found;
}

/**
 * A transaction of the application's on a client that it has taken itself: after a failed
 * BEGIN Drizzle gives one that it took from the pool never back.
 */
export async function inTransaction(
  { db }: Stage,
  use: (tx: Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]) => Promise<void>,
): Promise<void> {
  const client = await db.$client.connect();
  let isBroken = true;
  try {
    await drizzle(client).transaction(use);
    isBroken = false;
  } finally {
    client.release(isBroken);
  }
}

/** Whether an instance completed with this output. */
export function completedWith(instances: Instances, id: string, output: unknown): string[] {
  const row = instances.get(id);
  if (row?.status === 'Completed' && row.output === JSON.stringify(output)) return [];
  return [`${id} is ${row?.status ?? 'missing'} with ${row?.output}, expected ${JSON.stringify(output)}`];
}
