import type { WorkItem, WorkItemOf } from '../wire/work-item.js';
import type { Ms, WorkItemLock } from './provider.js';
import type { QueuedStart, QueueStartOutcome } from './start-queues.js';

export interface EnqueueForOrchestrator {
  readonly item: WorkItem;
  readonly delayMs?: Ms | undefined;
}

/** Operations inside a caller's transaction; see `Provider.within`. */
export interface TransactionScope {
  /** @throws TransactionEndedError, ProviderError */
  enqueueForOrchestrator(elements: readonly EnqueueForOrchestrator[]): Promise<void>;
  /** @throws TransactionEndedError, ProviderError */
  enqueueForWorker(items: readonly WorkItem[]): Promise<void>;
  /**
   * As `Provider.enqueueStartIfAbsent`: other such starts of the id wait until this
   * transaction ends. At REPEATABLE READ and above, what was committed after the transaction's
   * first statement is not seen. @throws TransactionEndedError, ProviderError
   */
  enqueueStartIfAbsent(item: WorkItemOf<'StartOrchestration'>): Promise<boolean>;
  /**
   * As `StartQueueStore.enqueue`, for one start; absent where the storage keeps no start queues.
   * @throws TransactionEndedError, UnsupportedError, ProviderError
   */
  queueStart?(start: QueuedStart): Promise<QueueStartOutcome>;
  /** `false` for an element whose lock is lost: roll back then. @throws TransactionEndedError, ProviderError */
  ackWorkItems(
    elements: readonly (WorkItemLock & { readonly completion?: WorkItem | undefined })[],
  ): Promise<boolean[]>;
}
