import { utf8Length } from '../../base/text.js';
import type { WorkItem } from '../../wire/work-item.js';
import type { ProviderContext } from '../drizzle/context.js';
import type { SqlValues } from '../drizzle/executor.js';
import { enqueueForOrchestrator as enqueueByStatement } from '../drizzle/operations/enqueue-for-orchestrator.js';
import { moment } from '../drizzle/operations/moment.js';
import {
  type OrchestratorRow,
  orchestratorRow,
  visibleAtMs,
  type WorkerRow,
  workerRow,
} from '../drizzle/operations/queue-rows.js';
import { refuseOrchestratorItem, refuseWorkerItem } from '../drizzle/operations/refusal.js';
import { concernsWaiting, messageKind } from '../drizzle/start-queues/deliver-messages.js';
import type { EnqueueForOrchestrator, Ms, Result } from '../provider.js';
import { callFunction } from './call.js';
import { settleEach } from './each.js';

/** Puts messages into the queues of their instances, in order. */
export async function enqueueForOrchestrator(
  ctx: ProviderContext,
  elements: readonly EnqueueForOrchestrator[],
): Promise<Result[]> {
  const name = 'enqueue_orchestrator_work';
  // No function knows of start queues: what may concern a start that waits in one takes our own statement.
  const messages = elements.map(({ item }) => ({ kind: messageKind(item) }));
  if (concernsWaiting(ctx, messages)) return enqueueByStatement(ctx, elements);
  let isDue = false;
  const results = await settleEach<EnqueueForOrchestrator, OrchestratorRow>({
    elements,
    accept: ({ item, delayMs }) => {
      const refusal = refuseOrchestratorItem(name, item);
      return refusal ? { error: refusal } : { accepted: orchestratorRow(item, delayMs) };
    },
    sizeOf: ({ text }) => utf8Length(text),
    run: async (row) => {
      let isDueNow = false;
      await callFunction(ctx, {
        name,
        values: (nowMs) => {
          isDueNow = visibleAtMs(row, nowMs) <= nowMs;
          return orchestratorValues(row, nowMs);
        },
      });
      isDue ||= isDueNow;
    },
  });
  if (isDue) ctx.wake('orchestrator');
  return results;
}

/** The arguments of `enqueue_orchestrator_work`; the last three have been out of use since the function stopped making instances. */
export function orchestratorValues(row: OrchestratorRow, nowMs: Ms): SqlValues {
  return {
    p_instance_id: row.instance,
    p_work_item: row.text,
    p_visible_at: moment(visibleAtMs(row, nowMs)),
    p_orchestration_name: null,
    p_orchestration_version: null,
    p_execution_id: null,
  };
}

export async function enqueueForWorker(ctx: ProviderContext, items: readonly WorkItem[]): Promise<Result[]> {
  const name = 'enqueue_worker_work';
  const results = await settleEach<WorkItem, WorkerRow>({
    elements: items,
    accept: (item) => {
      const refusal = refuseWorkerItem(name, item);
      return refusal ? { error: refusal } : { accepted: workerRow(item) };
    },
    sizeOf: ({ text }) => utf8Length(text),
    run: (row) => callFunction(ctx, { name, values: (nowMs) => workerValues(row, nowMs) }),
  });
  if (results.some(({ ok }) => ok)) ctx.wake('worker');
  return results;
}

/** The arguments of `enqueue_worker_work`. */
export function workerValues(row: WorkerRow, nowMs: Ms): SqlValues {
  return {
    p_work_item: row.text,
    p_now_ms: nowMs,
    p_instance_id: row.instance,
    p_execution_id: row.executionId,
    p_activity_id: row.activityId,
    p_session_id: row.sessionId,
    p_tag: row.tag,
  };
}
