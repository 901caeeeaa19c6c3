import type { EventOf, HistoryEvent } from '../../wire/event.js';

/** Kinds of schedules that an outcome can refer to. */
export type ScheduleKind = 'activity' | 'timer' | 'suborchestration';

/** Kinds of drops that leave a breadcrumb, in the order in which they are recorded. */
export const DROP_KINDS = ['activity', 'suborchestration', 'external', 'queue'] as const;
export type DropKind = (typeof DROP_KINDS)[number];

/** Reason of a breadcrumb that the code itself caused by losing interest. */
export const DROPPED_FUTURE = 'dropped_future';

/** A schedule in one small number, since a long execution has thousands: its kind, and a bit for its outcome. */
const KIND_CODES = { activity: 1, timer: 2, suborchestration: 3 } as const;
const KINDS: readonly (ScheduleKind | undefined)[] = [undefined, 'activity', 'timer', 'suborchestration'];
const KIND_MASK = 3;
const OUTCOME_BIT = 4;

interface Mailbox {
  /** Subscriptions without breadcrumb, in order. */
  readonly subscriptions: number[];
  arrivals: number;
}

/**
 * What history says, event by event, without keeping the events: the facts that the
 * conversion of messages, the terminal breadcrumbs and the acknowledgement are made from.
 * What the code saw does not count here.
 */
export class HistoryLedger {
  started: EventOf<'OrchestrationStarted'> | undefined;
  firstKind: HistoryEvent['kind'] | undefined;
  last: HistoryEvent | undefined;
  maxEventId = 0;
  count = 0;
  isTerminal = false;
  /** Of the first cancel request. */
  cancelReason: string | undefined;
  /** The last status recorded; `undefined` while none was. */
  customStatus: string | null | undefined;

  private readonly schedules = new Map<number, number>();
  private readonly breadcrumbs = new Set<number>();
  /** Scheduled, without outcome and without breadcrumb. */
  readonly openActivities = new Set<number>();
  /** The same for children, with the id that history holds. */
  readonly openChildren = new Map<number, string>();
  private readonly openPositional = new Map<string, number[]>();
  private readonly mailboxes = new Map<string, Mailbox>();
  /** The list above in which a subscription stands. */
  private readonly listOf = new Map<number, number[]>();

  record(event: HistoryEvent): void {
    this.count++;
    this.last = event;
    this.firstKind ??= event.kind;
    if (event.eventId > this.maxEventId) this.maxEventId = event.eventId;
    switch (event.kind) {
      case 'OrchestrationStarted':
        this.started ??= event;
        this.customStatus ??= event.initialCustomStatus;
        break;
      case 'OrchestrationCompleted':
      case 'OrchestrationFailed':
      case 'OrchestrationContinuedAsNew':
        this.isTerminal = true;
        break;
      case 'OrchestrationCancelRequested':
        this.cancelReason ??= event.reason;
        break;
      case 'ActivityScheduled':
        this.schedule(event.eventId, 'activity');
        this.openActivities.add(event.eventId);
        break;
      case 'TimerCreated':
        this.schedule(event.eventId, 'timer');
        break;
      case 'SubOrchestrationScheduled':
        this.schedule(event.eventId, 'suborchestration');
        this.openChildren.set(event.eventId, event.instance);
        break;
      case 'ActivityCompleted':
      case 'ActivityFailed':
      case 'TimerFired':
      case 'SubOrchestrationCompleted':
      case 'SubOrchestrationFailed':
        this.outcome(event.sourceEventId);
        break;
      case 'ActivityCancelRequested':
      case 'SubOrchestrationCancelRequested':
        this.breadcrumb(event.sourceEventId);
        break;
      case 'ExternalSubscribed':
        this.subscribe(event.eventId, this.positionalOf(event.name));
        break;
      case 'ExternalEvent':
        this.satisfyOldest(event.name);
        break;
      case 'ExternalSubscribedCancelled':
      case 'ExternalSubscribedPersistentCancelled':
        this.breadcrumb(event.sourceEventId);
        this.unsubscribe(event.sourceEventId);
        break;
      case 'ExternalSubscribedPersistent':
        this.subscribe(event.eventId, this.mailboxOf(event.name).subscriptions);
        break;
      case 'ExternalEventPersistent':
        this.mailboxOf(event.name).arrivals++;
        break;
      case 'CustomStatusUpdated':
        this.customStatus = event.status;
        break;
      default:
        break; // the others leave no trace here
    }
  }

  /** What was scheduled under the id; `undefined` for an unknown one and for subscriptions. */
  scheduleKind(eventId: number): ScheduleKind | undefined {
    return KINDS[(this.schedules.get(eventId) ?? 0) & KIND_MASK];
  }

  hasOutcome(eventId: number): boolean {
    return ((this.schedules.get(eventId) ?? 0) & OUTCOME_BIT) !== 0;
  }

  /** Whether a cancellation of the schedule or subscription is recorded, for whatever reason. */
  hasBreadcrumb(eventId: number): boolean {
    return this.breadcrumbs.has(eventId);
  }

  /** Positional subscriptions that nothing has satisfied, by history alone (runtime.md 2.9). */
  outstandingPositional(): number[] {
    return [...this.openPositional.values()].flat().sort(ascending);
  }

  /** Mailbox subscriptions that nothing has satisfied: the k-th arrival satisfies the k-th of them. */
  outstandingMailbox(): number[] {
    const open = [...this.mailboxes.values()].flatMap(({ subscriptions, arrivals }) => subscriptions.slice(arrivals));
    return open.sort(ascending);
  }

  /** Rough size in memory, in bytes. */
  get retainedBytes(): number {
    return (
      this.schedules.size * 40 +
      this.breadcrumbs.size * 32 +
      this.openActivities.size * 32 +
      this.openChildren.size * 160 +
      this.listOf.size * 48 +
      (this.openPositional.size + this.mailboxes.size) * 160
    );
  }

  private schedule(eventId: number, kind: ScheduleKind): void {
    this.schedules.set(eventId, ((this.schedules.get(eventId) ?? 0) & OUTCOME_BIT) | KIND_CODES[kind]);
  }

  private outcome(source: number | null): void {
    if (source === null) return;
    this.schedules.set(source, (this.schedules.get(source) ?? 0) | OUTCOME_BIT);
    this.openActivities.delete(source);
    this.openChildren.delete(source);
  }

  private breadcrumb(source: number | null): void {
    if (source === null) return;
    this.breadcrumbs.add(source);
    this.openActivities.delete(source);
    this.openChildren.delete(source);
  }

  private subscribe(eventId: number, list: number[]): void {
    list.push(eventId);
    this.listOf.set(eventId, list);
  }

  private unsubscribe(source: number | null): void {
    const list = source === null ? undefined : this.listOf.get(source);
    if (source === null || !list) return;
    list.splice(list.lastIndexOf(source), 1);
    this.listOf.delete(source);
  }

  private satisfyOldest(name: string): void {
    const satisfied = this.openPositional.get(name)?.shift();
    if (satisfied !== undefined) this.listOf.delete(satisfied);
  }

  private positionalOf(name: string): number[] {
    let open = this.openPositional.get(name);
    if (!open) this.openPositional.set(name, (open = []));
    return open;
  }

  private mailboxOf(name: string): Mailbox {
    let mailbox = this.mailboxes.get(name);
    if (!mailbox) this.mailboxes.set(name, (mailbox = { subscriptions: [], arrivals: 0 }));
    return mailbox;
  }
}

function ascending(a: number, b: number): number {
  return a - b;
}
