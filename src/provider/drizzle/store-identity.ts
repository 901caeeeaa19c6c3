import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { quoteSchemaName } from '../../schema/schema-name.js';
import { serverErrorOf } from './drivers/connection-errors.js';
import type { Driver } from './executor.js';
import { compile, textCell } from './statement.js';

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Tells the provider's store from others, for transactions that were not begun on the
 * database that the provider knows: they may be of another server, or another PGlite.
 */
export class StoreIdentity {
  private readonly trusted = new WeakSet();
  private identity: { readonly text: string; readonly expression: SQL } | undefined;

  constructor(
    private readonly driver: Driver,
    private readonly schema: string,
  ) {}

  /** Transactions of this Drizzle database are the provider's. */
  trust(db: object): void {
    const { dialect } = db as { dialect?: unknown };
    if (typeof dialect === 'object' && dialect !== null) this.trusted.add(dialect);
  }

  /** Reads the identity, once, when the provider is opened. pg-mem has one store only. */
  async learn(): Promise<void> {
    if (this.driver.kind === 'pg-mem') return;
    if (this.driver.kind === 'pglite') {
      // It has one session, and every transaction of it sees the settings of that.
      const mark = sql`select set_config('ddz.store', coalesce(nullif(current_setting('ddz.store', true), ''), ${sql.placeholder('mark')}::text), false)`;
      const text = await this.read(mark, { mark: randomUUID() });
      this.identity = { text, expression: sql`current_setting('ddz.store', true)` };
      return;
    }
    const table = sql`coalesce(to_regclass(${sql.raw(`'${quoteSchemaName(this.schema)}.orchestrator_queue'`)})::oid::text, '')`;
    const database = sql`current_database() || '/' || ${table}`;
    const cluster = sql`(select system_identifier::text from pg_control_system()) || '/' || ${database}`;
    try {
      this.identity = { text: await this.read(sql`select ${cluster}`), expression: cluster };
    } catch (error) {
      if (serverErrorOf(error)?.code !== INSUFFICIENT_PRIVILEGE) throw error;
      this.identity = { text: await this.read(sql`select ${database}`), expression: database };
    }
  }

  /** How to ask whether `tx` is one of this store; `undefined` where that is certain. */
  question(tx: unknown): { readonly text: string; readonly expression: SQL } | undefined {
    const { dialect } = tx as { dialect?: object };
    return dialect && this.trusted.has(dialect) ? undefined : this.identity;
  }

  private async read(query: SQL, values: { readonly mark?: string } = {}): Promise<string> {
    const statement = compile(query, ([text]) => textCell(text));
    const [text] = await this.driver.withConnection((executor) => executor.run(statement, values));
    if (text === undefined) throw new Error('the database told nothing of itself');
    return text;
  }
}
