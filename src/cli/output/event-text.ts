import { assertNever } from '../../base/assert-never.js';
import { displayErrorDetails } from '../../wire/error-details.js';
import type { HistoryEvent } from '../../wire/event.js';
import { durationText, momentText, payloadText, withoutControls } from './text.js';

/** An event as a line for people: what it is, and the payload that it carries. */
export function eventText(event: HistoryEvent, payloadLength: number): string {
  const [name, payload] = nameAndPayload(event);
  const source = event.sourceEventId === null ? '' : ` ← ${event.sourceEventId}`;
  const shown = payload === '' ? '' : `  ${payloadText(payload, payloadLength)}`;
  return `${event.kind}${source}${name === '' ? '' : `  ${withoutControls(name)}`}${shown}`;
}

function nameAndPayload(event: HistoryEvent): readonly [name: string, payload: string] {
  switch (event.kind) {
    case 'OrchestrationStarted':
      return [`${event.name} ${event.version}`, event.input];
    case 'OrchestrationCompleted':
      return ['', event.output];
    case 'OrchestrationFailed':
    case 'ActivityFailed':
    case 'SubOrchestrationFailed':
      return ['', displayErrorDetails(event.details)];
    case 'OrchestrationContinuedAsNew':
      return ['', event.input];
    case 'OrchestrationChained':
    case 'SubOrchestrationScheduled':
      return [`${event.name} as ${event.instance}`, event.input];
    case 'ActivityScheduled':
      return [`${event.name}${event.tag === undefined ? '' : ` [${event.tag}]`}`, event.input];
    case 'ActivityCompleted':
    case 'SubOrchestrationCompleted':
      return ['', event.result];
    case 'TimerCreated':
      return [`until ${momentText(event.fireAtMs)} (${durationText(event.fireAtMs - event.timestampMs)})`, ''];
    case 'TimerFired':
      return [`of ${momentText(event.fireAtMs)}`, ''];
    case 'ExternalSubscribed':
    case 'ExternalSubscribedPersistent':
      return [event.name, ''];
    case 'ExternalEvent':
    case 'ExternalEventPersistent':
      return [event.name, event.data];
    case 'OrchestrationCancelRequested':
    case 'ActivityCancelRequested':
    case 'SubOrchestrationCancelRequested':
    case 'ExternalSubscribedCancelled':
    case 'ExternalSubscribedPersistentCancelled':
      return ['', event.reason];
    case 'CustomStatusUpdated':
      return ['', event.status ?? '(cleared)'];
    case 'KeyValueSet':
      return [event.key, event.value];
    case 'KeyValueCleared':
      return [event.key, ''];
    case 'KeyValuesCleared':
      return ['', ''];
    default:
      return assertNever(event, 'event');
  }
}
