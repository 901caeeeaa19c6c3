import type { WorkItem } from '../wire/work-item.js';
import type { Ms } from './provider.js';
import type { ProviderError } from './provider-error.js';

/** What happens with fire times that passed while nobody was there to fire. */
export type CatchUp = 'one' | 'all' | 'skip';
/** Whether an instance is started while the one before it still runs. */
export type Overlap = 'allow' | 'skip';

/** What somebody wants to be started, and when. Moments are Unix ms of the provider's clock. */
export interface ScheduleDefinition {
  readonly orchestration: string;
  /** `null`: what the registry's policy names. */
  readonly version: string | null;
  /** The payload of each instance. */
  readonly input: string;
  /** A cron expression, or `null` for an interval. */
  readonly cron: string | null;
  readonly timeZone: string;
  /** An interval, or `null` for a cron expression. */
  readonly everyMs: Ms | null;
  /** What an interval is counted from. */
  readonly anchorMs: Ms;
  readonly catchUp: CatchUp;
  readonly maxCatchUp: number;
  readonly graceMs: Ms;
  readonly overlap: Overlap;
  /** The start queue that its instances go through; `null`: none. */
  readonly queue: string | null;
  /** As `QueuedStart.key`. */
  readonly key: string | null;
  /** As `QueuedStart.priority`. */
  readonly priority: number;
}

/** A schedule as it is stored. */
export interface StoredSchedule extends ScheduleDefinition {
  readonly id: string;
  readonly isPaused: boolean;
  /** Why a runtime paused it; `null` when nothing is wrong. */
  readonly problem: string | null;
  /** `null` while it is paused, and when nothing is left to fire. */
  readonly nextFireMs: Ms | null;
  readonly lastFireMs: Ms | null;
  readonly lastInstance: string | null;
  readonly firedCount: number;
  readonly overlapCount: number;
  readonly createdMs: Ms;
  readonly updatedMs: Ms;
  /** Why the input stands here as it is stored: it cannot be decoded. Its instances would start, and be put off. */
  readonly unreadable?: ProviderError | undefined;
}

/** What is done with a schedule that is due: together, or not at all. */
export interface ScheduleDecision {
  /** Messages that start instances. */
  readonly starts: readonly (WorkItem & { readonly kind: 'StartOrchestration' })[];
  readonly after: Pick<StoredSchedule, 'nextFireMs' | 'lastFireMs' | 'lastInstance' | 'isPaused' | 'problem'>;
  /** Instances that were not started because the one before still ran. */
  readonly overlaps: number;
}

/** What else a decision depends on. */
export interface ScheduleFacts {
  readonly nowMs: Ms;
  /** The instance started last has not ended, or not even begun. */
  readonly isLastRunning: boolean;
}

/** How a change of a schedule is worked out from what is stored, under its lock. */
export type ChangeSchedule = (
  stored: StoredSchedule,
  facts: ScheduleFacts,
) => ScheduleDecision & { readonly definition?: ScheduleDefinition | undefined };

/** What a look at the due schedules brought. */
export interface FiredSchedules {
  /** Instances that were started. */
  readonly started: readonly string[];
  /** The next moment at which something is due; `null` when nothing is. */
  readonly nextFireMs: Ms | null;
}

/**
 * Where schedules are kept. Every method throws an `UnsupportedError` with advice where the
 * table is missing, as in a schema that native made.
 */
export interface ScheduleStore {
  /**
   * @returns whether it was stored; `false` when there is one of this id, which stays as it is
   * @throws UnsupportedError with advice for a definition with a queue where no place for it is
   */
  add(
    id: string,
    definition: ScheduleDefinition,
    state: Pick<StoredSchedule, 'isPaused' | 'nextFireMs'>,
  ): Promise<boolean>;
  find(id: string): Promise<StoredSchedule | undefined>;
  /** By id. */
  list(): Promise<StoredSchedule[]>;
  /**
   * Changes a schedule under its lock. Starts of one with a queue go into the queue.
   * @returns the instances that were started, or `undefined` for an unknown id
   * @throws as {@link add}; ProviderError when its queue is not there and something was to be started
   */
  change(id: string, change: ChangeSchedule): Promise<readonly string[] | undefined>;
  /** @returns whether there was one */
  remove(id: string): Promise<boolean>;
  /**
   * Fires what is due and not in another process's hands, in one transaction. Starts of a
   * schedule with a queue go into the queue; one whose queue is not there is paused, and says so.
   */
  fireDue(decide: (stored: StoredSchedule, facts: ScheduleFacts) => ScheduleDecision): Promise<FiredSchedules>;
  /** Calls back when schedules changed, here or in another process; returns the unsubscription. */
  onChanged(listener: () => void): () => void;
}
