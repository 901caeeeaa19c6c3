import { assertNever } from '../../base/assert-never.js';
import type { Action } from '../../runtime/replay/action.js';
import type { HistoryEvent } from '../../wire/event.js';

/** One decision of an orchestration in words, such as `call activity 'charge' with {"amount":5}`. */
export type DecisionText = string;

/** Texts in reports are cut: a report is for a reader. */
const MAX_CHARACTERS = 300;

/** What history recorded at a place. */
export function recordedDecision(event: HistoryEvent): DecisionText {
  switch (event.kind) {
    case 'ActivityScheduled':
      return activity(event);
    case 'TimerCreated':
      return 'start a timer';
    case 'ExternalSubscribed':
      return `wait for event '${event.name}'`;
    case 'ExternalSubscribedPersistent':
      return `wait for a message of queue '${event.name}'`;
    case 'SubOrchestrationScheduled':
      return `call orchestration '${event.name}' with ${shown(event.input)}`;
    case 'OrchestrationChained':
      return `start orchestration '${event.name}' as '${event.instance}' with ${shown(event.input)}`;
    case 'CustomStatusUpdated':
      return 'set the custom status';
    case 'KeyValueSet':
      return `set key '${event.key}' to ${shown(event.value)}`;
    case 'KeyValueCleared':
      return `clear key '${event.key}'`;
    case 'KeyValuesCleared':
      return 'clear all keys';
    case 'OrchestrationCompleted':
      return `return ${shown(event.output)}`;
    case 'OrchestrationContinuedAsNew':
      return `continue as new with ${shown(event.input)}`;
    case 'ActivityCancelRequested':
    case 'SubOrchestrationCancelRequested':
    case 'ExternalSubscribedCancelled':
    case 'ExternalSubscribedPersistentCancelled':
      return `give up what event ${event.sourceEventId ?? '?'} began`;
    case 'OrchestrationFailed':
      return 'fail';
    case 'OrchestrationStarted':
    case 'OrchestrationCancelRequested':
    case 'ActivityCompleted':
    case 'ActivityFailed':
    case 'SubOrchestrationCompleted':
    case 'SubOrchestrationFailed':
    case 'TimerFired':
    case 'ExternalEvent':
    case 'ExternalEventPersistent':
      return `wait for what event ${event.sourceEventId ?? '?'} began (${event.kind})`;
    default:
      return assertNever(event, 'event');
  }
}

/** What the code wants at a place. */
export function decisionOf(action: Action): DecisionText {
  switch (action.kind) {
    case 'scheduleActivity':
      return activity(action);
    case 'createTimer':
      return 'start a timer';
    case 'waitExternal':
      return `wait for event '${action.name}'`;
    case 'dequeueEvent':
      return `wait for a message of queue '${action.name}'`;
    case 'startSubOrchestration':
      return `call orchestration '${action.name}' with ${shown(action.input)}`;
    case 'startDetached':
      return `start orchestration '${action.name}' as '${action.instance}' with ${shown(action.input)}`;
    case 'continueAsNew':
      return `continue as new with ${shown(action.input)}`;
    case 'updateCustomStatus':
      return 'set the custom status';
    case 'setKeyValue':
      return `set key '${action.key}' to ${shown(action.value)}`;
    case 'clearKeyValue':
      return `clear key '${action.key}'`;
    case 'clearKeyValues':
      return 'clear all keys';
    default:
      return assertNever(action, 'action');
  }
}

/** A payload in a report of a test: it is the test author's own. */
export function shown(payload: string): string {
  return payload.length > MAX_CHARACTERS ? `${payload.slice(0, MAX_CHARACTERS)}…` : payload;
}

function activity(call: {
  readonly name: string;
  readonly input: string;
  readonly tag?: string | undefined;
  readonly sessionId?: string | undefined;
}): string {
  const where = [
    ...(call.tag === undefined ? [] : [` with tag '${call.tag}'`]),
    ...(call.sessionId === undefined ? [] : [` in session '${call.sessionId}'`]),
  ];
  return `call activity '${call.name}' with ${shown(call.input)}${where.join('')}`;
}
