import {
  type Driver,
  type Executor,
  type ListenHandlers,
  ScopeEndedError,
  type ScopeExecutor,
  type SqlValues,
  type Subscription,
  type Transaction,
} from '../../provider/drizzle/executor.js';
import type { Cell, Statement } from '../../provider/drizzle/statement.js';
import { PgMemClient, type PgMemPool } from './pool.js';

/** The provider's driver over a {@link PgMemPool}. */
export class PgMemDriver implements Driver {
  readonly kind = 'pg-mem';
  readonly canOpenSecondConnection = false;

  constructor(
    private readonly pool: PgMemPool,
    /** Whether closing the provider closes the pool. */
    private readonly ownsPool = false,
  ) {}

  async withConnection<T>(use: (executor: Executor) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      return await use(executorOn(client));
    } finally {
      client.release();
    }
  }

  async withTransaction<T>(use: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
      const result = await use(transactionOn(client));
      // `runLast` has ended it already; a COMMIT outside of a transaction is only a warning.
      const { command } = await client.query('COMMIT');
      // An error in the middle that the callback did not pass on.
      if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
      return result;
    } finally {
      // Rolls back what is still open; the first error stays the one that is thrown.
      client.release();
    }
  }

  scopeOf(tx: unknown): ScopeExecutor | undefined {
    const client = (tx as { session?: { client?: unknown } } | null)?.session?.client;
    if (!(client instanceof PgMemClient)) return undefined;
    const executor = executorOn(client);
    return {
      guardsItself: true,
      mayBeOpen: () => client.getTransactionStatus() !== 'I',
      run: async (statement, values) => {
        refuseAfterEnd(client);
        return executor.run(statement, values);
      },
      script: async (text) => {
        refuseAfterEnd(client);
        return executor.script(text);
      },
    };
  }

  listen(channel: string, handlers: ListenHandlers): Subscription {
    const stop = this.pool.server.onNotification((name, payload) => {
      if (name === channel) handlers.onNotification(payload);
    });
    handlers.onConnected();
    return {
      close: async () => stop(),
    };
  }

  async close(): Promise<void> {
    if (this.ownsPool) await this.pool.end();
  }
}

/** Nothing comes between this look and the statement, because the statement runs in the same tick. */
function refuseAfterEnd(client: PgMemClient): void {
  if (client.getTransactionStatus() === 'I') throw new ScopeEndedError();
}

function executorOn(client: PgMemClient): Executor {
  return {
    run: (statement, values) => run(client, statement, values),
    script: async (sql) => void (await client.query(sql)),
  };
}

function transactionOn(client: PgMemClient): Transaction {
  return {
    ...executorOn(client),
    runLast: async (statement, values) => {
      const rows = run(client, statement, values);
      // In the same tick. After an error this rolls back, and the error below is the first one.
      const committed = client.query('COMMIT');
      const [result] = await Promise.all([rows, committed]);
      return result;
    },
  };
}

async function run<Row>(client: PgMemClient, statement: Statement<Row>, values: SqlValues = {}): Promise<Row[]> {
  const { rows } = await client.query({
    text: statement.text,
    values: statement.bind(values),
    rowMode: 'array',
    types: { getTypeParser: () => (text) => text },
  });
  return rows.map((cells) => statement.decode(cells as readonly Cell[]));
}
