import { sleepReal } from '../base/clock.js';
import { pickOne } from '../base/pick-one.js';
import type { LockHolder } from '../provider/lock-thread.js';
import type { LockedOrchestrationItem, OrchestrationLock } from '../provider/provider.js';
import type { ObservedTurn, TurnFacts } from '../provider/telemetry.js';
import type { RuntimeCore } from './core.js';
import type { DirectRun } from './direct-turns.js';
import { unregisteredDelayMs } from './fetch-errors.js';
import type { Isolation, Suspect } from './isolation.js';
import { type MessageBatch, readBatch } from './replay/batch.js';
import type { LoadedItem, RunnablePlan } from './turn-plan.js';
import { planTurn } from './turn-plan.js';
import type { RanTurn } from './turn-runner.js';
import { TurnRunner } from './turn-runner.js';
import type { HeldItem, TurnEffects } from './turn-settlement.js';
import { TurnSettlement } from './turn-settlement.js';
import { logWarnings } from './turn-warnings.js';
import type { WarmCache } from './warm-cache.js';
import { fits } from './warm-cache.js';

/** Turns are synchronous: after so long in one go the event loop gets a turn. In ms. */
export const LONGEST_STRETCH_MS = 10;
/** Pause of an item whose history could not be loaded. */
const LOAD_FAILED_DELAY_MS = 50;

/** A turn that is ready to run. */
interface Ready {
  readonly held: HeldItem;
  readonly loaded: LoadedItem;
  readonly plan: RunnablePlan;
}

/** A turn that may be what killed its process before. */
interface SuspectTurn extends Suspect {
  readonly held: HeldItem;
  hasBegun: boolean;
}

/** What a fetch knew before it began. */
export interface FetchMark {
  readonly takenAtMs: number;
  readonly wakeUps: number;
}

/** Takes fetched items through their turns: loads, plans, runs and settles them (runtime.md 1.4, 1.9). */
export class TurnProcessor {
  private heldCount = 0;
  private directCount = 0;
  private readonly runner: TurnRunner;
  private readonly settlement: TurnSettlement;
  /** Turns whose driver has not answered yet, and instances that are kept for a moment. */
  private readonly running = new Set<HeldItem>();
  private suspect: SuspectTurn | undefined;
  private drainWaiters: (() => void)[] = [];
  private stretchBeganAtMs = performance.now();

  constructor(
    private readonly core: RuntimeCore,
    private readonly keeper: LockHolder<OrchestrationLock>,
    private readonly cache: WarmCache,
    private readonly isolation: Isolation,
    private readonly effects: TurnEffects,
  ) {
    this.runner = new TurnRunner(core);
    this.settlement = new TurnSettlement(core, cache, { ...effects, released: (held) => this.release(held) });
  }

  /** Fetched items that this process holds: not begun, running, or waiting for their acknowledgement. */
  get held(): number {
    return this.heldCount - this.directCount;
  }

  /** All turns but the suspect's. */
  get othersHeld(): number {
    return this.heldCount - (this.suspect ? 1 : 0);
  }

  /** Resolves when no items are held. */
  drained(): Promise<void> {
    if (this.heldCount === 0) return Promise.resolve();
    return new Promise((resolve) => this.drainWaiters.push(resolve));
  }

  /** Resolves when every turn of the batch has begun; suspects also when their isolation is over. */
  async process(items: readonly LockedOrchestrationItem[], { takenAtMs, wakeUps }: FetchMark): Promise<void> {
    this.stretchBeganAtMs = performance.now();
    this.heldCount += items.length;
    for (const item of items) this.keeper.hold(item, takenAtMs, () => this.lockLost(item));
    const suspects: Ready[] = [];
    const loading: Promise<void>[] = [];
    for (const item of items) {
      const held = { item, wakeUps };
      const loaded = this.load(item);
      if (loaded instanceof Promise) {
        loading.push(
          loaded.then(
            (late) => this.begin(held, late, suspects),
            (error: unknown) => this.loadFailed(held, error),
          ),
        );
      } else this.begin(held, loaded, suspects);
      if (performance.now() - this.stretchBeganAtMs > LONGEST_STRETCH_MS) await this.letTheLoopTurn();
    }
    if (loading.length > 0) await Promise.all(loading);
    if (suspects.length > 0) await this.runAlone(suspects);
  }

  /** Runs a turn that was not fetched. It needs no load, and is never a suspect. */
  runDirect(direct: DirectRun): void {
    this.heldCount += 1;
    this.directCount += 1;
    const { item, entry } = direct;
    const loaded = { kind: 'warm', item, batch: readBatch(item.messages), entry } as const;
    this.run({ held: { item, wakeUps: Infinity, direct }, loaded, plan: { kind: 'warm', entry, extraItems: [] } });
  }

  /** Gives items back that were fetched too late to be run. */
  giveBack(items: readonly LockedOrchestrationItem[]): void {
    this.heldCount += items.length;
    for (const item of items) this.settlement.abandon({ item, wakeUps: Infinity }, { ignoreAttempt: true });
  }

  /** Gives back the turns that still run, at a stop that waits no longer; what they decide is not committed. */
  abandonRunning(): void {
    for (const held of this.running) this.settlement.abandon(held, { ignoreAttempt: true });
    this.running.clear();
  }

  private load(item: LockedOrchestrationItem): LoadedItem | Promise<LoadedItem> {
    const batch = readBatch(item.messages);
    const entry = this.cache.take(item.instance);
    const mayBeWarm = item.attemptCount <= this.core.options.maxAttempts && batch.start?.kind !== 'ContinueAsNew';
    if (entry && mayBeWarm && fits(entry, item.executionId, item.history)) return { kind: 'warm', item, batch, entry };
    const { history, historyError, kvSnapshot } = item;
    if (history.kind === 'full')
      return { kind: 'cold', item, batch, history: history.events, historyError, kvSnapshot };
    // The tail does not fit what was held: everything, under the same lock.
    return this.core.provider.loadHistory(item).then(({ events, ...rest }): LoadedItem => {
      return {
        kind: 'cold',
        item,
        batch,
        history: events,
        historyError: rest.historyError,
        kvSnapshot: rest.kvSnapshot,
      };
    });
  }

  private begin(held: HeldItem, loaded: LoadedItem, suspects: Ready[]): void {
    const plan = planTurn(this.core, loaded);
    const { instance, attemptCount } = held.item;
    if (plan.kind === 'settle') this.settlement.settle(held, plan.ack, plan.failure);
    else if (plan.kind === 'abandon') {
      const { delayMs, reason } = plan;
      this.core.logger.warn({ instance, attempt: attemptCount, delayMs }, `put off: ${reason}`);
      this.settlement.abandon(held, { delayMs });
    } else if (plan.kind === 'hold') {
      this.core.logger.debug({ instance, attempt: attemptCount, holdMs: plan.holdMs }, `held: ${plan.reason}`);
      void this.holdFor(held, plan.holdMs);
    } else if (attemptCount >= this.core.options.suspectAttempts) suspects.push({ held, loaded, plan });
    else this.run({ held, loaded, plan });
  }

  /**
   * Gives the instance back after a while, or at once when the runtime stops. In real time, also
   * under a fake clock: what it waits for is another host's clock.
   */
  private async holdFor(held: HeldItem, ms: number): Promise<void> {
    this.running.add(held);
    await sleepReal(ms, this.core.stopping).catch(() => undefined);
    if (this.running.delete(held)) this.settlement.abandon(held, {});
  }

  /**
   * Whoever is fetched for the third time may be what killed the process twice: such a turn
   * runs while nothing else is held, so that it takes nobody along. Of several a random one
   * is kept, or the first one would block the others for ever.
   */
  private async runAlone(suspects: readonly Ready[]): Promise<void> {
    const chosen = pickOne(suspects, this.core.random);
    if (!chosen) return;
    const others = suspects.filter((suspect) => suspect !== chosen).map(({ held }) => held);
    const giveBackOthers = (delayMs: number) => {
      for (const held of others.splice(0)) this.settlement.abandon(held, { delayMs, ignoreAttempt: true });
    };
    await new Promise<void>((resolve) => {
      this.isolate(chosen, { over: resolve, giveBackOthers });
      giveBackOthers(0);
    });
  }

  private isolate(chosen: Ready, isolation: { over(): void; giveBackOthers(delayMs: number): void }): void {
    const { held } = chosen;
    const over = () => {
      this.suspect = undefined;
      isolation.over();
    };
    const suspect: SuspectTurn = {
      kind: 'turn',
      held,
      hasBegun: false,
      begin: () => {
        suspect.hasBegun = true;
        this.run(chosen);
      },
      giveBack: (delayMs) => {
        over();
        this.settlement.abandon(held, { delayMs, ignoreAttempt: true });
        // They would be fetched, and be in the way, again and again.
        isolation.giveBackOthers(delayMs);
      },
      over,
    };
    this.suspect = suspect;
    this.isolation.isolate(suspect);
  }

  private run({ held, loaded, plan }: Ready): void {
    this.core.metrics.orchStarts += 1;
    if (plan.kind === 'warm') this.core.metrics.warmTurns += 1;
    const { telemetry } = this.core.options;
    const observed = telemetry?.turn(turnFacts(held.item, plan, loaded.batch));
    try {
      const run = () => this.runner.run(held.item, plan, loaded.batch.messages);
      const ran = observed ? observed.run(run) : run();
      if (ran instanceof Promise) {
        this.running.add(held);
        ran.then(
          (turn) => this.running.delete(held) && this.commit(held, plan, turn, observed),
          (error: unknown) => this.running.delete(held) && this.turnFailed(held, error, observed),
        );
      } else this.commit(held, plan, ran, observed);
    } catch (error) {
      this.turnFailed(held, error, observed);
    }
  }

  private commit(held: HeldItem, plan: RunnablePlan, ran: RanTurn, observed: ObservedTurn | undefined): void {
    if (ran.turn.warnings.length > 0) logWarnings(this.core.logger, held.item.instance, ran.turn.warnings);
    this.settlement.commit(held, plan, ran, observed);
  }

  private loadFailed(held: HeldItem, error: unknown): void {
    this.core.metrics.providerErrors += 1;
    this.core.logger.warn({ instance: held.item.instance, error }, 'loading the history failed');
    this.settlement.abandon(held, { delayMs: LOAD_FAILED_DELAY_MS });
  }

  /** The engine or a driver could not go on: nothing was decided, so the turn is tried again, later. */
  private turnFailed(held: HeldItem, error: unknown, observed?: ObservedTurn): void {
    observed?.end('put off', error);
    const { instance, attemptCount } = held.item;
    const { unregisteredBaseDelayMs, unregisteredMaxDelayMs } = this.core.options;
    const delayMs = unregisteredDelayMs(attemptCount, unregisteredBaseDelayMs, unregisteredMaxDelayMs);
    this.core.logger.error(
      { instance, attempt: attemptCount, delayMs, error },
      'a turn could not be run and is put off',
    );
    this.settlement.abandon(held, { delayMs });
  }

  private lockLost(item: LockedOrchestrationItem): void {
    const { instance } = item;
    const { suspect } = this;
    if (suspect?.held.item === item && !suspect.hasBegun) {
      this.core.logger.warn({ instance }, 'the lock of a turn was lost while it waited to run alone');
      return this.release(suspect.held);
    }
    this.core.logger.warn({ instance }, 'the lock of a running turn was lost; its acknowledgement will be refused');
  }

  private release(held: HeldItem): void {
    if (held.direct) this.directCount -= 1;
    else this.keeper.release(held.item);
    this.heldCount -= 1;
    if (this.suspect?.held === held) this.isolation.ended(this.suspect);
    else this.isolation.check();
    this.effects.released(held);
    if (this.heldCount > 0 || this.drainWaiters.length === 0) return;
    const waiters = this.drainWaiters;
    this.drainWaiters = [];
    for (const resolve of waiters) resolve();
  }

  private async letTheLoopTurn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.stretchBeganAtMs = performance.now();
  }
}

function turnFacts(item: LockedOrchestrationItem, plan: RunnablePlan, { start, messages }: MessageBatch): TurnFacts {
  return {
    instance: item.instance,
    executionId: plan.kind === 'cold' ? plan.executionId : item.executionId,
    ...namesOf(plan),
    isWarm: plan.kind === 'warm',
    attempt: item.attemptCount,
    messages: messages.length,
    lockToken: item.lockToken,
    trace: start?.kind === 'StartOrchestration' ? start.trace : undefined,
  };
}

function namesOf(plan: RunnablePlan): { readonly orchestration: string; readonly version: string } {
  return plan.kind === 'cold'
    ? { orchestration: plan.name, version: plan.handler.version }
    : { orchestration: plan.entry.name, version: plan.entry.version };
}
