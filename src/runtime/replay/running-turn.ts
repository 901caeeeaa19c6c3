import type { HistoryEvent } from '../../wire/event.js';
import type { PendingAction } from './finish.js';
import type { HistoryLedger } from './ledger.js';
import type { TurnWarning } from './turn.js';
import type { Envelope } from './turn-writer.js';
import { TurnWriter } from './turn-writer.js';
import { isActionEvent } from './walker.js';

/** What is known only while a turn runs. */
export class RunningTurn {
  readonly writer: TurnWriter;
  readonly now: () => number;
  readonly startMs: number;
  /** How many events the execution had before. */
  readonly persisted: number;
  /** Stored events (none in a warm turn), then those made from messages. */
  events: readonly HistoryEvent[] = [];
  /** Actions of this turn that have their events. */
  readonly pending: PendingAction[] = [];
  readonly droppedActivities: number[] = [];
  readonly droppedChildren: string[] = [];
  readonly warnings: TurnWarning[] = [];
  /** Whether the turn used a rule that only a replay from the start shows. */
  isColdOnly = false;
  /** Whether the code goes again through what earlier turns have seen. */
  isReplaying = false;

  /** Stored events among `events`, which stand first. */
  private readonly replayed: number;
  /** Index of the next event to be applied. */
  private position = 0;

  constructor(params: {
    readonly envelope: Envelope;
    readonly ledger: HistoryLedger;
    readonly now: () => number;
    readonly history: readonly HistoryEvent[];
  }) {
    this.now = params.now;
    this.startMs = params.now();
    this.persisted = params.ledger.count;
    this.replayed = params.history.length;
    this.events = params.history;
    this.writer = new TurnWriter(params.ledger, params.envelope, params.now);
  }

  /** The stored part of `events`. */
  get history(): readonly HistoryEvent[] {
    return this.events.slice(0, this.replayed);
  }

  leadThrough(events: readonly HistoryEvent[]): void {
    this.events = events;
    this.isReplaying = this.replayed > 0;
  }

  /** An event has been applied: what the code does because of a new one, it does for the first time. */
  applied(): void {
    this.position++;
    this.isReplaying = this.position <= this.replayed;
  }

  warn(warning: TurnWarning): void {
    this.warnings.push(warning);
  }

  markColdOnly(): void {
    this.isColdOnly = true;
  }

  eventUnclaimed(name: string, isDelivered: boolean): void {
    // In the stored part it was reported when it was new.
    if (this.position < this.replayed) return;
    this.markColdOnly();
    if (!isDelivered) this.warn({ kind: 'eventNotDelivered', name });
  }

  /**
   * While replaying: the run of recorded clears at the place where the code is, which is
   * after the events owed to its actions that are not matched yet; and the time of the
   * last event it has seen.
   */
  recordedClears(owedActions: number): { keys: string[]; notBeforeMs: number } | undefined {
    if (!this.isReplaying) return undefined;
    const keys: string[] = [];
    let owed = owedActions;
    for (let i = this.position; i < this.replayed; i++) {
      const event = this.events[i];
      if (!event || !isActionEvent(event)) {
        if (keys.length > 0) break;
      } else if (owed > 0) {
        owed--;
      } else if (event.kind === 'KeyValueCleared') {
        keys.push(event.key);
      } else {
        break;
      }
    }
    return { keys, notBeforeMs: this.events[this.position - 1]?.timestampMs ?? 0 };
  }
}
