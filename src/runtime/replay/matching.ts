import { assertNever } from '../../base/assert-never.js';
import type { EventBody } from '../../wire/event.js';
import type { Action } from './action.js';

/**
 * Is this decision the one that history recorded? Deadlines, time stamps, custom status
 * texts, and the instance and version of a child are not compared (runtime.md 2.1): there
 * the record wins.
 */
export function sameDecision(action: Action, recorded: EventBody): boolean {
  switch (action.kind) {
    case 'scheduleActivity':
      return (
        recorded.kind === 'ActivityScheduled' &&
        recorded.name === action.name &&
        recorded.input === action.input &&
        recorded.sessionId === action.sessionId &&
        recorded.tag === action.tag
      );
    case 'createTimer':
      return recorded.kind === 'TimerCreated';
    case 'waitExternal':
      return recorded.kind === 'ExternalSubscribed' && recorded.name === action.name;
    case 'dequeueEvent':
      return recorded.kind === 'ExternalSubscribedPersistent' && recorded.name === action.name;
    case 'startSubOrchestration':
      return (
        recorded.kind === 'SubOrchestrationScheduled' &&
        recorded.name === action.name &&
        recorded.input === action.input
      );
    case 'startDetached':
      return (
        recorded.kind === 'OrchestrationChained' &&
        recorded.name === action.name &&
        recorded.instance === action.instance &&
        recorded.input === action.input
      );
    case 'continueAsNew':
      return false; // it has no event of its own: the execution ends instead
    case 'updateCustomStatus':
      return recorded.kind === 'CustomStatusUpdated';
    case 'setKeyValue':
      return recorded.kind === 'KeyValueSet' && recorded.key === action.key && recorded.value === action.value;
    case 'clearKeyValue':
      return recorded.kind === 'KeyValueCleared' && recorded.key === action.key;
    case 'clearKeyValues':
      return recorded.kind === 'KeyValuesCleared';
    default:
      return assertNever(action, 'action');
  }
}
