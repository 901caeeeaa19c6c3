import { assertNever } from '../base/assert-never.js';
import { errorDetailsToJson } from '../wire/error-details.js';
import type { HistoryEvent } from '../wire/event.js';

/** An event as `readExecutionHistory` shows it. */
export interface ExecutionHistoryEvent {
  eventId: number;
  kind: string;
  /** The event that scheduled what this one ends or cancels. */
  sourceEventId?: number;
  timestampMs: number;
  /** What is interesting about it, usually as JSON text; payloads are embedded, not quoted. */
  data?: string;
}

export function viewEvent(event: HistoryEvent): ExecutionHistoryEvent {
  const data = dataOf(event);
  return {
    eventId: event.eventId,
    kind: nameOf(event),
    ...(event.sourceEventId === null ? {} : { sourceEventId: event.sourceEventId }),
    timestampMs: event.timestampMs,
    ...(data === undefined ? {} : { data }),
  };
}

function nameOf(event: HistoryEvent): string {
  switch (event.kind) {
    case 'ExternalSubscribedPersistent':
      return 'QueueSubscribed';
    case 'ExternalEventPersistent':
      return 'QueueEventDelivered';
    case 'ExternalSubscribedPersistentCancelled':
      return 'QueueSubscriptionCancelled';
    default:
      return event.kind;
  }
}

function dataOf(event: HistoryEvent): string | undefined {
  switch (event.kind) {
    case 'OrchestrationStarted':
      return object({ name: text(event.name), version: text(event.version), input: embedded(event.input) });
    case 'OrchestrationCompleted':
      return event.output;
    case 'OrchestrationFailed':
    case 'ActivityFailed':
    case 'SubOrchestrationFailed':
      return JSON.stringify(errorDetailsToJson(event.details));
    case 'ActivityScheduled':
      return object({ name: text(event.name), input: embedded(event.input) });
    case 'ActivityCompleted':
    case 'SubOrchestrationCompleted':
      return event.result;
    case 'TimerCreated':
    case 'TimerFired':
      return object({ fireAtMs: String(event.fireAtMs) });
    case 'ExternalSubscribed':
    case 'ExternalSubscribedPersistent':
      return object({ name: text(event.name) });
    case 'ExternalEvent':
    case 'ExternalEventPersistent':
      return object({ name: text(event.name), data: embedded(event.data) });
    case 'SubOrchestrationScheduled':
      return object({ name: text(event.name), instance: text(event.instance), input: embedded(event.input) });
    case 'ExternalSubscribedPersistentCancelled':
      return object({ reason: text(event.reason) });
    case 'OrchestrationContinuedAsNew':
    case 'OrchestrationChained':
    case 'OrchestrationCancelRequested':
    case 'ActivityCancelRequested':
    case 'SubOrchestrationCancelRequested':
    case 'ExternalSubscribedCancelled':
    case 'CustomStatusUpdated':
    case 'KeyValueSet':
    case 'KeyValueCleared':
    case 'KeyValuesCleared':
      return undefined;
    default:
      return assertNever(event, 'event');
  }
}

function object(fields: Record<string, string>): string {
  return `{${Object.entries(fields)
    .map(([key, json]) => `${text(key)}:${json}`)
    .join(',')}}`;
}

function text(value: string): string {
  return JSON.stringify(value);
}

/** A payload as it stands; one that is no JSON (of another SDK) as a string, an empty one as `null`. */
function embedded(payload: string): string {
  if (payload === '') return 'null';
  try {
    JSON.parse(payload);
    return payload;
  } catch {
    return text(payload);
  }
}
