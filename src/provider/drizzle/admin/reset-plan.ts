import type { EventOf, HistoryEvent } from '../../../wire/event.js';
import type { WorkItem } from '../../../wire/work-item.js';

/** A child that the kept history waits for. */
export interface AwaitedChild {
  readonly scheduled: EventOf<'SubOrchestrationScheduled'>;
  /** The id under which it runs; history holds derived ids relative to the parent. */
  readonly instance: string;
}

/** What an instance needs, to go on from one of its events. */
export interface ResetPlan {
  readonly archived: readonly HistoryEvent[];
  readonly kept: readonly HistoryEvent[];
  readonly activities: readonly WorkItem[];
  readonly timers: readonly WorkItem[];
  readonly children: readonly AwaitedChild[];
  /** Events and queue messages that happened after: they are delivered again, or they were lost. */
  readonly messages: readonly WorkItem[];
  /** Wakes the instance: nothing else may be left to do it. A second start changes nothing but that (runtime.md 1.4). */
  readonly wake: WorkItem;
}

/** @returns a reason when the history does not allow it */
export function planReset(history: readonly HistoryEvent[], toEventId: number): ResetPlan | { readonly refusal: string } {
  const [start] = history;
  if (start?.kind !== 'OrchestrationStarted') return { refusal: 'its history does not begin with its start' };
  if (!history.some(({ eventId }) => eventId === toEventId)) {
    const last = history.at(-1)?.eventId ?? 0;
    return { refusal: `event ${toEventId} is not in its current execution, whose events are 1 to ${last}` };
  }
  const kept = history.filter(({ eventId }) => eventId <= toEventId);
  const archived = history.filter(({ eventId }) => eventId > toEventId);
  if (archived.length === 0) return { refusal: `event ${toEventId} is its last one: nothing would be taken back` };
  const end = kept.find(({ kind }) => kind === 'OrchestrationFailed');
  if (end) return { refusal: `event ${toEventId} is not before its failure, which is event ${end.eventId}` };
  if (kept.some(({ kind }) => kind === 'OrchestrationCancelRequested')) {
    return { refusal: `it was cancelled before event ${toEventId}: it would be cancelled again` };
  }
  // A step that was given up has no outcome and wants none.
  const settled = new Set(kept.map(({ sourceEventId }) => sourceEventId));
  const open = kept.filter(({ eventId }) => !settled.has(eventId));
  const { instanceId: instance, executionId } = start;
  return {
    kept,
    archived,
    activities: open.flatMap((event) => (event.kind === 'ActivityScheduled' ? [execute(event)] : [])),
    timers: open.flatMap((event) => (event.kind === 'TimerCreated' ? [fired(event)] : [])),
    children: open.flatMap((event) =>
      event.kind === 'SubOrchestrationScheduled' ? [{ scheduled: event, instance: childId(event) }] : [],
    ),
    messages: archived.flatMap(delivered),
    wake: {
      kind: 'StartOrchestration',
      instance,
      orchestration: start.name,
      input: start.input,
      version: start.version,
      parentInstance: start.parentInstance,
      parentId: start.parentId,
      ...(start.parentExecutionId === undefined ? {} : { parentExecutionId: start.parentExecutionId }),
      executionId,
    },
  };
}

/** The start of a child that was scheduled and has never run. Which version it was to have, history does not say. */
export function childStart({ scheduled, instance }: AwaitedChild): WorkItem {
  return {
    kind: 'StartOrchestration',
    instance,
    orchestration: scheduled.name,
    input: scheduled.input,
    version: null,
    parentInstance: scheduled.instanceId,
    parentId: scheduled.eventId,
    parentExecutionId: scheduled.executionId,
    executionId: 1,
  };
}

/** The result of a child that ended while nobody listened. */
export function childCompleted({ scheduled }: AwaitedChild, result: string): WorkItem {
  return {
    kind: 'SubOrchCompleted',
    parentInstance: scheduled.instanceId,
    parentExecutionId: scheduled.executionId,
    parentId: scheduled.eventId,
    result,
  };
}

function childId({ instanceId, instance }: EventOf<'SubOrchestrationScheduled'>): string {
  return instance.startsWith('sub::') ? `${instanceId}::${instance}` : instance;
}

function execute(event: EventOf<'ActivityScheduled'>): WorkItem {
  return {
    kind: 'ActivityExecute',
    instance: event.instanceId,
    executionId: event.executionId,
    id: event.eventId,
    name: event.name,
    input: event.input,
    ...(event.sessionId === undefined ? {} : { sessionId: event.sessionId }),
    ...(event.tag === undefined ? {} : { tag: event.tag }),
  };
}

function fired({ instanceId, executionId, eventId, fireAtMs }: EventOf<'TimerCreated'>): WorkItem {
  return { kind: 'TimerFired', instance: instanceId, executionId, id: eventId, fireAtMs };
}

function delivered(event: HistoryEvent): WorkItem[] {
  const { instanceId: instance } = event;
  if (event.kind === 'ExternalEvent') return [{ kind: 'ExternalRaised', instance, name: event.name, data: event.data }];
  if (event.kind === 'ExternalEventPersistent') {
    return [{ kind: 'QueueMessage', instance, name: event.name, data: event.data }];
  }
  return [];
}
