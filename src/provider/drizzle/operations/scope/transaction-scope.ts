import { type SQL, sql } from 'drizzle-orm';
import type { WorkItem, WorkItemOf } from '../../../../wire/work-item.js';
import type { EnqueueForOrchestrator, QueueName, TransactionScope } from '../../../provider.js';
import type { ProviderError } from '../../../provider-error.js';
import type { QueuedStart, QueueStartOutcome } from '../../../start-queues.js';
import type { ProviderContext } from '../../context.js';
import type { SqlValues } from '../../executor.js';
import { CallerTransaction, isInScope } from '../../scope.js';
import { type Statement, textCell } from '../../statement.js';
import { ackWorkStatement, ackWorkValues, prepareWorkAck, refuseWorkAck, type WorkAck } from '../ack-work-statement.js';
import {
  insertIntoOrchestratorQueue,
  insertIntoWorkerQueue,
  orchestratorRow,
  orchestratorRows,
  visibleAtMs,
  workerRow,
  workerRows,
} from '../queue-rows.js';
import { refuseOrchestratorItem, refuseWorkerItem } from '../refusal.js';
import { tokensOnce } from '../settle-batch.js';
import { concernsWaiting, deliverMessages, deliverValues, messageKind } from '../../start-queues/deliver-messages.js';
import { queueInScope } from '../../start-queues/queue-in-scope.js';
import { startInScope } from './start-in-scope.js';

/**
 * The enqueues and `ackWorkItems` as part of the caller's transaction (provider.md
 * 3.4.7). Nothing is awaited before the statements are issued, nothing is retried, and
 * an error goes to the caller, whose transaction is aborted.
 * @throws UnsupportedError when `tx` is no transaction of the provider's driver
 */
export function transactionScope(ctx: ProviderContext, tx: unknown, options: ScopeOptions = {}): TransactionScope {
  return new DrizzleTransactionScope(ctx, CallerTransaction.of(ctx, tx), options);
}

export interface ScopeOptions {
  /** Acknowledgements notify nobody: whoever opened the scope learns of the commit, and wakes then. */
  readonly acksSilently?: boolean | undefined;
}

class DrizzleTransactionScope implements TransactionScope {
  constructor(
    private readonly ctx: ProviderContext,
    private readonly transaction: CallerTransaction,
    private readonly options: ScopeOptions,
  ) {}

  async enqueueForOrchestrator(elements: readonly EnqueueForOrchestrator[]): Promise<void> {
    const operation = 'enqueue_orchestrator_work';
    throwFirst(elements.map(({ item }) => refuseOrchestratorItem(operation, item)));
    if (elements.length === 0) return;
    const nowMs = this.ctx.clock.nowMs();
    const messages = elements.map(({ item, delayMs }) => ({
      row: orchestratorRow(item, delayMs),
      kind: messageKind(item),
    }));
    const rows = messages.map(({ row }) => row);
    const deliver = concernsWaiting(this.ctx, messages);
    await this.insert({
      operation,
      queue: 'orchestrator',
      statement: deliver
        ? deliverMessages(this.ctx, isInScope)
        : this.inserting('orchestrator', insertIntoOrchestratorQueue),
      values: deliver ? deliverValues(messages, nowMs) : orchestratorRows(rows, nowMs),
      notifies: rows.some((row) => visibleAtMs(row, nowMs) <= nowMs),
    });
  }

  async enqueueForWorker(items: readonly WorkItem[]): Promise<void> {
    const operation = 'enqueue_worker_work';
    throwFirst(items.map((item) => refuseWorkerItem(operation, item)));
    if (items.length === 0) return;
    await this.insert({
      operation,
      queue: 'worker',
      statement: this.inserting('worker', insertIntoWorkerQueue),
      values: workerRows(items.map(workerRow), this.ctx.clock.nowMs()),
      notifies: true,
    });
  }

  enqueueStartIfAbsent(item: WorkItemOf<'StartOrchestration'>): Promise<boolean> {
    return startInScope(this.ctx, this.transaction, item);
  }

  queueStart(start: QueuedStart): Promise<QueueStartOutcome> {
    return queueInScope(this.ctx, this.transaction, start);
  }

  async ackWorkItems(elements: readonly WorkAck[]): Promise<boolean[]> {
    const operation = 'ack_worker';
    throwFirst(elements.map((element) => refuseWorkAck(operation, element)));
    if (elements.length === 0) return [];
    const isFirst = elements.map(tokensOnce());
    const acks = elements.filter((_, index) => isFirst[index]).map(prepareWorkAck);
    const statement = this.ctx.statement(
      'scope: ack work',
      () => ackWorkStatement(this.ctx, sql`and ${isInScope}`),
      ([token]) => textCell(token),
    );
    const acked = this.transaction.run(operation, statement, ackWorkValues(acks, this.ctx.clock.nowMs()));
    const notifies = !this.options.acksSilently && acks.some(({ completion }) => completion);
    const notified = notifies ? this.transaction.notify(operation, 'orchestrator') : undefined;
    notified?.catch(() => {});
    const gone = new Set(await acked);
    // Nothing found: the locks are lost, or the transaction is over.
    if (gone.size === 0) await this.transaction.requireOpen(operation);
    await notified;
    return elements.map(({ lockToken }, index) => isFirst[index] === true && gone.has(lockToken));
  }

  private inserting(queue: QueueName, insert: (ctx: ProviderContext, where: SQL) => SQL): Statement<string> {
    return this.ctx.statement(
      `scope: enqueue ${queue}`,
      () => sql`with added as (${insert(this.ctx, sql`where ${isInScope}`)} returning id) select id::text from added`,
      ([id]) => textCell(id),
    );
  }

  private async insert({ operation, queue, statement, values, notifies }: ScopedInsert): Promise<void> {
    const added = this.transaction.run(operation, statement, values);
    const notified = notifies ? this.transaction.notify(operation, queue) : undefined;
    notified?.catch(() => {});
    // Nothing added: the transaction is over. Then postgres-js may never answer the second statement.
    if ((await added).length === 0) throw this.transaction.ended(operation);
    await notified;
  }
}

interface ScopedInsert {
  readonly operation: string;
  readonly queue: QueueName;
  readonly statement: Statement<string>;
  readonly values: SqlValues;
  readonly notifies: boolean;
}

function throwFirst(refusals: readonly (ProviderError | undefined)[]): void {
  const refusal = refusals.find((one) => one !== undefined);
  if (refusal) throw refusal;
}
