import type { EventOf, HistoryEvent } from '../../wire/event.js';
import { childId } from './child-id.js';
import type { LaneKind, LaneView, Outcome, SegmentView, TimelineView } from '../views.js';

/** Lanes that a page can show; of more the latest are shown. */
const MAX_LANES = 300;

interface Lane extends LaneView {
  readonly segments: Segment[];
}
type Segment = { -readonly [K in keyof SegmentView]: SegmentView[K] };

/**
 * What one execution did, as bars: a lane per activity with all its attempts, per timer,
 * wait and child. Pure: the same history gives the same lanes.
 */
export function timelineOf(events: readonly HistoryEvent[]): TimelineView {
  const reader = new TimelineReader();
  for (const event of events) reader.read(event);
  return reader.view();
}

class TimelineReader {
  private readonly lanes: Lane[] = [];
  /** Segments without an end, by the event that opened them. */
  private readonly open = new Map<number, Segment>();
  private readonly waits = { event: new Waits(), queue: new Waits() };
  /** Lanes of activities whose last attempt failed, by what would be tried again. */
  private readonly failed = new Map<string, Lane[]>();
  private readonly activityOf = new Map<number, { readonly key: string; readonly lane: Lane }>();
  private fromMs: number | undefined;
  private toMs: number | null = null;

  read(event: HistoryEvent): void {
    const { eventId: id, timestampMs: atMs } = event;
    this.fromMs ??= atMs;
    switch (event.kind) {
      case 'ActivityScheduled':
        return this.beginActivity(event);
      case 'ActivityCompleted':
      case 'SubOrchestrationCompleted':
      case 'TimerFired':
        return this.end(event, 'ok');
      case 'ActivityFailed':
        this.noteFailure(event.sourceEventId);
        return this.end(event, 'failed');
      case 'SubOrchestrationFailed':
        return this.end(event, 'failed');
      case 'ActivityCancelRequested':
      case 'SubOrchestrationCancelRequested':
        return this.end(event, 'cancelled');
      case 'TimerCreated':
        return this.begin(id, this.addLane('timer', 'Timer', { fireAtMs: event.fireAtMs }), atMs);
      case 'SubOrchestrationScheduled':
        return this.begin(id, this.addLane('child', event.name, { child: childId(event) }), atMs);
      case 'OrchestrationChained':
        this.begin(id, this.addLane('detached', event.name, { child: event.instance }), atMs);
        return this.close(id, atMs, 'ok', null); // nobody waits for it
      case 'ExternalSubscribed':
        return this.beginWait(event, 'event');
      case 'ExternalSubscribedPersistent':
        return this.beginWait(event, 'queue');
      case 'ExternalEvent':
        return this.endOldest(event, 'event');
      case 'ExternalEventPersistent':
        return this.endOldest(event, 'queue');
      case 'ExternalSubscribedCancelled':
        this.waits.event.remove(event.sourceEventId);
        return this.end(event, 'cancelled');
      case 'ExternalSubscribedPersistentCancelled':
        this.waits.queue.remove(event.sourceEventId);
        return this.end(event, 'cancelled');
      case 'OrchestrationCompleted':
      case 'OrchestrationFailed':
      case 'OrchestrationContinuedAsNew':
        this.toMs = atMs;
        return;
      default:
        return;
    }
  }

  view(): TimelineView {
    const { toMs } = this;
    // What nobody waited for any more when the execution ended.
    if (toMs !== null) for (const id of [...this.open.keys()]) this.close(id, toMs, 'cancelled', null);
    const omitted = Math.max(0, this.lanes.length - MAX_LANES);
    return { fromMs: this.fromMs ?? 0, toMs, lanes: this.lanes.slice(omitted), omitted };
  }

  private addLane(kind: LaneKind, label: string, more: Partial<Pick<Lane, 'child' | 'fireAtMs'>> = {}): Lane {
    const lane: Lane = { kind, label, child: null, fireAtMs: null, segments: [], ...more };
    this.lanes.push(lane);
    return lane;
  }

  /** An attempt of the same activity with the same input after one that failed belongs to its lane. */
  private beginActivity(event: EventOf<'ActivityScheduled'>): void {
    const key = JSON.stringify([event.name, event.input, event.sessionId, event.tag]);
    const lane = this.failed.get(key)?.shift() ?? this.addLane('activity', event.name);
    this.activityOf.set(event.eventId, { key, lane });
    this.begin(event.eventId, lane, event.timestampMs);
  }

  private noteFailure(source: number | null): void {
    const activity = source === null ? undefined : this.activityOf.get(source);
    if (activity === undefined) return;
    const lanes = this.failed.get(activity.key);
    if (lanes) lanes.push(activity.lane);
    else this.failed.set(activity.key, [activity.lane]);
  }

  private begin(eventId: number, lane: Lane, fromMs: number): void {
    const segment: Segment = { fromMs, toMs: null, outcome: 'open', eventId, endEventId: null };
    lane.segments.push(segment);
    this.open.set(eventId, segment);
  }

  private end(event: HistoryEvent, outcome: Outcome): void {
    if (event.sourceEventId !== null) this.close(event.sourceEventId, event.timestampMs, outcome, event.eventId);
  }

  private beginWait(
    event: EventOf<'ExternalSubscribed' | 'ExternalSubscribedPersistent'>,
    kind: 'event' | 'queue',
  ): void {
    const { eventId, timestampMs, name } = event;
    this.begin(eventId, this.addLane(kind, name), timestampMs);
    const early = this.waits[kind].add(name, eventId);
    if (early !== undefined) this.close(eventId, timestampMs, 'ok', early);
  }

  private endOldest(event: EventOf<'ExternalEvent' | 'ExternalEventPersistent'>, kind: 'event' | 'queue'): void {
    const id = this.waits[kind].satisfy(event.name, event.eventId, kind === 'queue');
    if (id !== undefined) this.close(id, event.timestampMs, 'ok', event.eventId);
  }

  private close(id: number, toMs: number, outcome: Outcome, endEventId: number | null): void {
    const segment = this.open.get(id);
    if (!segment) return;
    this.open.delete(id);
    Object.assign(segment, { toMs, outcome, endEventId } satisfies Partial<Segment>);
  }
}

/** Waits by name: an arrival is for the one that has waited longest. */
class Waits {
  private readonly names = new Map<string, { readonly waiting: number[]; early: number[] }>();
  private readonly nameOf = new Map<number, string>();

  /** Notes a wait; the id of the arrival that was there already, if one was. */
  add(name: string, id: number): number | undefined {
    const state = this.of(name);
    const early = state.early.shift();
    if (early !== undefined) return early;
    this.nameOf.set(id, name);
    state.waiting.push(id);
    return undefined;
  }

  /** The wait that the arrival ends; without one, the arrival stays for the next if `keep` is set. */
  satisfy(name: string, arrival: number, keep: boolean): number | undefined {
    const state = this.of(name);
    const id = state.waiting.shift();
    if (id === undefined && keep) state.early.push(arrival);
    return id;
  }

  remove(id: number | null): void {
    const name = id === null ? undefined : this.nameOf.get(id);
    if (id === null || name === undefined) return;
    const { waiting } = this.of(name);
    const at = waiting.indexOf(id);
    if (at >= 0) waiting.splice(at, 1);
  }

  private of(name: string) {
    let state = this.names.get(name);
    if (!state) this.names.set(name, (state = { waiting: [], early: [] }));
    return state;
  }
}
