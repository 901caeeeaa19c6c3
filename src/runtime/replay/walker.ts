import type { ErrorDetails } from '../../wire/error-details.js';
import { displayErrorDetails } from '../../wire/error-details.js';
import type { EventOf, HistoryEvent } from '../../wire/event.js';
import type { OrchestrationCode, Task } from './code.js';
import { debugAction, debugEvent } from './debug-text.js';
import { failureOf, nondeterminism } from './failures.js';
import { sameDecision } from './matching.js';
import type { RecordedAction } from './recorded-action.js';

type OutcomeEvent = EventOf<
  'ActivityCompleted' | 'ActivityFailed' | 'TimerFired' | 'SubOrchestrationCompleted' | 'SubOrchestrationFailed'
>;
type ScheduleEvent = EventOf<
  | 'ActivityScheduled'
  | 'TimerCreated'
  | 'ExternalSubscribed'
  | 'ExternalSubscribedPersistent'
  | 'SubOrchestrationScheduled'
  | 'OrchestrationChained'
>;
type MetadataEvent = EventOf<'CustomStatusUpdated' | 'KeyValueSet' | 'KeyValueCleared' | 'KeyValuesCleared'>;

/** How failures name a metadata event that does not match. */
const METADATA_WORDS: Readonly<Record<MetadataEvent['kind'], string>> = {
  CustomStatusUpdated: 'custom status',
  KeyValueSet: 'kv set',
  KeyValueCleared: 'kv clear',
  KeyValuesCleared: 'kv clear_all',
};

/** What the walk learns beside its effects on the code. */
export interface WalkNotes {
  /** A positional event found no subscription, or one that the code has dropped already. */
  eventUnclaimed(name: string, isDelivered: boolean): void;
}

/** Whether an event stands for an action of the code. */
export function isActionEvent(event: HistoryEvent): event is ScheduleEvent | MetadataEvent {
  switch (event.kind) {
    case 'ActivityScheduled':
    case 'TimerCreated':
    case 'ExternalSubscribed':
    case 'ExternalSubscribedPersistent':
    case 'SubOrchestrationScheduled':
    case 'OrchestrationChained':
    case 'CustomStatusUpdated':
    case 'KeyValueSet':
    case 'KeyValueCleared':
    case 'KeyValuesCleared':
      return true;
    default:
      return false;
  }
}

/**
 * Leads the code through history: matches what it has emitted with what is recorded, and
 * makes ready what has come in (runtime.md 2.4). The caller polls the code whenever
 * `mustPoll` says so, before the next event.
 */
export class HistoryWalker {
  mustPoll = true;
  /**
   * Between the first event of an action and the next event of a message. A mailbox wait
   * that the code drops there keeps its place until its breadcrumb.
   */
  inScheduleRun = false;
  /** Bound tasks that an outcome may still come for, dropped ones included. */
  private readonly open = new Map<number, Task>();

  constructor(
    private readonly code: OrchestrationCode,
    private readonly notes: WalkNotes,
  ) {}

  apply(event: HistoryEvent): ErrorDetails | undefined {
    switch (event.kind) {
      case 'OrchestrationStarted':
        if (event.initialCustomStatus !== undefined) this.code.restoreCarriedStatus(event.initialCustomStatus);
        return undefined;
      case 'ActivityScheduled':
      case 'TimerCreated':
      case 'ExternalSubscribed':
      case 'ExternalSubscribedPersistent':
      case 'SubOrchestrationScheduled':
      case 'OrchestrationChained':
        return this.matchSchedule(event);
      case 'CustomStatusUpdated':
      case 'KeyValueSet':
      case 'KeyValueCleared':
      case 'KeyValuesCleared':
        return this.matchMetadata(event);
      case 'ActivityCompleted':
      case 'ActivityFailed':
      case 'TimerFired':
      case 'SubOrchestrationCompleted':
      case 'SubOrchestrationFailed':
        this.inScheduleRun = false;
        return this.resolve(event);
      case 'ExternalEvent':
        this.inScheduleRun = false;
        this.arrive(event);
        return undefined;
      case 'ExternalEventPersistent':
        this.inScheduleRun = false;
        this.code.mailboxes.arrive(event.name, event.data);
        this.mustPoll = true;
        return undefined;
      case 'ExternalSubscribedCancelled':
        if (event.sourceEventId !== null) this.code.positional.cancel(event.sourceEventId);
        return undefined;
      case 'ExternalSubscribedPersistentCancelled':
        if (event.sourceEventId !== null && this.code.mailboxes.cancel(event.sourceEventId)) this.mustPoll = true;
        return undefined;
      case 'OrchestrationCancelRequested':
        this.inScheduleRun = false;
        return undefined;
      default:
        return undefined; // cancellation requests and terminal events tell the code nothing
    }
  }

  /** Joins an action with the event that records it. */
  bind(action: RecordedAction, eventId: number): void {
    this.inScheduleRun = true;
    const { task, isReady } = this.code.bind(action, eventId);
    if (!task) return;
    if (task.kind === 'waitExternal') {
      // Native does not poll here, and then fails its own replay of a stale event that was
      // consumed in the turn of its subscription (runtime.md 2.4).
      if (isReady) this.mustPoll = true;
    } else if (task.kind === 'dequeueEvent') {
      this.mustPoll = true;
    } else {
      this.open.set(eventId, task);
    }
  }

  get retainedBytes(): number {
    return this.open.size * 48;
  }

  private matchSchedule(event: ScheduleEvent): ErrorDetails | undefined {
    const action = this.code.actions.shift();
    if (!action) {
      const what = event.kind === 'OrchestrationChained' ? event.kind : 'schedule';
      return nondeterminism(`history ${what} but no emitted action`);
    }
    if (!sameDecision(action.action, event)) return mismatch('schedule', action, event);
    this.bind(action, event.eventId);
    return undefined;
  }

  /** A metadata event whose action the code does not emit is tolerated, as in native. */
  private matchMetadata(event: MetadataEvent): ErrorDetails | undefined {
    this.inScheduleRun = true;
    const action = this.code.actions.shift();
    if (!action || sameDecision(action.action, event)) return undefined;
    return mismatch(METADATA_WORDS[event.kind], action, event);
  }

  private resolve(event: OutcomeEvent): ErrorDetails | undefined {
    const source = event.sourceEventId;
    if (source === null) return undefined;
    const task = this.open.get(source);
    if (!task) return nondeterminism('completion without open schedule');
    if (event.kind === 'ActivityCompleted' && task.kind !== 'scheduleActivity') {
      return nondeterminism('completion kind mismatch: expected activity');
    }
    this.open.delete(source);
    switch (event.kind) {
      case 'ActivityCompleted':
      case 'SubOrchestrationCompleted':
        this.code.resolve(task, event.result, false);
        break;
      case 'TimerFired':
        this.code.resolve(task, null, false);
        break;
      case 'ActivityFailed':
      case 'SubOrchestrationFailed':
        this.code.resolve(task, displayErrorDetails(event.details), true, failureOf(event.details));
        break;
    }
    this.mustPoll = true;
    return undefined;
  }

  /** No buffering: an event that finds nobody waiting stays in history and reaches nobody. */
  private arrive({ name, data }: EventOf<'ExternalEvent'>): void {
    const { positional } = this.code;
    if (!positional.hasFreeSlot(name)) {
      this.notes.eventUnclaimed(name, false);
      return;
    }
    if (positional.hasDropped(name)) this.notes.eventUnclaimed(name, true);
    positional.arrive(name, data);
    this.mustPoll = true;
  }
}

function mismatch(what: string, action: RecordedAction, event: HistoryEvent): ErrorDetails {
  return nondeterminism(`${what} mismatch: action=${debugAction(action)} vs event=${debugEvent(event)}`);
}
