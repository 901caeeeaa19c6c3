import pg from 'pg';
import type { Driver, Executor, Transaction } from '../../../../src/provider/drizzle/executor.js';
import { databaseUrl } from '../../../support/database.js';

/** A driver over a pool of node-postgres, with just what the migrator needs. */
export function pgDriver(pool: pg.Pool): Driver {
  const executorOn = (client: pg.PoolClient): Transaction => {
    const executor: Executor = {
      async run(statement, values = {}) {
        const { rows } = await client.query<unknown[]>({
          text: statement.text,
          values: statement.bind(values),
          rowMode: 'array',
          types: { getTypeParser: () => (text: string) => text },
        });
        return rows.map((cells) => statement.decode(cells as (string | null)[]));
      },
      async script(text) {
        await client.query(text);
      },
    };
    return { ...executor, runLast: executor.run.bind(executor) };
  };
  const withClient = async <T>(use: (tx: Transaction, client: pg.PoolClient) => Promise<T>) => {
    const client = await pool.connect();
    try {
      return await use(executorOn(client), client);
    } finally {
      client.release();
    }
  };
  return {
    kind: 'node-postgres',
    canOpenSecondConnection: pool.options.max > 1,
    withConnection: (use) => withClient(use),
    withTransaction: (use) =>
      withClient(async (tx, client) => {
        await client.query('begin isolation level read committed');
        try {
          const value = await use(tx);
          await client.query('commit');
          return value;
        } catch (error) {
          await client.query('rollback');
          throw error;
        }
      }),
    scopeOf: () => undefined,
    close: () => pool.end(),
  };
}

/** Runs `use` with a driver of its own; `url` may name another role. */
export async function withDriver<T>(
  use: (driver: Driver, pool: pg.Pool) => Promise<T>,
  url = databaseUrl(),
  max = 4,
): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max });
  try {
    return await use(pgDriver(pool), pool);
  } finally {
    await pool.end();
  }
}
