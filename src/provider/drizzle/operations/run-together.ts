import type { SqlValues, Transaction } from '../executor.js';
import type { Statement } from '../statement.js';

/** A statement with its values, and what is to be done with its rows, if that is of interest. */
export interface Step<Row = unknown> {
  readonly statement: Statement<Row>;
  readonly values: SqlValues;
  /** Called before the commit is known. */
  received?(rows: readonly Row[]): void;
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
  const settled = await Promise.allSettled(answers);
  steps.forEach((step, index) => {
    const answer = settled[index];
    if (answer?.status === 'rejected') throw answer.reason;
    if (answer) step.received?.(answer.value);
  });
}
