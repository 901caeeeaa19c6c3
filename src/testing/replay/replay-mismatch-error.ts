import type { HistoryEvent } from '../../wire/event.js';
import type { DecisionText } from './decision.js';

/** Where history and code part, and what each says. */
export interface Mismatch {
  readonly orchestration: string;
  /** Id of the recorded event at which they part; of the next one after the last when history ends before. */
  readonly position: number;
  /** What the history says; `nothing more` where it ends. */
  readonly expected: DecisionText;
  /** What the code does today; `nothing` where it decides nothing. */
  readonly actual: DecisionText;
  /** The recorded event, if there is one at that place. */
  readonly event?: HistoryEvent | undefined;
  /** What a runtime would store as the instance's failure; absent where it would not notice. */
  readonly failure?: string | undefined;
}

/**
 * Today's code does not make the decisions of a recorded history: running instances of
 * that age would fail, or silently go another way. Give the change a version of its own,
 * or make it compatible.
 */
export class ReplayMismatchError extends Error implements Mismatch {
  override readonly name = 'ReplayMismatchError';
  readonly orchestration: string;
  readonly position: number;
  readonly expected: DecisionText;
  readonly actual: DecisionText;
  readonly event: HistoryEvent | undefined;
  readonly failure: string | undefined;

  constructor({ orchestration, position, expected, actual, event, failure }: Mismatch) {
    super(
      `orchestration '${orchestration}' does not repeat its history at event ${position}\n` +
        `  expected: ${expected}\n` +
        `  actual:   ${actual}`,
    );
    this.orchestration = orchestration;
    this.position = position;
    this.expected = expected;
    this.actual = actual;
    this.event = event;
    this.failure = failure;
  }
}
