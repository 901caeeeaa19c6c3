/** What the server tells the page, as JSON. Imported by both, so this file imports nothing. */

/** What the viewer may do. */
export type Access = 'none' | 'read' | 'write';

export interface SessionView {
  /** `read` also in read-only mode. */
  readonly access: Access;
  /** Of the package. */
  readonly version: string;
  /** Name of the store, for the foot of the page. */
  readonly store: string;
  /** The store's clock, so that ages are right whatever the browser's clock says. */
  readonly nowMs: number;
}

export interface InstanceRow {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly status: string;
  readonly executionId: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** `null` unless it has ended. */
  readonly completedAtMs: number | null;
  readonly parent: string | null;
  /** The beginning of the custom status. */
  readonly customStatus: string | null;
  /** The beginning of the output, or of the failure's text. */
  readonly preview: string | null;
}

export interface InstancePageView {
  readonly rows: readonly InstanceRow[];
  /** Cursor of the page that follows; `null` on the last one. */
  readonly next: string | null;
}

export interface CountView {
  readonly status: string;
  readonly count: number;
  /** `false`: an estimate. */
  readonly exact: boolean;
}

export interface QueueView {
  readonly name: 'orchestrator' | 'worker';
  /** What could be taken now. */
  readonly ready: number;
  /** `false`: there are more, counting stopped. */
  readonly exact: boolean;
  /** How long the oldest ready item has been waiting; `null` when none is. */
  readonly oldestAgeMs: number | null;
}

export interface WorkerView {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly orchestrationSlots: SlotsView;
  readonly activitySlots: SlotsView;
  readonly startedAtMs: number;
  readonly lastSeenMs: number;
  readonly state: 'running' | 'stopped' | 'gone';
}

export interface SlotsView {
  readonly used: number;
  readonly total: number;
}

/** Columns of equal length: moments in ms, and how many instances began, completed and failed since the one before. */
export interface ThroughputView {
  readonly bucketMs: number;
  readonly atMs: readonly number[];
  readonly started: readonly number[];
  readonly completed: readonly number[];
  readonly failed: readonly number[];
  /** Earlier instances than the newest so many are not counted before this moment; `null`: all are. */
  readonly partialBeforeMs: number | null;
  readonly sampleSize: number;
}

/** A part of the page that may not be there, with the reason. */
export type Part<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export interface OverviewView {
  readonly nowMs: number;
  readonly counts: Part<readonly CountView[]>;
  readonly queues: Part<readonly QueueView[]>;
  readonly workers: Part<readonly WorkerView[]>;
  readonly throughput: Part<ThroughputView>;
  readonly failures: Part<readonly InstanceRow[]>;
}

/** A text that may be cut. */
export interface PayloadView {
  /** `input`, `output`, `result`, `error`, `data`, `reason`, `status` or `value`. */
  readonly field: string;
  /** The beginning of it. */
  readonly text: string;
  /** Characters in all. */
  readonly length: number;
  readonly cut: boolean;
}

export interface EventView {
  readonly eventId: number;
  readonly kind: string;
  readonly atMs: number;
  /** The event that scheduled what this one ends. */
  readonly source: number | null;
  /** What it is about: a name, a key, an instance. */
  readonly subject: string | null;
  readonly child: string | null;
  readonly payloads: readonly PayloadView[];
  /** For a timer: when it fires. */
  readonly fireAtMs: number | null;
}

export type Outcome = 'ok' | 'failed' | 'cancelled' | 'open';

/** One bar of the time line. */
export interface SegmentView {
  readonly fromMs: number;
  /** `null` while it lasts. */
  readonly toMs: number | null;
  readonly outcome: Outcome;
  readonly eventId: number;
  readonly endEventId: number | null;
}

export type LaneKind = 'activity' | 'timer' | 'event' | 'queue' | 'child' | 'detached';

/** One row of the time line: an activity with all its attempts, a timer, a wait, a child. */
export interface LaneView {
  readonly kind: LaneKind;
  readonly label: string;
  /** Instance of a child. */
  readonly child: string | null;
  /** For a timer: when it is to fire. */
  readonly fireAtMs: number | null;
  /** In order; more than one means that it was tried again. */
  readonly segments: readonly SegmentView[];
}

export interface TimelineView {
  readonly fromMs: number;
  /** `null` while the execution runs. */
  readonly toMs: number | null;
  readonly lanes: readonly LaneView[];
  /** Earlier lanes that are left out. */
  readonly omitted: number;
}

/** What is read off the history of one execution. */
export interface HistoryView {
  readonly executionId: number;
  readonly total: number;
  readonly status: string;
  readonly customStatus: string | null;
  readonly timeline: TimelineView;
  /** One page of it, in order. */
  readonly events: readonly EventView[];
}

export interface KeyValueView {
  readonly key: string;
  readonly value: PayloadView;
}

export interface AncestorView {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

export interface InstanceView {
  readonly row: InstanceRow;
  readonly output: PayloadView | null;
  readonly executions: readonly number[];
  readonly values: readonly KeyValueView[];
  /** From the root down to the parent. */
  readonly ancestors: readonly AncestorView[];
  /** The newest children; more by the cursor. */
  readonly children: InstancePageView;
}

/** Whether a failed instance can be taken up again, and from where. */
export type RetryView =
  | { readonly possible: true; readonly toEventId: number; readonly step: string }
  | { readonly possible: false; readonly reason: string };

export interface ScheduleRow {
  readonly id: string;
  readonly orchestration: string;
  /** `null`: what the registry's policy names. */
  readonly version: string | null;
  /** `null` for an interval. */
  readonly cron: string | null;
  readonly timeZone: string;
  /** `null` for a cron expression. */
  readonly everyMs: number | null;
  readonly overlap: 'allow' | 'skip';
  /** The start queue that its instances go through. */
  readonly queue: string | null;
  readonly isPaused: boolean;
  /** Why a runtime paused it, or why its input cannot be decoded. */
  readonly problem: string | null;
  /** `null` while it is paused, and when nothing is left to fire. */
  readonly nextFireAtMs: number | null;
  readonly lastFireAtMs: number | null;
  readonly lastInstanceId: string | null;
  readonly firedCount: number;
  /** Fires that were left out because the instance before still ran. */
  readonly overlapCount: number;
}

export interface SchedulesView {
  readonly nowMs: number;
  readonly schedules: Part<{
    /** By id; the first so many. */
    readonly rows: readonly ScheduleRow[];
    readonly total: number;
  }>;
}

export interface BoundedView {
  readonly count: number;
  /** There are more: counting stopped. */
  readonly isAtLeast: boolean;
}

export interface RateView {
  readonly limit: number;
  readonly periodMs: number;
}

/** A start queue; limits that are `null` are none. */
export interface StartQueueRow {
  readonly id: string;
  readonly concurrency: number | null;
  readonly concurrencyPerKey: number | null;
  readonly rate: RateView | null;
  readonly ratePerKey: RateView | null;
  readonly isPaused: boolean;
  readonly waiting: BoundedView;
  readonly running: BoundedView;
  /** `null` when none waits. */
  readonly oldestWaitingAtMs: number | null;
  /** Those of which most wait or run. */
  readonly keys: readonly StartKeyRow[];
  readonly isPartOfKeys: boolean;
}

export interface StartKeyRow {
  readonly key: string;
  readonly waiting: number;
  readonly running: number;
  readonly oldestWaitingAtMs: number | null;
}

export interface StartQueuesView {
  /** By id; the first so many. */
  readonly rows: readonly StartQueueRow[];
  /** There are more. */
  readonly isPart: boolean;
}

export interface QueuesView {
  readonly nowMs: number;
  readonly queues: Part<StartQueuesView>;
}

/** What a stream says, by the name of its event. */
export interface LiveMessages {
  readonly overview: Partial<Omit<OverviewView, 'nowMs'>> & { readonly nowMs: number };
  readonly list: InstancePageView & { readonly nowMs: number };
  readonly schedules: SchedulesView;
  readonly queues: QueuesView;
  /** `events` holds what is new since the message before. */
  readonly history: HistoryView & { readonly nowMs: number };
  readonly instance: Partial<InstanceView>;
  readonly gone: Record<string, never>;
  /** The store cannot be read; the stream goes on trying. */
  readonly trouble: { readonly message: string };
  /** It can again. */
  readonly recovered: Record<string, never>;
}

export interface ErrorView {
  readonly error: { readonly code: string; readonly message: string };
}
