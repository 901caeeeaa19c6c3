import type { QueuedStart, QueueStartOutcome } from '../../start-queues.js';
import { UnsupportedError } from '../../provider-error.js';
import { missingTable } from '../admin/own-tables.js';
import type { ProviderContext } from '../context.js';
import { refuseOrchestratorItem } from '../operations/refusal.js';
import { addIfAbsent, mayBeAdded } from '../operations/scope/add-if-absent.js';
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
 * its id until its end.
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
  const answers = await addIfAbsent(ctx, transaction, {
    operation: QUEUE_START,
    instance: start.item.instance,
    lock: lockStarts(ctx, isInScope),
    statements: [freeEndedOf(ctx, isInScope), insertStarts(ctx, mayBeAdded(ctx))],
    values: startRowValues(ctx, rows, ctx.clock.nowMs()),
    wakes: 'startQueues',
  });
  const [outcome = 'exists'] = outcomesOf(rows, answers);
  return outcome;
}

function unavailable(ctx: ProviderContext): UnsupportedError {
  return ctx.driver.kind === 'pg-mem'
    ? new UnsupportedError(`${QUEUE_START}: pg-mem keeps no start queues; use PGlite`)
    : missingTable(QUEUE_START, ctx, 'ddz_start_queues');
}
