import type { WorkItemOf } from '../../../../wire/work-item.js';
import type { ProviderContext } from '../../context.js';
import { type CallerTransaction, isInScope } from '../../scope.js';
import { insertUnlessStarted, lockOfStart, START_IF_ABSENT, startValues } from '../enqueue-start-if-absent.js';
import { orchestratorRow } from '../queue-rows.js';
import { refuseOrchestratorItem } from '../refusal.js';
import { addIfAbsent, mayBeAdded } from './add-if-absent.js';

/**
 * {@link insertUnlessStarted} in a caller's transaction, which keeps the lock until its end.
 * @returns whether it was enqueued
 * @throws TransactionEndedError, UnsupportedError, ProviderError
 */
export async function startInScope(
  ctx: ProviderContext,
  transaction: CallerTransaction,
  item: WorkItemOf<'StartOrchestration'>,
): Promise<boolean> {
  const refusal = refuseOrchestratorItem(START_IF_ABSENT, item);
  if (refusal) throw refusal;
  const added = await addIfAbsent(ctx, transaction, {
    operation: START_IF_ABSENT,
    instance: item.instance,
    lock: lockOfStart(ctx, isInScope),
    statements: [insertUnlessStarted(ctx, mayBeAdded(ctx))],
    values: startValues(ctx, orchestratorRow(item), ctx.clock.nowMs()),
    wakes: 'orchestrator',
  });
  return added.length > 0;
}
