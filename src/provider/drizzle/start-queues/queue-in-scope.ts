import type { QueuedStart, QueueStartOutcome } from '../../start-queues.js';
import { UnsupportedError } from '../../provider-error.js';
import { missingTable } from '../admin/own-tables.js';
import type { ProviderContext } from '../context.js';
import { refuseOrchestratorItem } from '../operations/refusal.js';
import { type CallerTransaction, isInScope } from '../scope.js';
import {
  freeEndedOf,
  insertStarts,
  lockStarts,
  outcomesOf,
  QUEUE_START,
  startRow,
  startRowValues,
} from './enqueue-starts.js';

/**
 * A start that waits for its admission, in a caller's transaction, which keeps the lock on
 * its id until its end. Everything is issued in the tick of the call.
 * @throws TransactionEndedError, UnsupportedError, ProviderError
 */
export async function queueInScope(
  ctx: ProviderContext,
  transaction: CallerTransaction,
  start: QueuedStart,
): Promise<QueueStartOutcome> {
  const refusal = refuseOrchestratorItem(QUEUE_START, start.item);
  if (refusal) throw refusal;
  // Found out by a statement, it would have aborted the caller's transaction.
  if (!ctx.startQueues.present) throw unavailable(ctx);
  const rows = [startRow(start)];
  const values = startRowValues(ctx, rows, ctx.clock.nowMs());
  const locked = transaction.run(QUEUE_START, lockStarts(ctx, isInScope), values);
  const freed = transaction.run(QUEUE_START, freeEndedOf(ctx, isInScope), values);
  const added = transaction.run(QUEUE_START, insertStarts(ctx, isInScope), values);
  const notified = transaction.notify(QUEUE_START, 'startQueues');
  for (const one of [freed, added, notified]) one.catch(() => {});
  // No lock: the transaction is over. Then postgres-js may never answer the statements behind it.
  if ((await locked).length === 0) throw transaction.ended(QUEUE_START);
  const [outcome = 'exists'] = outcomesOf(rows, await added);
  await notified;
  return outcome;
}

function unavailable(ctx: ProviderContext): UnsupportedError {
  return ctx.driver.kind === 'pg-mem'
    ? new UnsupportedError(`${QUEUE_START}: pg-mem keeps no start queues; use PGlite`)
    : missingTable(QUEUE_START, ctx, 'ddz_start_queues');
}
