import type { SemVer } from '../../wire/compat-version.js';
import type { ErrorDetails } from '../../wire/error-details.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { WorkItem } from '../../wire/work-item.js';
import type { Action } from './action.js';
import type { CreateDriver } from './driver.js';

/** Values of earlier executions, as the provider loads them. */
export type KvSeed = ReadonlyMap<string, { readonly value: string; readonly lastUpdatedAtMs: number }>;

/** Who waits for the result of this instance. */
export interface ParentLink {
  readonly instance: string;
  /** Event id of the `SubOrchestrationScheduled` in the parent. */
  readonly id: number;
  /** Absent in records of old natives. */
  readonly executionId?: number | undefined;
}

/** What makes the first event of an execution. */
export interface StartRecord {
  readonly name: string;
  /** The version that was resolved, never a policy. */
  readonly version: string;
  readonly input: string;
  readonly parent?: ParentLink | undefined;
  /** Recorded in the event; the messages themselves are fed in as `QueueMessage`s (see `readBatch`). */
  readonly carryForwardEvents?: readonly (readonly [string, string])[] | undefined;
  readonly initialCustomStatus?: string | undefined;
}

export interface TurnLimits {
  /** Bytes of one payload that a turn may write. */
  readonly maxPayloadBytes: number;
  /** Iterations of the settle loop after which the turn fails. */
  readonly maxSettleIterations: number;
}

/** Names one execution and says how to run it. */
export interface ExecutionParams {
  readonly instance: string;
  readonly executionId: number;
  readonly createDriver: CreateDriver;
  /** Level that new events are stamped with. @defaultValue `COMPAT_VERSION_TEXT` */
  readonly duroxideVersion?: string | undefined;
  /** @defaultValue the limits of `wire/limits.ts` */
  readonly limits?: Partial<TurnLimits> | undefined;
  /** For tools: called with every decision of the code, in order, recorded or new. */
  readonly onDecision?: ((action: Action) => void) | undefined;
}

/** A turn from stored history: the code runs again from its first line. */
export interface ColdTurn {
  /** All stored events of the execution, in order. Empty for a new execution, which needs `start`. */
  readonly history: readonly HistoryEvent[];
  /** Used only when `history` is empty: the first event is made from it. */
  readonly start?: StartRecord | undefined;
  /** Completions, events, cancellations; in queue order. Start and continue-as-new items are ignored here. */
  readonly messages: readonly WorkItem[];
  readonly kvSnapshot?: KvSeed | undefined;
  /** The provider's clock: Unix ms. Stamps events, timers and key-value entries. */
  readonly now: () => number;
  /**
   * The current execution of the parent, for a child whose record names none
   * (`needsParentExecution`); absent: 1, native's last resort.
   */
  readonly parentExecutionId?: number | undefined;
}

/** A turn that goes on with the live code: only what is new. */
export interface WarmTurn {
  readonly messages: readonly WorkItem[];
  readonly now: () => number;
}

/** Names an activity to be taken out of the worker queue. */
export interface CancelledActivity {
  readonly instance: string;
  readonly executionId: number;
  readonly activityId: number;
}

/** What the acknowledgement says about the execution (runtime.md 2.10). */
export interface TurnMetadata {
  readonly status?: 'Completed' | 'Failed' | 'ContinuedAsNew' | undefined;
  readonly output?: string | undefined;
  readonly orchestrationName?: string | undefined;
  readonly orchestrationVersion?: string | undefined;
  readonly parentInstanceId?: string | undefined;
  readonly pinnedDuroxideVersion?: SemVer | undefined;
}

/** How a turn ended. */
export type TurnResult =
  | { readonly kind: 'continued' }
  | { readonly kind: 'completed'; readonly output: string }
  | { readonly kind: 'failed'; readonly details: ErrorDetails }
  | { readonly kind: 'continuedAsNew'; readonly input: string; readonly version: string | null }
  | { readonly kind: 'cancelled'; readonly reason: string }
  /** The execution had ended before: the messages are consumed, nothing else happens. */
  | { readonly kind: 'alreadyTerminal' };

/** Something that the log should know. Never carries payloads. */
export type TurnWarning =
  | { readonly kind: 'messageOfOtherExecution'; readonly message: WorkItem['kind'] }
  | { readonly kind: 'duplicateOutcome'; readonly message: WorkItem['kind']; readonly scheduleId: number }
  /** A positional event found nobody waiting; it stays in history and is not delivered. */
  | { readonly kind: 'eventNotDelivered'; readonly name: string }
  | { readonly kind: 'carryForwardTruncated'; readonly kept: number; readonly dropped: number }
  /** The code came to its end while activities were open, which are cancelled: perhaps an await was forgotten. */
  | { readonly kind: 'endedWithOpenActivities'; readonly eventIds: readonly number[] }
  /** More keys than the limit, which only the next execution will notice (D-13). */
  | { readonly kind: 'tooManyKeys'; readonly count: number };

/**
 * Everything that the acknowledgement of the turn commits, and what the caller has to
 * know to keep the live execution. The arrays may be handed to the provider as they are.
 */
export interface TurnOutcome {
  readonly result: TurnResult;
  readonly executionId: number;
  readonly historyDelta: readonly HistoryEvent[];
  readonly workerItems: readonly WorkItem[];
  readonly orchestratorItems: readonly WorkItem[];
  readonly cancelledActivities: readonly CancelledActivity[];
  readonly metadata: TurnMetadata;
  /** The last stored event after this turn is committed: what a warm turn compares with the tail. */
  readonly lastEvent: HistoryEvent | undefined;
  /** How many events the execution has after this turn. */
  readonly eventCount: number;
  /**
   * Whether the live execution may run the next turn: false after the end of the execution,
   * and after a turn that used a rule which only a replay from the start shows
   * (runtime.md 7, "Replay cost").
   */
  readonly keepWarm: boolean;
  /** The status in memory, as the code would read it now. */
  readonly customStatus: string | null;
  readonly warnings: readonly TurnWarning[];
}

/**
 * One execution with its code suspended in memory. Turns must not overlap. After a turn
 * that threw, was not acknowledged or has `keepWarm: false` it must be thrown away:
 * nothing is rejected or returned, the code is simply not resumed.
 */
export interface LiveExecution {
  readonly instance: string;
  readonly executionId: number;
  /** The first turn. Answers directly unless the driver returned a promise. */
  runCold(turn: ColdTurn): TurnOutcome | Promise<TurnOutcome>;
  /** A later turn, from where the last one suspended. */
  runWarm(turn: WarmTurn): TurnOutcome | Promise<TurnOutcome>;
  /** Rough size of what the engine itself keeps, in bytes; the user's own state is not known. */
  approximateBytes(): number;
}
