import { utf8Length } from '../../../base/text.js';
import type { Result } from '../../provider.js';
import type { WorkItem } from '../../../wire/work-item.js';
import type { ProviderContext } from '../context.js';
import { noRow } from '../statement.js';
import { runStatement } from '../transaction.js';
import { insertIntoWorkerQueue, type WorkerRow, workerRow, workerRows } from './queue-rows.js';
import { refuseWorkerItem } from './refusal.js';
import { done, failed, settleAccepted } from './settle-batch.js';

const OPERATION = 'enqueue_worker_work';

/** Puts items into the worker queue, in order: one statement for all. */
export async function enqueueForWorker(ctx: ProviderContext, items: readonly WorkItem[]): Promise<Result[]> {
  const insert = ctx.statement('enqueue: worker', () => insertIntoWorkerQueue(ctx), noRow);
  return settleAccepted<WorkItem, WorkerRow, void>({
    elements: items,
    accept: (item) => {
      const refusal = refuseWorkerItem(OPERATION, item);
      return refusal ? failed(refusal) : { accepted: workerRow(item) };
    },
    sizeOf: ({ text }) => utf8Length(text),
    run: async (rows) => {
      await runStatement(ctx, OPERATION, insert, (nowMs) => workerRows(rows, nowMs));
      ctx.wake('worker');
      return rows.map(() => done());
    },
  });
}
