import type { SqlValues, Transaction } from '../executor.js';
import type { Statement } from '../statement.js';
import { CommitUnknownError, leavesCommitOpen, markConnectionError, serverErrorOf } from './connection-errors.js';

/** Runs statements on a transaction that a driver's own function opened and will end. */
export interface TransactionRunner {
  run<Row>(statement: Statement<Row>, values?: SqlValues): Promise<Row[]>;
  script(sql: string): Promise<void>;
}

/**
 * A transaction whose COMMIT the driver sends when its callback is through. It keeps the
 * first error, because what follows one is only its consequence, and refuses to be used
 * after its end.
 */
export class FirstErrorTransaction implements Transaction {
  firstError: Error | undefined;
  over = false;

  constructor(private readonly runner: TransactionRunner) {}

  run<Row>(statement: Statement<Row>, values?: SqlValues): Promise<Row[]> {
    return this.noting(() => this.runner.run(statement, values));
  }

  runLast<Row>(statement: Statement<Row>, values?: SqlValues): Promise<Row[]> {
    const rows = this.run(statement, values);
    this.over = true;
    return rows;
  }

  script(sql: string): Promise<void> {
    return this.noting(() => this.runner.script(sql));
  }

  private noting<T>(issue: () => Promise<T>): Promise<T> {
    if (this.over) return Promise.reject(new Error('this transaction is over'));
    const answer = issue();
    // Whoever does not look at a failure meets it again at the end of the transaction.
    answer.catch((error: Error) => {
      if (serverErrorOf(error)) this.firstError ??= error;
    });
    return answer;
  }
}

/**
 * Runs `use` inside of a driver's own transaction function.
 * @param begin calls back with a runner on the open transaction, and resolves after COMMIT
 * @throws the first error of the transaction, what `use` threw, or `CommitUnknownError`
 */
export async function performInTransaction<T>(
  begin: (work: (runner: TransactionRunner) => Promise<void>) => Promise<unknown>,
  use: (tx: Transaction) => Promise<T>,
): Promise<T> {
  let tx: FirstErrorTransaction | undefined;
  let done: { readonly value: T } | undefined;
  let thrown: unknown;
  try {
    await begin(async (runner) => {
      tx = new FirstErrorTransaction(runner);
      try {
        const value = await use(tx);
        // A COMMIT after an error is answered with ROLLBACK, which not every driver takes for a failure.
        if (tx.firstError) throw tx.firstError;
        done = { value };
      } catch (error) {
        thrown = error;
        throw error;
      }
    });
  } catch (error) {
    throw causeOf(error, { first: tx?.firstError, thrown, isCommitting: done !== undefined });
  } finally {
    if (tx) tx.over = true;
  }
  if (!done) throw new Error('the transaction ended without its result');
  return done.value;
}

interface Failure {
  /** The first error of the transaction. */
  readonly first: Error | undefined;
  /** What the callback rejected with. */
  readonly thrown: unknown;
  /** Whether the callback was through, so that COMMIT was sent. */
  readonly isCommitting: boolean;
}

function causeOf(error: unknown, { first, thrown, isCommitting }: Failure): unknown {
  const fromServer = serverErrorOf(error);
  if (isCommitting && (fromServer === undefined || leavesCommitOpen(fromServer))) {
    return new CommitUnknownError(markConnectionError(error));
  }
  // What the callback threw on its own account stands; a driver's error is at best the first one.
  if (first && (fromServer || error === first)) return first;
  return error === thrown ? error : markConnectionError(error);
}
