import type { EnqueueForOrchestrator, Ms, Result } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import {
  concernsWaiting,
  deliverMessages,
  deliverValues,
  insertUnlessWaiting,
  type Message,
  messageKind,
  unlessWaitingValues,
} from '../start-queues/deliver-messages.js';
import { withoutMissingQueues } from '../start-queues/missing-queues.js';
import { noRow, type Statement } from '../statement.js';
import type { Notice } from '../notice.js';
import { inTransaction, runStatement } from '../transaction.js';
import {
  insertIntoOrchestratorQueue,
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
  return settleAccepted<EnqueueForOrchestrator, Message, void>({
    elements,
    accept: ({ item, delayMs }) => {
      const refusal = refuseOrchestratorItem(OPERATION, item);
      return refusal ? failed(refusal) : { accepted: { row: orchestratorRow(item, delayMs), kind: messageKind(item) } };
    },
    sizeOf: ({ row }) => utf8Length(row.text),
    run: async (messages) => {
      const notice = isLone(messages) ? ctx.notice() : undefined;
      try {
        const isDue = await withoutMissingQueues(ctx, () => store(ctx, messages, notice));
        if (isDue && !notice?.isUsed) ctx.wake('orchestrator');
      } finally {
        notice?.release();
      }
      return messages.map(() => done());
    },
  });
}

/** One message that is due at once: where they come in numbers, their commits should not take turns for a lock. */
function isLone([message, second]: readonly Message[]): boolean {
  return message !== undefined && second === undefined && visibleAtMs(message.row, 0) === 0;
}

/** @returns whether one of them is due now */
async function store(ctx: ProviderContext, messages: readonly Message[], notice?: Notice): Promise<boolean> {
  const rows = messages.map(({ row }) => row);
  let isDue = false;
  const run = <Row>(statement: Statement<Row>, valuesOf: (nowMs: Ms) => SqlValues): Promise<Row[]> => {
    const valuesAt = (nowMs: Ms) => {
      isDue = rows.some((row) => visibleAtMs(row, nowMs) <= nowMs);
      return valuesOf(nowMs);
    };
    return notice
      ? runWithNotice(ctx, statement, valuesAt, notice)
      : runStatement(ctx, OPERATION, statement, valuesAt);
  };
  if (concernsWaiting(ctx, messages)) {
    // As a rule none of the instances waits in a start queue; that costs a look into an index.
    const [stored] = await run(insertUnlessWaiting(ctx), (nowMs) => unlessWaitingValues(messages, nowMs));
    if (stored === 0) await run(deliverMessages(ctx), (nowMs) => deliverValues(messages, nowMs));
  } else {
    const insert = ctx.statement('enqueue: orchestrator', () => insertIntoOrchestratorQueue(ctx), noRow);
    await run(insert, (nowMs) => orchestratorRows(rows, nowMs));
  }
  return isDue;
}

function runWithNotice<Row>(
  ctx: ProviderContext,
  statement: Statement<Row>,
  valuesAt: (nowMs: Ms) => SqlValues,
  notice: Notice,
): Promise<Row[]> {
  return inTransaction(ctx, OPERATION, async (tx, nowMs) => {
    const told = notice.step();
    const [rows] = await Promise.all([tx.run(statement, valuesAt(nowMs)), tx.runLast(told.statement, told.values)]);
    return rows;
  });
}
