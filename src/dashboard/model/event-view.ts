import { assertNever } from '../../base/assert-never.js';
import type { ErrorDetails } from '../../wire/error-details.js';
import { displayErrorDetails } from '../../wire/error-details.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { EventView } from '../views.js';
import { childId } from './child-id.js';
import { payloadView } from './payload-view.js';

/** What an event is about, and the payloads that it carries. */
interface Content {
  readonly subject?: string | undefined;
  readonly child?: string | undefined;
  readonly fireAtMs?: number | undefined;
  /** Whole texts by field. */
  readonly payloads?: Readonly<Record<string, string>>;
}

/** An event as the page shows it, with long payloads cut. */
export function eventView(event: HistoryEvent): EventView {
  const { subject, child, fireAtMs, payloads = {} } = contentOf(event);
  return {
    eventId: event.eventId,
    kind: event.kind,
    atMs: event.timestampMs,
    source: event.sourceEventId,
    subject: subject ?? null,
    child: child ?? null,
    fireAtMs: fireAtMs ?? null,
    payloads: Object.entries(payloads).map(([field, text]) => payloadView(field, text)),
  };
}

/** A payload of an event, whole; `undefined` where it has none of that name. */
export function payloadOf(event: HistoryEvent, field: string): string | undefined {
  const { payloads = {} } = contentOf(event);
  return Object.hasOwn(payloads, field) ? payloads[field] : undefined;
}

function contentOf(event: HistoryEvent): Content {
  switch (event.kind) {
    case 'OrchestrationStarted':
      return { subject: `${event.name}@${event.version}`, payloads: { input: event.input } };
    case 'OrchestrationCompleted':
      return { payloads: { output: event.output } };
    case 'OrchestrationFailed':
    case 'ActivityFailed':
    case 'SubOrchestrationFailed':
      return { payloads: failure(event.details) };
    case 'OrchestrationContinuedAsNew':
      return { payloads: { input: event.input } };
    case 'OrchestrationCancelRequested':
    case 'ActivityCancelRequested':
    case 'SubOrchestrationCancelRequested':
    case 'ExternalSubscribedCancelled':
    case 'ExternalSubscribedPersistentCancelled':
      return { payloads: { reason: event.reason } };
    case 'OrchestrationChained':
      return { subject: event.name, child: event.instance, payloads: { input: event.input } };
    case 'SubOrchestrationScheduled':
      return { subject: event.name, child: childId(event), payloads: { input: event.input } };
    case 'ActivityScheduled':
      return { subject: event.name, payloads: { input: event.input } };
    case 'ActivityCompleted':
    case 'SubOrchestrationCompleted':
      return { payloads: { result: event.result } };
    case 'TimerCreated':
    case 'TimerFired':
      return { fireAtMs: event.fireAtMs };
    case 'ExternalSubscribed':
    case 'ExternalSubscribedPersistent':
      return { subject: event.name };
    case 'ExternalEvent':
    case 'ExternalEventPersistent':
      return { subject: event.name, payloads: { data: event.data } };
    case 'CustomStatusUpdated':
      return event.status === null ? { subject: 'cleared' } : { payloads: { status: event.status } };
    case 'KeyValueSet':
      return { subject: event.key, payloads: { value: event.value } };
    case 'KeyValueCleared':
      return { subject: event.key };
    case 'KeyValuesCleared':
      return {};
    default:
      return assertNever(event, 'event');
  }
}

function failure(details: ErrorDetails): Readonly<Record<string, string>> {
  return { error: displayErrorDetails(details) };
}
