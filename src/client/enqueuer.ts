import { NaturalBatcher } from '../base/natural-batcher.js';
import type { Provider, Result } from '../provider/provider.js';
import { ProviderError, UnsupportedError } from '../provider/provider-error.js';
import type { QueuedStart, QueueStartOutcome } from '../provider/start-queues.js';
import type { Telemetry } from '../provider/telemetry.js';
import type { WorkItem, WorkItemOf } from '../wire/work-item.js';
import { startQueueStore } from './start-queues.js';

/** One statement carries at most so many messages. */
const MAX_BATCH = 500;
/** Each of these takes a lock of its own, of which a server has some thousands. */
const MAX_QUEUED_BATCH = 100;

type Outcome = { readonly ok: true; readonly value: QueueStartOutcome } | { readonly ok: false; readonly error: Error };

/** Sends messages to orchestrations; those that come up while a statement is in flight travel in the next one. */
export class Enqueuer {
  private readonly batcher: NaturalBatcher<WorkItem, Result>;
  private readonly queuedBatcher: NaturalBatcher<QueuedStart, Outcome>;

  constructor(
    private readonly provider: Provider,
    private readonly telemetry?: Telemetry | undefined,
  ) {
    this.batcher = new NaturalBatcher({
      flush: (items) => provider.enqueueForOrchestrator(items.map((item) => ({ item }))),
      failed: (error) => ({ ok: false, error: asProviderError(error) }),
      maxElements: MAX_BATCH,
    });
    this.queuedBatcher = new NaturalBatcher<QueuedStart, Outcome>({
      flush: async (starts) => startQueueStore(provider).enqueue(starts),
      failed: (error) => ({ ok: false, error: error instanceof UnsupportedError ? error : asProviderError(error) }),
      maxElements: MAX_QUEUED_BATCH,
    });
  }

  /** Resolves when the message is stored. @throws ProviderError, UnsupportedError */
  async send(item: WorkItem): Promise<void> {
    // Sent together with what others send, it would wait in their name, and they for it.
    this.provider.activityTransactions?.()?.refuseInside('enqueue_orchestrator_work');
    if (this.telemetry) return this.telemetry.clientCall(item, (stamped) => this.post(stamped));
    return this.post(item);
  }

  /** Resolves with whether the start was stored; it was not if the instance exists or is about to. @throws as {@link send} */
  async sendStartIfAbsent(item: WorkItemOf<'StartOrchestration'>): Promise<boolean> {
    if (!this.telemetry) return this.provider.enqueueStartIfAbsent(item);
    let isStored = false;
    await this.telemetry.clientCall(item, async (stamped) => {
      isStored = await this.provider.enqueueStartIfAbsent(stamped as typeof item);
    });
    return isStored;
  }

  /** Resolves with what became of a start for a start queue. @throws as {@link send} */
  async sendQueued(start: QueuedStart): Promise<QueueStartOutcome> {
    this.provider.activityTransactions?.()?.refuseInside('queue_start');
    if (!this.telemetry) return this.postQueued(start);
    let outcome: QueueStartOutcome = 'exists';
    await this.telemetry.clientCall(start.item, async (stamped) => {
      outcome = await this.postQueued({ ...start, item: stamped as typeof start.item });
    });
    return outcome;
  }

  private async postQueued(start: QueuedStart): Promise<QueueStartOutcome> {
    const result = await this.queuedBatcher.send(start);
    if (!result.ok) throw result.error;
    return result.value;
  }

  private async post(item: WorkItem): Promise<void> {
    const result = await this.batcher.send(item);
    if (!result.ok) throw result.error;
  }
}

function asProviderError(error: unknown): ProviderError {
  if (ProviderError.is(error)) return error;
  return ProviderError.permanent('enqueue_orchestrator_work', 'the provider failed', { cause: error });
}
