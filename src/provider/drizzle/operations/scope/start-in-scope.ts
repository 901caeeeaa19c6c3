import type { WorkItemOf } from '../../../../wire/work-item.js';
import type { ProviderContext } from '../../context.js';
import { type CallerTransaction, isInScope } from '../../scope.js';
import { insertUnlessStarted, lockOfStart, START_IF_ABSENT, startValues } from '../enqueue-start-if-absent.js';
import { orchestratorRow } from '../queue-rows.js';
import { refuseOrchestratorItem } from '../refusal.js';

/**
 * {@link insertUnlessStarted} in a caller's transaction, which keeps the lock until its end.
 * @returns whether it was enqueued
 * @throws TransactionEndedError, ProviderError
 */
export async function startInScope(
  ctx: ProviderContext,
  transaction: CallerTransaction,
  item: WorkItemOf<'StartOrchestration'>,
): Promise<boolean> {
  const refusal = refuseOrchestratorItem(START_IF_ABSENT, item);
  if (refusal) throw refusal;
  const values = startValues(ctx, orchestratorRow(item), ctx.clock.nowMs());
  const locked = transaction.run(START_IF_ABSENT, lockOfStart(ctx, isInScope), values);
  const added = transaction.run(START_IF_ABSENT, insertUnlessStarted(ctx, isInScope), values);
  // Issued before it is known whether it was added: a look too many costs little, and a
  // statement that came after a COMMIT nobody awaited us for would tell nobody.
  const notified = transaction.notify(START_IF_ABSENT, 'orchestrator');
  for (const one of [added, notified]) one.catch(() => {});
  // No lock: the transaction is over. Then postgres-js may never answer the statements behind it.
  if ((await locked).length === 0) throw transaction.ended(START_IF_ABSENT);
  const isAdded = (await added).length > 0;
  await notified;
  return isAdded;
}
