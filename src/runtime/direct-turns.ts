import { isStorable } from '../base/text.js';
import { newTokenPrefix } from '../provider/lock-token.js';
import type { DirectTurn, LockedOrchestrationItem, LockedWorkItem, Provider } from '../provider/provider.js';
import type { WorkItem, WorkItemOf } from '../wire/work-item.js';
import type { RuntimeCore } from './core.js';
import type { Isolation } from './isolation.js';
import { LONGEST_STRETCH_MS } from './turn-processor.js';
import type { WarmCache, WarmEntry } from './warm-cache.js';

/** What became of a direct turn. */
export type DirectEnd =
  /** It is committed, and the activities are acknowledged. */
  | 'committed'
  /** Nothing has happened. */
  | 'refused'
  /** It may be committed. */
  | 'unknown';

/** The outcome of an activity whose row this process holds. */
export interface ActivityOutcome {
  readonly row: LockedWorkItem;
  readonly completion: WorkItem;
  /** Called once with what became of it. */
  settle(end: DirectEnd): void;
}

/** An outcome that may make a turn. */
type Completed = ActivityOutcome & { readonly completion: WorkItemOf<'ActivityCompleted'> };

/** A direct turn, as the processor takes it. */
export interface DirectRun extends DirectTurn {
  readonly item: LockedOrchestrationItem;
  readonly entry: WarmEntry;
  ended(end: DirectEnd): void;
}

export interface DirectTurnsCore {
  readonly provider: Pick<Provider, 'takesDirectTurns'>;
  readonly options: Pick<RuntimeCore['options'], 'orchestrationConcurrency' | 'verifyWarm'>;
  readonly stopping: AbortSignal;
}

export interface DirectTurnsParts {
  readonly cache: Pick<WarmCache, 'held' | 'take'>;
  readonly isolation: Pick<Isolation, 'isPresent' | 'keepsTurnsAway'>;
  /** Whether orchestrations are being fetched and run at all. */
  takesTurns(): boolean;
  run(turn: DirectRun): void;
}

/**
 * Lets instances go on at once when an activity of theirs ends in the process that has them warm:
 * the turn is run on the outcome, and one transaction acknowledges both. It saves the message,
 * a transaction that waits for the disk, and the fetch. What stands in the way (another
 * message, somebody else's turn) is found by that transaction, and the outcome then goes the
 * ordinary way through the queue.
 *
 * Outcomes that come while a direct turn of their instance is under way wait for it, and
 * make the next one together.
 */
export class DirectTurns {
  /** By instance, in the order in which they came. */
  private readonly waiting = new Map<string, Completed[]>();
  private readonly running = new Set<string>();
  private isScheduled = false;

  constructor(
    private readonly core: DirectTurnsCore,
    private readonly parts: DirectTurnsParts,
  ) {}

  /** Whether it takes the outcome; `settle` is called then, and not before this returns. */
  offer(outcome: ActivityOutcome): boolean {
    if (!hasCompleted(outcome)) return false;
    const { row, completion } = outcome;
    // A second attempt: what killed its process may have been the turn behind it, whose messages count its attempts.
    if (row.attemptCount > 1 || !this.mayRun()) return false;
    if (row.item.kind !== 'ActivityExecute' || row.item.sessionId !== undefined) return false;
    // Through the queue it would be changed.
    if (!isStorable(completion.result)) return false;
    const { instance } = completion;
    if (!this.running.has(instance) && !this.isWarm(completion)) return false;
    const others = this.waiting.get(instance);
    if (others) others.push(outcome);
    else this.waiting.set(instance, [outcome]);
    this.schedule();
    return true;
  }

  private mayRun(): boolean {
    const { provider, options, stopping } = this.core;
    const { isolation } = this.parts;
    if (provider.takesDirectTurns !== true || options.verifyWarm || stopping.aborted) return false;
    return this.parts.takesTurns() && !isolation.isPresent && !isolation.keepsTurnsAway;
  }

  /** The live execution is the one that scheduled the activity, and not an earlier state of it. */
  private isWarm({ instance, executionId, id }: WorkItemOf<'ActivityCompleted'>): boolean {
    const held = this.parts.cache.held(instance);
    return held?.executionId === executionId && held.lastEventId >= id;
  }

  /** In the next lap of the event loop: activities that end together make one turn. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.runWaiting);
  }

  private readonly runWaiting = (): void => {
    this.isScheduled = false;
    const beganAtMs = performance.now();
    for (const [instance, outcomes] of this.waiting) {
      if (this.running.has(instance)) continue;
      if (this.running.size >= this.core.options.orchestrationConcurrency) return;
      if (performance.now() - beganAtMs > LONGEST_STRETCH_MS) return this.schedule();
      this.waiting.delete(instance);
      this.begin(instance, outcomes);
    }
  };

  private begin(instance: string, outcomes: readonly Completed[]): void {
    const settleAll = (end: DirectEnd) => {
      for (const outcome of outcomes) outcome.settle(end);
    };
    // An execution that continued as new does not wait for them any more.
    const goesOn = this.mayRun() && outcomes.every(({ completion }) => this.isWarm(completion));
    const entry = goesOn ? this.parts.cache.take(instance) : undefined;
    if (!entry) return settleAll('refused');
    this.running.add(instance);
    this.parts.run({
      item: itemOf(instance, entry, outcomes),
      entry,
      workTokens: outcomes.map(({ row }) => row.lockToken),
      lastEventId: entry.lastEvent.eventId,
      ended: (end) => {
        this.running.delete(instance);
        settleAll(end);
        if (this.waiting.size > 0) this.schedule();
      },
    });
  }
}

function hasCompleted(outcome: ActivityOutcome): outcome is Completed {
  return outcome.completion.kind === 'ActivityCompleted';
}

/** As a fetch would have answered. */
function itemOf(
  instance: string,
  { execution, name, version }: WarmEntry,
  outcomes: readonly Completed[],
): LockedOrchestrationItem {
  return {
    instance,
    orchestrationName: name,
    executionId: execution.executionId,
    version,
    lockToken: newTokenPrefix() + instance,
    attemptCount: 1,
    history: { kind: 'tail', heldText: null, events: [] },
    messages: outcomes.map(({ completion }) => completion),
  };
}
