import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import type { ProviderContext } from '../../src/provider/drizzle/context.js';
import { createContext } from '../../src/provider/drizzle/create-context.js';
import { driverFor } from '../../src/provider/drizzle/drivers/index.js';
import type { Driver, Executor, SqlValues, Transaction } from '../../src/provider/drizzle/executor.js';
import { migrateSchema } from '../../src/provider/drizzle/migrate/index.js';
import type { Statement } from '../../src/provider/drizzle/statement.js';
import { startPostgresServer, type PostgresServer } from '../../test/support/postgres-server.js';
import { type Reads, readsOf } from './reads.js';

const SCHEMA = 'bench_plans';
const TABLES = [
  'orchestrator_queue',
  'worker_queue',
  'instances',
  'executions',
  'history',
  'instance_locks',
  'sessions',
  'kv_store',
  'kv_delta',
];

/** A statement that an operation ran, and what it read just before it was run. */
export interface Explained {
  /** The provider's own name for it. */
  readonly key: string;
  readonly reads: Reads;
}

/** A schema on a server of its own, and a provider whose statements explain themselves. */
export class PlansBench {
  /** Statements since the last {@link PlansBench.of}. */
  #explained: Explained[] = [];

  private constructor(
    private readonly server: PostgresServer,
    private readonly pool: pg.Pool,
  ) {}

  static async open(): Promise<PlansBench> {
    // Vacuum comes when it is asked for, so that the figures are the same each time.
    const server = await startPostgresServer({ settings: ['fsync=off', 'autovacuum=off', 'max_wal_size=4GB'] });
    const pool = new pg.Pool({ connectionString: server.url, max: 2, options: `-c search_path=${SCHEMA}` });
    await migrateSchema(driverFor(drizzle(pool)), { schema: SCHEMA });
    return new PlansBench(server, pool);
  }

  get url(): string {
    return this.server.url;
  }

  /** What operations work with; made anew, so that no plan is one of other rows. */
  context(): ProviderContext {
    const keys = new Map<string, string>();
    const driver = explaining(driverFor(drizzle(this.pool)), ({ text }, reads) => {
      this.#explained.push({ key: keys.get(text) ?? text, reads });
    });
    const ctx = createContext(driver, { schema: SCHEMA, logger: silentLogger });
    return {
      ...ctx,
      statement(key, build, decode) {
        const statement = ctx.statement(key, build, decode);
        keys.set(statement.text, key);
        return statement;
      },
    };
  }

  /** Runs an operation and answers with its statements, in their order. */
  async of<T>(run: () => Promise<T>): Promise<{ value: T; statements: Explained[] }> {
    this.#explained = [];
    const value = await run();
    return { value, statements: this.#explained };
  }

  async sql(text: string, values: readonly unknown[] = []): Promise<void> {
    await this.pool.query(text, [...values]);
  }

  async empty(): Promise<void> {
    await this.sql(`truncate ${TABLES.join(', ')}`);
  }

  async analyze(): Promise<void> {
    await this.sql(`vacuum analyze ${TABLES.join(', ')}`);
  }

  async close(): Promise<void> {
    await this.pool.end();
    await this.server.destroy();
  }
}

/** Explains each statement where it is run: in its transaction, behind those before it. */
function explaining(driver: Driver, note: (statement: Statement<unknown>, reads: Reads) => void): Driver {
  const explain = async (executor: Executor, statement: Statement<unknown>, values: SqlValues) => {
    note(statement, await readsOf(executor, statement, values));
  };
  const ofTransaction = (tx: Transaction): Transaction => {
    // Statements are issued without waiting for the one before; here each has its turn.
    let before: Promise<unknown> = Promise.resolve();
    const inTurn = <T>(statement: Statement<unknown>, values: SqlValues, send: () => Promise<T>): Promise<T> => {
      const answer = before.then(async () => {
        await explain(tx, statement, values);
        return send();
      });
      before = answer;
      return answer;
    };
    return {
      script: (text) => tx.script(text),
      run: (statement, values = {}) => inTurn(statement, values, () => tx.run(statement, values)),
      runLast: (statement, values = {}) => inTurn(statement, values, () => tx.runLast(statement, values)),
    };
  };
  return {
    kind: driver.kind,
    canOpenSecondConnection: driver.canOpenSecondConnection,
    sendsBatches: driver.sendsBatches === true,
    // What runs without a transaction has none of its settings: it is explained in one without them.
    withConnection: (use) =>
      driver.withConnection((executor) =>
        use({
          script: (text) => executor.script(text),
          async run(statement, values = {}) {
            await executor.script('begin');
            await explain(executor, statement, values);
            await executor.script('rollback');
            return executor.run(statement, values);
          },
        }),
      ),
    withTransaction: (use, options) => driver.withTransaction((tx) => use(ofTransaction(tx)), options),
    scopeOf: (tx) => driver.scopeOf(tx),
    close: () => driver.close(),
  };
}
