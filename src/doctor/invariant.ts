import type { HistoryEvent } from '../wire/event.js';
import type { Findings } from './findings.js';
import type { InstanceView } from './instance-view.js';

/** One execution of an instance, whose events are about to come by in order. */
export interface ExecutionView {
  readonly view: InstanceView;
  readonly executionId: number;
  readonly isCurrent: boolean;
  /** Of its row; null when there is none. */
  readonly status: string | null;
}

/** An event with the key under which its row is stored. */
export interface StoredEvent {
  readonly rowEventId: number;
  readonly event: HistoryEvent;
}

/** Sees the events of one execution; keeps no more of them than it must. */
export interface ExecutionCheck {
  see(stored: StoredEvent): void;
  /** After the last event; not called when an event could not be read. */
  end(): void;
}

/** What checks of executions need beside the events. */
export interface CheckContext {
  readonly findings: Findings;
  /** Asks, for the end of the page, whether a child is there to answer its parent. */
  readonly askChild: (question: ChildQuestion) => void;
  /** Asks, for the end of the page, whether the row of an execution has this output. */
  readonly askOutput: (question: OutputQuestion) => void;
  /** Asks, for the end of the page, whether the stored key-value changes are these. */
  readonly askValues: (question: ValuesQuestion) => void;
}

export interface ChildQuestion {
  readonly instance: string;
  readonly executionId: number;
  readonly eventId: number;
  readonly child: string;
}

export interface OutputQuestion {
  readonly instance: string;
  readonly executionId: number;
  readonly outputHash: string;
}

export interface ValuesQuestion {
  readonly instance: string;
  readonly executionId: number;
  /** Key → SHA-256 of its value, hex. */
  readonly hashes: ReadonlyMap<string, string>;
}

/** A promise about executions. */
export type BeginExecutionCheck = (execution: ExecutionView, context: CheckContext) => ExecutionCheck;
