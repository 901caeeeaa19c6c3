import type { EventBody, HistoryEvent } from '../../wire/event.js';
import type { HistoryLedger } from './ledger.js';

/** Where the events of a turn belong, and what stamps them. */
export interface Envelope {
  readonly instance: string;
  readonly executionId: number;
  readonly duroxideVersion: string;
}

/** Writes the events of one turn: gives them their ids and keeps the ledger up to date. */
export class TurnWriter {
  readonly delta: HistoryEvent[] = [];
  private nextId: number;

  constructor(
    private readonly ledger: HistoryLedger,
    private readonly envelope: Envelope,
    private readonly now: () => number,
  ) {
    this.nextId = (ledger.last?.eventId ?? 0) + 1;
  }

  append(body: EventBody, sourceEventId: number | null = null): HistoryEvent {
    const { instance, executionId, duroxideVersion } = this.envelope;
    const event: HistoryEvent = {
      eventId: this.nextId++,
      sourceEventId,
      instanceId: instance,
      executionId,
      timestampMs: this.now(),
      duroxideVersion,
      ...body,
    };
    this.delta.push(event);
    this.ledger.record(event);
    return event;
  }

  /** Takes back an event of this turn and all after it: their ids are free again. */
  dropFrom(event: HistoryEvent): void {
    this.delta.length = this.delta.indexOf(event);
    this.nextId = event.eventId;
  }

  /** The id that the next event will have. */
  get upcomingId(): number {
    return this.nextId;
  }

  /** Uses up an id without an event: what a continue-as-new does among new actions. */
  skipId(): number {
    return this.nextId++;
  }

  /** From here on, ids follow the highest one that exists; a skipped one is free again. */
  closeGap(): void {
    this.nextId = this.ledger.maxEventId + 1;
  }
}
