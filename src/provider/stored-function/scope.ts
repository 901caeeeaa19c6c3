import { sql } from 'drizzle-orm';
import type { WorkItem, WorkItemOf } from '../../wire/work-item.js';
import type { ProviderContext } from '../drizzle/context.js';
import type { SqlValues } from '../drizzle/executor.js';
import { prepareWorkAck, refuseWorkAck, type WorkAck } from '../drizzle/operations/ack-work-statement.js';
import { type OrchestratorRow, orchestratorRow, visibleAtMs, workerRow } from '../drizzle/operations/queue-rows.js';
import { refuseOrchestratorItem, refuseWorkerItem } from '../drizzle/operations/refusal.js';
import { startInScope } from '../drizzle/operations/scope/start-in-scope.js';
import type { ScopeOptions } from '../drizzle/operations/scope/transaction-scope.js';
import { tokensOnce } from '../drizzle/operations/settle-batch.js';
import { CallerTransaction, isInScope } from '../drizzle/scope.js';
import {
  concernsWaiting,
  deliverMessages,
  deliverValues,
  type Message,
  messageKind,
} from '../drizzle/start-queues/deliver-messages.js';
import { queueInScope } from '../drizzle/start-queues/queue-in-scope.js';
import { noRow, type Statement } from '../drizzle/statement.js';
import type { EnqueueForOrchestrator, Ms, QueueName, TransactionScope } from '../provider.js';
import type { ProviderError } from '../provider-error.js';
import type { QueuedStart, QueueStartOutcome } from '../start-queues.js';
import { functionCall, spoken } from './call.js';
import { orchestratorValues, workerValues } from './enqueue.js';
import { ackWorkValues } from './work-locks.js';

/**
 * The enqueues and `ackWorkItems` by calls of the functions in the caller's transaction:
 * one statement per element, all issued before anything is awaited.
 * @throws UnsupportedError when `tx` is no transaction of the provider's driver
 */
export function transactionScope(ctx: ProviderContext, tx: unknown, options: ScopeOptions = {}): TransactionScope {
  return new StoredFunctionScope(ctx, CallerTransaction.of(ctx, tx), options);
}

class StoredFunctionScope implements TransactionScope {
  constructor(
    private readonly ctx: ProviderContext,
    private readonly transaction: CallerTransaction,
    private readonly options: ScopeOptions,
  ) {}

  async enqueueForOrchestrator(elements: readonly EnqueueForOrchestrator[]): Promise<void> {
    const name = 'enqueue_orchestrator_work';
    throwFirst(elements.map(({ item }) => refuseOrchestratorItem(name, item)));
    const nowMs = this.ctx.clock.nowMs();
    const rows = elements.map(({ item, delayMs }) => orchestratorRow(item, delayMs));
    const isDue = rows.some((row) => visibleAtMs(row, nowMs) <= nowMs);
    const messages = elements.map(({ item }, index) => ({
      row: rows[index] as OrchestratorRow,
      kind: messageKind(item),
    }));
    if (concernsWaiting(this.ctx, messages)) return this.deliver(name, messages, nowMs, isDue);
    await this.enqueue(
      name,
      rows.map((row) => orchestratorValues(row, nowMs)),
      isDue ? 'orchestrator' : undefined,
    );
  }

  /** No function knows of start queues. */
  private async deliver(name: string, messages: readonly Message[], nowMs: Ms, isDue: boolean): Promise<void> {
    const stored = this.transaction.run(name, deliverMessages(this.ctx, isInScope), deliverValues(messages, nowMs));
    const notified = isDue ? this.transaction.notify(name, 'orchestrator') : undefined;
    notified?.catch(() => {});
    if ((await stored).length === 0) throw this.transaction.ended(name);
    await notified;
  }

  async enqueueForWorker(items: readonly WorkItem[]): Promise<void> {
    const name = 'enqueue_worker_work';
    throwFirst(items.map((item) => refuseWorkerItem(name, item)));
    const nowMs = this.ctx.clock.nowMs();
    await this.enqueue(
      name,
      items.map((item) => workerValues(workerRow(item), nowMs)),
      'worker',
    );
  }

  /** No function does that: the same statements as `DrizzleProvider`'s. */
  enqueueStartIfAbsent(item: WorkItemOf<'StartOrchestration'>): Promise<boolean> {
    return startInScope(this.ctx, this.transaction, item);
  }

  queueStart(start: QueuedStart): Promise<QueueStartOutcome> {
    return queueInScope(this.ctx, this.transaction, start);
  }

  async ackWorkItems(elements: readonly WorkAck[]): Promise<boolean[]> {
    const name = 'ack_worker';
    throwFirst(elements.map((element) => refuseWorkAck(name, element)));
    if (elements.length === 0) return [];
    const nowMs = this.ctx.clock.nowMs();
    const isFirst = tokensOnce();
    const calls = elements.map((element) =>
      isFirst(element) ? this.run(name, this.ackStatement(), ackWorkValues(prepareWorkAck(element), nowMs)) : undefined,
    );
    const completes = !this.options.acksSilently && elements.some(({ completion }) => completion !== undefined);
    const notified = completes ? this.transaction.notify(name, 'orchestrator') : undefined;
    for (const one of [...calls, notified]) one?.catch(() => {});
    const acked: boolean[] = [];
    for (const one of calls) {
      const isAcked = ((await one)?.length ?? 0) > 0;
      // Nothing found: the lock is lost, or the transaction is over.
      if (one && !isAcked && !acked.includes(true)) await this.transaction.requireOpen(name);
      acked.push(isAcked);
    }
    await notified;
    return acked;
  }

  private async enqueue(name: string, calls: readonly SqlValues[], due: QueueName | undefined): Promise<void> {
    if (calls.length === 0) return;
    const statement = this.ctx.statement(
      `scope: function: ${name}`,
      () => sql`select ${functionCall(this.ctx, name)} where ${isInScope}`,
      noRow,
    );
    const running = calls.map((values) => this.run(name, statement, values));
    const notified = due && this.transaction.notify(name, due);
    for (const one of [...running, notified]) one?.catch(() => {});
    for (const one of running) {
      // No row: the transaction is over. Then postgres-js may never answer the statements behind it.
      if ((await one).length === 0) throw this.transaction.ended(name);
    }
    await notified;
  }

  /** Asked of the row first: a lost lock is an answer here, and an error would abort the caller's transaction. */
  private ackStatement(): Statement<undefined> {
    return this.ctx.statement(
      'scope: function: ack_worker',
      () => sql`select ${functionCall(this.ctx, 'ack_worker')} from ${this.ctx.tables.workerQueue} w
        where w.lock_token = ${sql.placeholder('p_lock_token')} and w.locked_until > ${sql.placeholder('p_now_ms')}::bigint
          and ${isInScope}`,
      noRow,
    );
  }

  private async run(operation: string, statement: Statement<undefined>, values: SqlValues): Promise<undefined[]> {
    try {
      return await this.transaction.run(operation, statement, values);
    } catch (error) {
      throw spoken(operation, error);
    }
  }
}

function throwFirst(refusals: readonly (ProviderError | undefined)[]): void {
  const refusal = refusals.find((one) => one !== undefined);
  if (refusal) throw refusal;
}
