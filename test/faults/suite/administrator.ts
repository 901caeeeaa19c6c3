import pg from 'pg';

/** How long a server may be away. */
const PATIENCE_MS = 60_000;

/** The suite's own connections, past all proxies; finds the server again whenever it was away. */
export class Administrator {
  private pool: pg.Pool;

  constructor(url: string) {
    this.pool = this.open(url);
  }

  /** The server is another one from now on. */
  async moveTo(url: string): Promise<void> {
    const old = this.pool;
    this.pool = this.open(url);
    await old.end();
  }

  async query<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    const giveUpAtMs = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return (await this.pool.query(text, values)).rows as Row[];
      } catch (error) {
        const { code } = error as { code?: string };
        // What the suite itself breaks: connections, the server, its settings, its disk.
        const isOurDoing = code === undefined || /^(08|57|53|25|55|E)/.test(code);
        if (!isOurDoing || performance.now() > giveUpAtMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  private open(url: string): pg.Pool {
    const pool = new pg.Pool({
      connectionString: url,
      max: 2,
      application_name: 'administrator',
      // Not what the suite sets for everybody else.
      options: '-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0',
    });
    pool.on('error', () => {});
    return pool;
  }
}
