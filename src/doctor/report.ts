/** What the check looks for; each is a promise of the store (one file of `invariants/` each). */
export type InvariantName =
  /** Every started instance has ended, waits for a signal from outside, or has something that moves it on. */
  | 'can-proceed'
  /** A queue row is an item that can be read, for an instance that exists or is being started. */
  | 'queue-owner'
  /** Whatever is locked is locked until some moment. */
  | 'lock-expiry'
  /** Event ids count from 1 without gaps, the first event is the start, and nothing is decided after the end. */
  | 'history-complete'
  /** Every event can be read. */
  | 'history-readable'
  /** The registered orchestrations take the same decisions again; checked only when they are given. */
  | 'history-replays'
  /** A decision has at most one outcome, and no outcome stands without its decision. */
  | 'one-outcome'
  /** No completion waits twice, or again after it was recorded. */
  | 'completion-once'
  /** Rows that say the same thing twice agree: executions, statuses, outputs, key-value changes, attempts. */
  | 'counters-agree';

export const INVARIANT_NAMES: readonly InvariantName[] = [
  'can-proceed',
  'queue-owner',
  'lock-expiry',
  'history-complete',
  'history-readable',
  'history-replays',
  'one-outcome',
  'completion-once',
  'counters-agree',
];

/** A promise that does not hold at one place. Carries no payloads. */
export interface InvariantViolation {
  readonly invariant: InvariantName;
  readonly instance?: string | undefined;
  readonly executionId?: number | undefined;
  readonly eventId?: number | undefined;
  readonly table?: 'orchestrator_queue' | 'worker_queue' | 'instance_locks' | 'sessions' | undefined;
  /** Id of the row in `table`, for the queues. */
  readonly rowId?: number | undefined;
  /** What was found and what was expected. */
  readonly problem: string;
}

/** A row that nobody could read and that was set aside; it harms nobody and waits for a person. */
export interface QuarantinedRow {
  readonly table: 'orchestrator_queue' | 'worker_queue';
  readonly rowId: number;
  readonly instance: string | null;
  readonly attemptCount: number;
}

/** What a check has seen. */
export interface InvariantReport {
  /** No violation was found. Quarantined rows are none. */
  readonly ok: boolean;
  readonly schema: string;
  /** In the order in which they were found; at most `maxViolations`. */
  readonly violations: readonly InvariantViolation[];
  /** How many there were of each, those that are not listed included. */
  readonly violationCounts: Readonly<Record<InvariantName, number>>;
  /** At most `maxViolations`. */
  readonly quarantined: readonly QuarantinedRow[];
  readonly quarantinedCount: number;
  readonly checked: CheckedCounts;
}

/** How much was looked at. */
export interface CheckedCounts {
  readonly instances: number;
  readonly events: number;
  readonly orchestratorRows: number;
  readonly workerRows: number;
  readonly locks: number;
  /** Executions that were replayed; 0 without `orchestrations`. */
  readonly replayed: number;
  /**
   * Executions that could not be replayed: their orchestration is not registered, their end was
   * no decision of the code (poison, limits), their payloads went through a codec, or what they
   * began with was pruned.
   */
  readonly notReplayed: number;
}
