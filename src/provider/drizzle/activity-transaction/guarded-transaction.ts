import { TransactionControlError, TransactionEndedError } from '../../provider-error.js';
import { serverErrorOf } from '../drivers/connection-errors.js';
import { transactionControl } from './transaction-control.js';

/** What all of Drizzle's transactions on PostgreSQL share, as far as a guard needs it. */
export interface GuardableTransaction {
  readonly session: GuardableSession;
  transaction(use: (tx: GuardableTransaction) => unknown, ...rest: readonly unknown[]): unknown;
  rollback(): never;
}

interface GuardableSession {
  prepareQuery(query: { readonly sql: string }, ...rest: readonly unknown[]): object;
  /** Set where a guard stands before `prepareQuery`: the function behind it, for our own statements. */
  [UNGUARDED]?: GuardableSession['prepareQuery'];
}

/** On a session under guard: its own `prepareQuery`. */
export const UNGUARDED = Symbol('prepareQuery without guard');

/** The methods by which Drizzle's prepared queries are run. */
const RUNNERS = ['execute', 'all', 'values'] as const;

/** How Drizzle itself ends a transaction. */
const OWN_END = /^(commit|rollback)$/i;

/**
 * Stands between the application's code and its transaction: the code can neither end the
 * transaction nor use it after its end, because then its rows and the completion of the
 * activity would no longer be one.
 */
export class TransactionGuard {
  private isClosed = false;
  /** The server's first error: those after it say only that the transaction is aborted. */
  private first: Error | undefined;

  /** @param what names the activity and its instance */
  constructor(private readonly what: string) {}

  get firstError(): Error | undefined {
    return this.first;
  }

  /** From here on only Drizzle's own COMMIT or ROLLBACK passes. */
  close(): void {
    this.isClosed = true;
  }

  /** Guards a transaction, and those nested in it. */
  protect(tx: GuardableTransaction): void {
    this.protectSession(tx.session);
    const begin = tx.transaction.bind(tx);
    tx.transaction = (use, ...rest) =>
      begin((nested) => {
        this.protect(nested);
        // A savepoint is rolled back by hand as ever: its outer transaction goes on.
        return use(nested);
      }, ...rest);
    if (isNested(tx)) return;
    tx.rollback = () => {
      throw new TransactionControlError(this.what, 'tx.rollback()');
    };
  }

  private protectSession(session: GuardableSession): void {
    // Nested transactions share the session with some drivers.
    if (session[UNGUARDED]) return;
    const prepare = session.prepareQuery.bind(session);
    session[UNGUARDED] = prepare;
    session.prepareQuery = (query, ...rest) => this.watch(query.sql, prepare(query, ...rest));
  }

  private watch(text: string, prepared: object): object {
    const methods = prepared as Record<string, ((...args: unknown[]) => Promise<unknown>) | undefined>;
    for (const name of RUNNERS) {
      const method = methods[name];
      if (typeof method !== 'function') continue;
      // Async, so that a refusal rejects; up to its first await it still runs in the tick of the call.
      methods[name] = async (...args) => {
        this.check(text);
        try {
          return await method.apply(prepared, args);
        } catch (error) {
          this.first ??= serverErrorOf(error);
          throw error;
        }
      };
    }
    return prepared;
  }

  private check(text: string): void {
    if (this.isClosed) {
      if (OWN_END.test(text)) return;
      throw new TransactionEndedError(this.what);
    }
    const command = transactionControl(text);
    if (command !== undefined) throw new TransactionControlError(this.what, command);
  }
}

function isNested(tx: GuardableTransaction): boolean {
  return ((tx as { nestedIndex?: unknown }).nestedIndex ?? 0) !== 0;
}
