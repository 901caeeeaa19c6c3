import { type SQL, sql } from 'drizzle-orm';
import { UnsupportedError } from '../../../provider-error.js';
import type { ProviderContext } from '../../context.js';
import type { SqlValues } from '../../executor.js';
import { type CallerTransaction, isInScope } from '../../scope.js';
import type { Statement } from '../../statement.js';
import { lookForAbsence, seesWhatOthersCommitted } from '../enqueue-start-if-absent.js';

/** The placeholder of what was found beside the transaction; `addIfAbsent` fills it. */
const ABSENT = 'isKnownAbsent';

/**
 * The condition of an insertion that needs to see the starts which others have committed: at
 * REPEATABLE READ and above the transaction's snapshot is older than the lock on the id.
 */
export function mayBeAdded(ctx: ProviderContext): SQL {
  if (isAlone(ctx)) return isInScope;
  return sql`${isInScope} and (${sql.placeholder(ABSENT)}::boolean or ${seesWhatOthersCommitted})`;
}

export interface Addition<Row> {
  readonly operation: string;
  readonly instance: string;
  /** Locks the id until the end of the transaction, and says whether later statements see what is committed. */
  readonly lock: Statement<boolean>;
  /** In order; of them the last inserts, and only where {@link mayBeAdded}. */
  readonly statements: readonly [...before: Statement<undefined>[], insertion: Statement<Row>];
  readonly values: SqlValues;
  readonly wakes: 'orchestrator' | 'startQueues';
}

/**
 * A start of an id that must not have been started, in a caller's transaction. Everything is
 * issued in the tick of the call, unless the transaction has to be helped by a look from beside it.
 * @returns what the insertion answered
 * @throws TransactionEndedError, ProviderError; UnsupportedError where that look is impossible
 */
export async function addIfAbsent<Row>(
  ctx: ProviderContext,
  transaction: CallerTransaction,
  { operation, instance, lock, statements, wakes, ...addition }: Addition<Row>,
): Promise<Row[]> {
  const run = (isKnownAbsent: boolean) => {
    const values = { ...addition.values, [ABSENT]: isKnownAbsent };
    const answers = statements.map((statement) => transaction.run<unknown>(operation, statement, values));
    for (const answer of answers) answer.catch(() => {});
    return answers.at(-1) as Promise<Row[]>;
  };
  const locked = transaction.run(operation, lock, addition.values);
  const added = run(false);
  // Issued before it is known whether it was added: a look too many costs little, and a
  // statement that came after a COMMIT nobody awaited us for would tell nobody.
  const notified = transaction.notify(operation, wakes);
  notified.catch(() => {});
  const [seesAll] = await locked;
  // No lock: the transaction is over. Then postgres-js may never answer the statements behind it.
  if (seesAll === undefined) throw transaction.ended(operation);
  const rows = await added;
  await notified;
  if (seesAll || isAlone(ctx) || !(await isAbsentBeside(ctx, operation, instance))) return rows;
  return run(true);
}

/** Nobody commits beside a transaction of a database that has one connection. */
function isAlone({ driver: { kind } }: ProviderContext): boolean {
  return kind === 'pglite' || kind === 'pg-mem';
}

async function isAbsentBeside(ctx: ProviderContext, operation: string, instance: string): Promise<boolean> {
  try {
    const [isAbsent] = await ctx.beside.run(operation, lookForAbsence(ctx), { instance });
    return isAbsent === true;
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    throw new UnsupportedError(
      `${operation}: nothing was stored for instance '${instance}': whether it was started before cannot be seen in a ` +
        `transaction above the isolation level 'read committed', and ${error.message}`,
    );
  }
}
