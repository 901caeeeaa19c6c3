import { exponentialDelayMs } from '../base/backoff.js';
import { sleepReal } from '../base/clock.js';
import type { ActivityTransactionOutcome, ActivityTransactions } from '../provider/activity-transactions.js';
import type { ProviderError } from '../provider/provider-error.js';
import type { TransactionScope } from '../provider/provider.js';
import type { WorkItem } from '../wire/work-item.js';
import type { ActivityContextParams } from './activity-context.js';
import type { ActivityResult } from './activity-failure.js';
import type { InTransaction } from './activity-handler.js';
import type { RunningActivity } from './activity-run.js';
import type { RuntimeCore } from './core.js';
import { TransactionalActivityContext } from './transactional-activity-context.js';

/** Transactions in one attempt of the activity, when they end in conflicts. */
const MAX_TRANSACTIONS = 5;
/** Pause before the second one, in ms; it doubles. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 80;

/** How an activity ended whose row has been dealt with in its own transaction, or could not be. */
export type SettledActivity =
  | { readonly kind: 'committed' }
  /** Rolled back, because the row is somebody else's or cancelled. */
  | { readonly kind: 'lost' }
  /** Nothing has happened: the store could not be reached. */
  | { readonly kind: 'unavailable'; readonly error: ProviderError }
  /** Everything has happened, or nothing. */
  | { readonly kind: 'unknown'; readonly error: ProviderError };

export interface TransactionalRun {
  readonly run: RunningActivity;
  readonly code: InTransaction;
  readonly context: ActivityContextParams;
  /** The lock need not be renewed from here on. */
  readonly releaseLock: () => void;
}

/**
 * Runs a transactional activity: its rows and its completion are committed together, or
 * neither is. A conflict with others runs it again, in the same attempt. Never rejects.
 */
export async function runTransactional(
  core: RuntimeCore,
  activity: TransactionalRun,
): Promise<ActivityResult | SettledActivity> {
  const transactions = core.provider.activityTransactions?.();
  const { item } = activity.run.activity;
  if (!transactions) {
    const unsupported = new Error(
      `the store of this runtime (${core.provider.name()}) has no transactions that an activity could join; use a DrizzleProvider`,
    );
    return { ok: false, message: activity.code.failureText(unsupported) };
  }
  for (let tries = 1; ; tries++) {
    const outcome = await performOnce(core, transactions, activity);
    if (outcome.kind === 'thrown') return { ok: false, message: activity.code.failureText(outcome.error) };
    if (outcome.kind !== 'conflict') return outcome;
    if (activity.run.cancelled) return { kind: 'lost' };
    if (tries === MAX_TRANSACTIONS) return { ok: false, message: activity.code.failureText(outcome.error) };
    core.logger.debug(
      { instance: item.instance, activity: item.name, tries },
      'a conflict: the transaction runs again',
    );
    // Real time, as all pauses between transactions.
    await sleepReal(exponentialDelayMs(FIRST_PAUSE_MS, tries, LONGEST_PAUSE_MS) * (0.5 + core.random()));
  }
}

function performOnce(
  core: RuntimeCore,
  transactions: ActivityTransactions,
  { run, code, context, releaseLock }: TransactionalRun,
): Promise<ActivityTransactionOutcome> {
  const { row, item } = run.activity;
  const { instance, executionId, id } = item;
  const { maxPayloadBytes } = core.options;
  return transactions.run({
    lock: { instance: row.instance, lockToken: row.lockToken },
    what: `activity '${item.name}' of instance '${instance}'`,
    isolationLevel: code.isolationLevel,
    abandoned: run.abandoned,
    use: async (tx: unknown, scope: TransactionScope): Promise<WorkItem> => {
      if (transactions.runsAlone) releaseLock();
      const ctx = new TransactionalActivityContext(context, run.client().inScope(scope));
      const result = await code.run(ctx, tx, item.input, maxPayloadBytes);
      return { kind: 'ActivityCompleted', instance, executionId, id, result };
    },
  });
}
