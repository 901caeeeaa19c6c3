import type { TransactionRunner } from './first-error.js';
import { isPgClient } from './node-postgres-client.js';

/**
 * The client behind a Drizzle session that must not be handed a query while another is
 * under way: node-postgres (pg-native, too) deprecates it, except in pipeline mode.
 */
export function clientOfOneQuery(session: { readonly client?: unknown }): object | undefined {
  const { client } = session;
  return isPgClient(client) && !client.pipeline ? client : undefined;
}

/** The last statement of any scope on a client. */
const lastOnClient = new WeakMap<object, Promise<void>>();

/**
 * For scopes of somebody else's transaction: issues a statement in the tick of the call
 * unless another scope's is under way; then after its answer, whatever that is.
 */
export function takingTurns(client: object, runner: TransactionRunner): TransactionRunner {
  const inTurn = <T>(issue: () => Promise<T>): Promise<T> => {
    const before = lastOnClient.get(client);
    const answer = before ? before.then(issue) : issue();
    // Before whoever waits for the answer comes with the next one, which is issued at once then.
    const free = () => {
      if (lastOnClient.get(client) === settled) lastOnClient.delete(client);
    };
    const settled: Promise<void> = answer.then(free, free);
    lastOnClient.set(client, settled);
    return answer;
  };
  return throughout(runner, inTurn);
}

/**
 * For a transaction of our own: each statement after the one before; after a failure, or
 * a rejection of `work`, none that has not been issued yet. Resolves when all are answered.
 */
export async function runInTurn(
  runner: TransactionRunner,
  work: (runner: TransactionRunner) => Promise<void>,
): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  let isOver = false;
  const inTurn = <T>(issue: () => Promise<T>): Promise<T> => {
    const answer = last.then(() => {
      if (isOver) throw new Error('this transaction is over');
      return issue();
    });
    last = answer;
    return answer;
  };
  try {
    await work(throughout(runner, inTurn));
  } catch (error) {
    isOver = true;
    throw error;
  }
  // Issued and not waited for: it belongs before the COMMIT.
  await last;
}

function throughout(
  runner: TransactionRunner,
  inTurn: <T>(issue: () => Promise<T>) => Promise<T>,
): TransactionRunner {
  return {
    run: (statement, values) => inTurn(() => runner.run(statement, values)),
    script: (sql) => inTurn(() => runner.script(sql)),
  };
}
