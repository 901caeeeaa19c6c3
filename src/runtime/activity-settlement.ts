import { NaturalBatcher } from '../base/natural-batcher.js';
import type { Abandon, Result, WorkItemLock } from '../provider/provider.js';
import { errorTexts, type ProviderError } from '../provider/provider-error.js';
import type { WorkItem } from '../wire/work-item.js';
import type { ActivityRow } from './activity-run.js';
import type { RuntimeCore } from './core.js';
import type { ActivityOutcome, DirectEnd } from './direct-turns.js';
import { failedWith } from './failed-batch.js';
import type { SettledActivity } from './transactional-run.js';

/** Pause of a row whose acknowledgement failed. */
const ACK_FAILED_DELAY_MS = 100;
/** Most rows in one acknowledgement, and most given back in one statement. */
const MAX_BATCH = 500;

/** What settled activities mean for the rest of the runtime, beside the wake-ups of the provider. */
export interface ActivityEffects {
  /** A row that was given back can be fetched from this moment of the provider's clock on. */
  becomesVisible(atMs: number): void;
  released(activity: ActivityRow): void;
  /** Whether the instance goes on with this outcome at once; it is settled by that turn then. */
  goOn(outcome: ActivityOutcome): boolean;
}

/** Acknowledges activities and gives rows back, in batches (runtime.md 1.6 steps 7 and 8). */
export class ActivitySettlement {
  private readonly acks: NaturalBatcher<WorkItemLock & { readonly completion?: WorkItem | undefined }, Result>;
  private readonly abandons: NaturalBatcher<WorkItemLock & Abandon, Result>;
  /** Outcomes that turns are about to settle. */
  private direct = 0;

  constructor(
    private readonly core: RuntimeCore,
    private readonly effects: ActivityEffects,
  ) {
    const { provider } = core;
    this.acks = new NaturalBatcher({
      flush: (elements) => provider.ackWorkItems(elements),
      failed: failedWith('ack_worker'),
      maxElements: MAX_BATCH,
    });
    this.abandons = new NaturalBatcher({
      flush: (elements) => provider.abandonWorkItems(elements),
      failed: failedWith('abandon_work_item'),
      maxElements: MAX_BATCH,
    });
  }

  /** Acknowledgements that wait or are in flight. */
  get pending(): number {
    return this.acks.pending + this.abandons.pending + this.direct;
  }

  /** Removes the row and hands the outcome to its instance; `counted` runs when that is committed. */
  complete(activity: ActivityRow, completion: WorkItem, counted: () => void): void {
    activity.state = 'settling';
    const settle = (end: DirectEnd) => {
      this.direct -= 1;
      if (end === 'refused') return this.enqueue(activity, completion, counted);
      if (end === 'committed') counted();
      this.effects.released(activity);
    };
    if (this.effects.goOn({ row: activity.row, completion, settle })) this.direct += 1;
    else this.enqueue(activity, completion, counted);
  }

  /** Removes the row and enqueues the outcome. */
  private enqueue(activity: ActivityRow, completion: WorkItem, counted: () => void): void {
    const { instance, lockToken } = activity.row;
    this.acks.submit({ instance, lockToken, completion }, (result) => {
      if (!result.ok) return this.ackFailed(activity, result.error);
      counted();
      this.effects.released(activity);
    });
  }

  /** Takes note of an activity that was settled by its own transaction, or could not be. */
  settled(activity: ActivityRow, how: SettledActivity): void {
    const { metrics, logger } = this.core;
    const fields = { instance: activity.item.instance, activity: activity.item.name };
    activity.state = 'settling';
    switch (how.kind) {
      case 'committed':
        metrics.activitySuccess += 1;
        return this.effects.released(activity);
      case 'lost':
        metrics.locksLost += 1;
        metrics.activityDiscarded += 1;
        logger.debug(fields, 'a transactional activity was rolled back: its row is gone');
        return this.effects.released(activity);
      case 'unavailable':
      case 'unknown':
        metrics.providerErrors += 1;
        metrics.activityInfraErrors += 1;
        logger.warn({ ...fields, error: how.error }, 'the transaction of an activity failed');
        if (how.kind === 'unknown') return this.effects.released(activity);
        return this.abandon(activity, { delayMs: ACK_FAILED_DELAY_MS });
    }
  }

  abandon(activity: ActivityRow, abandon: Abandon): void {
    const { instance, lockToken } = activity.row;
    activity.state = 'settling';
    this.abandons.submit({ instance, lockToken, ...abandon }, (result) => {
      // The usual reason is a cancellation that has taken the row away meanwhile.
      if (!result.ok) this.core.logger.debug({ instance, error: result.error }, 'giving back an activity failed');
      else if (abandon.delayMs) this.effects.becomesVisible(this.core.provider.nowMs() + abandon.delayMs);
      this.effects.released(activity);
    });
  }

  private ackFailed(activity: ActivityRow, error: ProviderError): void {
    const { metrics, logger } = this.core;
    const fields = { instance: activity.item.instance, activity: activity.item.name, error };
    if (error.reason === errorTexts.workItemNotFound) {
      // Cancelled, or its lock was lost: the result is not wanted (D-17).
      metrics.activityDiscarded += 1;
      logger.debug(fields, 'the result of an activity was discarded: its row is gone');
      return this.effects.released(activity);
    }
    metrics.providerErrors += 1;
    metrics.activityInfraErrors += 1;
    logger.warn(fields, 'the acknowledgement of an activity failed');
    if (error.outcome === 'unknown') return this.effects.released(activity);
    this.abandon(activity, { delayMs: ACK_FAILED_DELAY_MS });
  }
}
