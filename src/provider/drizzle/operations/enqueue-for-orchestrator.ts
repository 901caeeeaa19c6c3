import type { EnqueueForOrchestrator, Result } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { noRow } from '../statement.js';
import { runStatement } from '../transaction.js';
import {
  insertIntoOrchestratorQueue,
  type OrchestratorRow,
  orchestratorRow,
  orchestratorRows,
  visibleAtMs,
} from './queue-rows.js';
import { refuseOrchestratorItem } from './refusal.js';
import { done, failed, settleAccepted } from './settle-batch.js';
import { utf8Length } from '../../../base/text.js';

const OPERATION = 'enqueue_orchestrator_work';

/** Puts messages into the queues of their instances, in order: one statement for all. Makes no instance (P:IC-2). */
export async function enqueueForOrchestrator(
  ctx: ProviderContext,
  elements: readonly EnqueueForOrchestrator[],
): Promise<Result[]> {
  const insert = ctx.statement('enqueue: orchestrator', () => insertIntoOrchestratorQueue(ctx), noRow);
  return settleAccepted<EnqueueForOrchestrator, OrchestratorRow, void>({
    elements,
    accept: ({ item, delayMs }) => {
      const refusal = refuseOrchestratorItem(OPERATION, item);
      return refusal ? failed(refusal) : { accepted: orchestratorRow(item, delayMs) };
    },
    sizeOf: ({ text }) => utf8Length(text),
    run: async (rows) => {
      let isDue = false;
      await runStatement(ctx, OPERATION, insert, (nowMs) => {
        isDue = rows.some((row) => visibleAtMs(row, nowMs) <= nowMs);
        return orchestratorRows(rows, nowMs);
      });
      if (isDue) ctx.wake('orchestrator');
      return rows.map(() => done());
    },
  });
}
