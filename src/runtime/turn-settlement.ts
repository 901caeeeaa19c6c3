import { NaturalBatcher } from '../base/natural-batcher.js';
import type {
  Abandon,
  AckOrchestrationItem,
  ActivityRef,
  DirectTurn,
  LockedOrchestrationItem,
  OrchestrationLock,
  Result,
} from '../provider/provider.js';
import { CodecError } from '../provider/codec/payload-codec.js';
import type { ProviderError } from '../provider/provider-error.js';
import { errorTexts } from '../provider/provider-error.js';
import type { ObservedTurn } from '../provider/telemetry.js';
import type { ErrorDetails } from '../wire/error-details.js';
import type { WorkItem } from '../wire/work-item.js';
import type { RuntimeCore } from './core.js';
import type { DirectEnd, DirectRun } from './direct-turns.js';
import type { OwnClaim } from './own-work.js';
import { failedWith } from './failed-batch.js';
import { countFailure, countTurn } from './metrics.js';
import { endWithFailure } from './replay/poison.js';
import { turnAck } from './turn-ack.js';
import type { RunnablePlan } from './turn-plan.js';
import type { RanTurn } from './turn-runner.js';
import type { WarmCache } from './warm-cache.js';

/** Pause of an item whose acknowledgement failed for a reason that may pass. */
const ACK_FAILED_DELAY_MS = 50;
/** Pause of an item with a payload that the codec could not encode. */
const CODEC_FAILED_DELAY_MS = 5_000;
/** Most turns in one acknowledgement, and most items given back in one statement. */
const MAX_BATCH = 500;

/** What committed turns mean for the rest of the runtime, beside the wake-ups of the provider. */
export interface TurnEffects {
  /** A turn is about to be committed with these activities; the answer is called when it is decided. */
  committing(workerItems: readonly WorkItem[]): () => void;
  /** Which activities of a turn that is about to be committed are to be this process's. */
  ownWork(turn: AckOrchestrationItem): OwnClaim | undefined;
  /** Activities were enqueued; `names` tells to which orchestration they belong. */
  workEnqueued(instance: string, names: { readonly name: string; readonly version: string }): void;
  /** A message can be fetched from this moment of the provider's clock on. */
  becomesVisible(atMs: number): void;
  activitiesCancelled(activities: readonly ActivityRef[]): void;
  /** An item is settled. */
  released(item: HeldItem): void;
}

/** An instance that this process holds. */
export interface HeldItem {
  readonly item: LockedOrchestrationItem;
  /** Wake-ups that the dispatcher had seen before it fetched the item. */
  readonly wakeUps: number;
  /** It was not fetched, and is not locked: where the turn began, and whom to tell of its end. */
  readonly direct?: DirectRun | undefined;
}

/** Commits turns and gives items back, in batches, and reacts to what becomes of it (runtime.md 1.10). */
export class TurnSettlement {
  private readonly acks: NaturalBatcher<AckOrchestrationItem, Result>;
  private readonly abandons: NaturalBatcher<OrchestrationLock & Abandon, Result>;

  constructor(
    private readonly core: RuntimeCore,
    private readonly cache: WarmCache,
    private readonly effects: TurnEffects,
  ) {
    const { provider } = core;
    this.acks = new NaturalBatcher({
      flush: (turns) => provider.ackOrchestrationItems(turns),
      failed: failedWith('ack_orchestration_item'),
      maxElements: MAX_BATCH,
    });
    this.abandons = new NaturalBatcher({
      flush: (elements) => provider.abandonOrchestrationItems(elements),
      failed: failedWith('abandon_orchestration_item'),
      maxElements: MAX_BATCH,
    });
  }

  /** Commits a turn; on success the live execution is kept for the next one. */
  commit(held: HeldItem, plan: RunnablePlan, ran: RanTurn, observed?: ObservedTurn): void {
    const decidedAck = turnAck(held.item, ran.turn, plan.extraItems, directOf(held));
    const stamped = observed ? observed.stamp(decidedAck) : decidedAck;
    const own = this.effects.ownWork(stamped);
    const ack = own ? { ...stamped, workerLocks: own.locks } : stamped;
    const decided = this.effects.committing(ack.workerItems);
    this.acks.submit(ack, (result) => {
      decided();
      observed?.end(result.ok ? ran.turn.result.kind : 'refused', result.ok ? undefined : result.error);
      if (!result.ok) {
        own?.failed(result.error.outcome !== 'unknown');
        if (held.direct) return this.directFailed(held, held.direct, result.error);
        return this.ackFailed(held, result.error, plan);
      }
      this.keepWarm(held.item.instance, plan, ran);
      countTurn(this.core.metrics, ran.turn, plan.kind === 'cold' && plan.start !== undefined);
      const { cancelledActivities, workerItems } = ran.turn;
      if (cancelledActivities.length > 0) this.effects.activitiesCancelled(cancelledActivities);
      if (workerItems.length > 0) this.effects.workEnqueued(held.item.instance, namesOf(plan));
      own?.committed();
      this.noteTimers(ack.orchestratorItems);
      this.effects.released(held);
      held.direct?.ended('committed');
    });
  }

  /** Commits what was decided without running code. */
  settle(held: HeldItem, ack: AckOrchestrationItem, failure?: ErrorDetails): void {
    const { instance } = held.item;
    this.acks.submit(ack, (result) => {
      if (!result.ok) return this.ackFailed(held, result.error);
      if (failure) {
        countFailure(this.core.metrics, failure);
        this.core.logger.error({ instance, failure: failure.kind }, 'the instance was given up');
      }
      this.noteTimers(ack.orchestratorItems);
      this.effects.released(held);
    });
  }

  abandon(held: HeldItem, abandon: Abandon): void {
    if (held.direct) return this.endDirect(held, held.direct, 'refused');
    const { instance, lockToken } = held.item;
    this.abandons.submit({ instance, lockToken, ...abandon }, (result) => {
      if (!result.ok) this.core.logger.warn({ instance, error: result.error }, 'giving back an instance failed');
      if (abandon.delayMs) this.effects.becomesVisible(this.core.provider.nowMs() + abandon.delayMs);
      this.effects.released(held);
    });
  }

  private keepWarm(instance: string, plan: RunnablePlan, { execution, turn }: RanTurn): void {
    if (!turn.keepWarm || !turn.lastEvent) return;
    this.cache.put(instance, {
      execution,
      lastEvent: turn.lastEvent,
      eventCount: turn.eventCount,
      parent: plan.kind === 'warm' ? plan.entry.parent : plan.parent,
      ...namesOf(plan),
    });
  }

  /** Whatever was wrong, the outcomes of its activities go the ordinary way, and with them the turn. */
  private directFailed(held: HeldItem, direct: DirectRun, error: ProviderError): void {
    const { instance } = held.item;
    const isUnknown = error.outcome === 'unknown';
    if (isUnknown || error.reason !== errorTexts.directTurnRefused) {
      this.core.metrics.providerErrors += 1;
      this.core.logger.warn({ instance, error }, 'the acknowledgement of a direct turn failed');
    } else this.core.logger.debug({ instance }, 'a direct turn was refused: something else came first');
    this.endDirect(held, direct, isUnknown ? 'unknown' : 'refused');
  }

  private endDirect(held: HeldItem, direct: DirectRun, end: DirectEnd): void {
    this.effects.released(held);
    direct.ended(end);
  }

  private ackFailed(held: HeldItem, error: ProviderError, plan?: RunnablePlan): void {
    const { instance } = held.item;
    this.core.metrics.providerErrors += 1;
    if (error.outcome === 'unknown') {
      // It may be committed. Whoever fetches the instance next sees what happened.
      this.core.logger.warn({ instance, error }, 'the answer to an acknowledgement was lost');
      return this.effects.released(held);
    }
    if (error.reason === errorTexts.invalidLockToken) {
      this.core.metrics.locksLost += 1;
      this.core.logger.warn({ instance }, 'the instance lock was lost before the acknowledgement');
      return this.effects.released(held);
    }
    if (CodecError.is(error.cause)) {
      // Nothing is wrong with the instance: with a codec that works it goes on.
      const delayMs = CODEC_FAILED_DELAY_MS;
      this.core.logger.error({ instance, delayMs, error }, `put off: ${error.cause.message}`);
      return this.abandon(held, { delayMs, ignoreAttempt: true });
    }
    this.core.logger.warn({ instance, error }, 'an acknowledgement failed');
    if (error.retryable || !plan) return this.abandon(held, { delayMs: ACK_FAILED_DELAY_MS });
    void this.failInstance(held, error, plan);
  }

  /** What the turn decided can never be stored: the instance ends, and says why. */
  private async failInstance(held: HeldItem, { operation, reason, retryable }: ProviderError, plan: RunnablePlan) {
    const { item } = held;
    const details: ErrorDetails = { kind: 'Infrastructure', operation, message: reason, retryable };
    let ack: AckOrchestrationItem;
    try {
      const isNew = plan.kind === 'cold' && plan.history.length === 0;
      const turn = endWithFailure({
        instance: item.instance,
        executionId: plan.kind === 'cold' ? plan.executionId : item.executionId,
        history: isNew ? [] : (await this.core.provider.loadHistory(item)).events,
        start: plan.kind === 'cold' ? plan.start : undefined,
        details,
        now: () => this.core.provider.nowMs(),
      });
      ack = turnAck(item, turn);
    } catch (error) {
      this.core.logger.error({ instance: item.instance, error }, 'failing the instance failed, too');
      return this.abandon(held, { delayMs: ACK_FAILED_DELAY_MS });
    }
    // Without a plan: if this fails as well, the item is given back and becomes poison in the end.
    this.settle(held, ack, details);
  }

  private noteTimers(items: readonly WorkItem[]): void {
    for (const item of items) if (item.kind === 'TimerFired') this.effects.becomesVisible(item.fireAtMs);
  }
}

function directOf({ direct }: HeldItem): DirectTurn | undefined {
  return direct && { workTokens: direct.workTokens, lastEventId: direct.lastEventId };
}

function namesOf(plan: RunnablePlan): { readonly name: string; readonly version: string } {
  if (plan.kind === 'cold') return { name: plan.name, version: plan.handler.version };
  const { name, version } = plan.entry;
  return { name, version };
}
