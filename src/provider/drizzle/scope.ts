import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { notifyChannel } from '../../schema/notify-channel.js';
import { TransactionEndedError, UnsupportedError } from '../provider-error.js';
import type { QueueName } from '../provider.js';
import type { ProviderContext } from './context.js';
import { payloadOf } from './notifications.js';
import { ScopeEndedError, type ScopeExecutor, type SqlValues } from './executor.js';
import { booleanCell, compile, noRow, type Statement } from './statement.js';
import { toProviderError } from './to-provider-error.js';
import { typeName } from '../../base/type-name.js';

/** The placeholder that {@link isInScope} needs; `CallerTransaction.run` fills it. */
const SCOPE = 'scope';
/** Its value where the driver needs no help. */
const GUARDED_BY_DRIVER = '';

/**
 * The condition under which a statement of a scope may write: the transaction in which
 * the scope was opened is still the one that is running. To be put into the WHERE of
 * every writing statement of a scope (`insert … select … where …`).
 *
 * Drivers that cannot tell the end of a transaction are helped by a mark: a setting
 * local to the transaction, which ends with it, also at the rollback of a savepoint.
 * Unlike the transaction's id it is known before the server has answered anything, so
 * the first statement is guarded, too.
 */
export const isInScope = sql`(${sql.placeholder(SCOPE)}::text = ${sql.raw(`'${GUARDED_BY_DRIVER}'`)} or strpos(current_setting('ddz.scope', true), ${sql.placeholder(SCOPE)}::text) > 0)`;

// Appended, because scopes of an outer transaction go on being valid.
const openScope = compile(
  sql`select set_config('ddz.scope', coalesce(current_setting('ddz.scope', true), '') || ${sql.placeholder(SCOPE)}::text, true)`,
  noRow,
);
const askScope = compile(sql`select coalesce(${isInScope}, false)`, ([is]) => booleanCell(is));

/**
 * A caller's own transaction, for the operations of a scope (provider.md 3.4.7): no
 * BEGIN, no retry; each statement is issued in the tick of the call, so that one that
 * nobody awaits is still ordered before the caller's ROLLBACK.
 */
export class CallerTransaction {
  private readonly mark: string;
  private hasEnded = false;
  /** How to ask whether the transaction is one of this store; `undefined` where that is certain. */
  private readonly question: ReturnType<ProviderContext['identity']['question']>;
  /** Whether the transaction is one of another store. */
  private isElsewhere: Promise<boolean> | undefined;

  private constructor(
    private readonly executor: ScopeExecutor,
    private readonly ctx: ProviderContext,
    tx: unknown,
  ) {
    this.question = ctx.identity.question(tx);
    this.mark = executor.guardsItself && !this.question ? GUARDED_BY_DRIVER : ` ${randomUUID()}`;
    // At once, while the transaction is certain to be the caller's. Elsewhere it is asked together
    // with the first statement, so that the client is free for the caller's own until then.
    if (!executor.guardsItself) this.open();
  }

  private open(): void {
    const { executor, question } = this;
    if (!question) {
      executor.run(openScope, { [SCOPE]: this.mark }).catch(() => {});
      return;
    }
    // Elsewhere nothing is marked, so that nothing is written there either.
    const open = this.ctx.statement(
      'scope: open here',
      () => sql`select case when ${question.expression} = ${sql.placeholder('identity')}::text
          then set_config('ddz.scope', coalesce(current_setting('ddz.scope', true), '') || ${sql.placeholder(SCOPE)}::text, true)
          end is null`,
      ([isElsewhere]) => booleanCell(isElsewhere),
    );
    const asked = executor.run(open, { [SCOPE]: this.mark, identity: question.text });
    // A failure of its own shows again at the first statement: the transaction is aborted, or over.
    this.isElsewhere = asked.then(
      ([isElsewhere]) => isElsewhere === true,
      () => false,
    );
  }

  /** @throws UnsupportedError when `tx` is no transaction of the provider's driver */
  static of(ctx: ProviderContext, tx: unknown): CallerTransaction {
    const executor = ctx.driver.scopeOf(tx);
    if (executor) return new CallerTransaction(executor, ctx, tx);
    throw new UnsupportedError(
      `expected a transaction of a Drizzle database over ${ctx.driver.kind}, the driver of this provider, ` +
        `got ${describeTransaction(tx)}`,
    );
  }

  /**
   * Runs a statement that is guarded by {@link isInScope}; `values` need not name its
   * placeholder. A statement that found nothing to do answers no rows also when the
   * transaction has ended: ask {@link requireOpen} then.
   * @throws TransactionEndedError, ProviderError
   */
  async run<Row>(operation: string, statement: Statement<Row>, values: SqlValues = {}): Promise<Row[]> {
    if (this.hasEnded || !this.executor.mayBeOpen()) throw this.ended(operation);
    if (this.question && !this.isElsewhere) this.open();
    try {
      const rows = await this.executor.run(statement, { ...values, [SCOPE]: this.mark });
      if (await this.isElsewhere) throw this.elsewhere(operation);
      return rows;
    } catch (error) {
      if (error instanceof UnsupportedError) throw error;
      if (await this.isElsewhere) throw this.elsewhere(operation);
      if (error instanceof ScopeEndedError) throw this.ended(operation);
      throw toProviderError(operation, error);
    }
  }

  /** Wakes this process after the commit, where nobody else would tell it. */
  private wakeAtCommit(about: QueueName | 'startQueues'): void {
    this.executor.onCommit?.(() => this.ctx.wake(about));
  }

  /** Delivered at the caller's commit, to this process as well: nobody else learns of that commit. */
  notify(operation: string, about: QueueName | 'startQueues'): Promise<undefined[]> {
    this.wakeAtCommit(about);
    const statement = this.ctx.statement(
      'scope: notify',
      () => sql`select pg_notify(${sql.placeholder('channel')}, ${sql.placeholder('payload')}) where ${isInScope}`,
      noRow,
    );
    const values = { channel: notifyChannel(this.ctx.schema), payload: payloadOf(about) };
    return this.run(operation, statement, values);
  }

  /** The transaction was found to be over; nothing is sent any more. */
  ended(operation: string): TransactionEndedError {
    this.hasEnded = true;
    return new TransactionEndedError(operation);
  }

  private elsewhere(operation: string): UnsupportedError {
    return new UnsupportedError(
      `${operation}: nothing was written, because the transaction belongs to another database than this provider's ` +
        `(schema "${this.ctx.schema}"); begin it on the database that the provider was opened on`,
    );
  }

  /** @throws TransactionEndedError when the scope's transaction is over */
  async requireOpen(operation: string): Promise<void> {
    const [isOpen] = await this.run(operation, askScope);
    if (!isOpen) throw this.ended(operation);
  }
}

/** What somebody took for a transaction of ours. */
function describeTransaction(tx: unknown): string {
  if (typeof tx !== 'object' || tx === null) return typeName(tx);
  const name = (tx as { constructor?: { name?: unknown } }).constructor?.name;
  if ('session' in tx && !('rollback' in tx)) return 'the database itself, not a transaction of it';
  return typeof name === 'string' && name !== 'Object' ? `a ${name}` : 'an object that is none';
}
