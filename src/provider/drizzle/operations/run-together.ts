import type { SqlValues, Transaction } from '../executor.js';
import type { Statement } from '../statement.js';

/** A statement that answers nothing of interest, with its values. */
export interface Step {
  readonly statement: Statement<undefined>;
  readonly values: SqlValues;
}

/**
 * Runs the last steps of a transaction: all are issued in this tick, and COMMIT with
 * them, so that they cost one round trip where the driver can. After a failure the
 * server refuses those behind it, which is why the first one is the one to report.
 */
export async function runTogether(tx: Transaction, steps: readonly Step[]): Promise<void> {
  const last = steps.length - 1;
  const answers = steps.map(({ statement, values }, index) =>
    index === last ? tx.runLast(statement, values) : tx.run(statement, values),
  );
  for (const answer of await Promise.allSettled(answers)) {
    if (answer.status === 'rejected') throw answer.reason;
  }
}
