import { assertNever } from '../../base/assert-never.js';
import type { EventBody } from '../../wire/event.js';
import type { RecordedAction } from './recorded-action.js';

/**
 * Texts of nondeterminism failures, in native's (Rust's) debug notation, so that people
 * who compare the failures of a mixed fleet find the same words. Long payloads are cut:
 * the text is for a reader and is stored in the history.
 */
const MAX_TEXT_CHARACTERS = 200;

/** What the code wanted to do. Ids are 0 because an unmatched action has none yet. */
export function debugAction({ action, fireAtMs, stampMs }: RecordedAction): string {
  switch (action.kind) {
    case 'scheduleActivity':
      return struct('CallActivity', [
        ['scheduling_event_id', '0'],
        ['name', text(action.name)],
        ['input', text(action.input)],
        ['session_id', option(action.sessionId)],
        ['tag', option(action.tag)],
      ]);
    case 'createTimer':
      return struct('CreateTimer', [
        ['scheduling_event_id', '0'],
        ['fire_at_ms', String(fireAtMs)],
      ]);
    case 'waitExternal':
      return struct('WaitExternal', [
        ['scheduling_event_id', '0'],
        ['name', text(action.name)],
      ]);
    case 'dequeueEvent':
      return struct('DequeueEvent', [
        ['scheduling_event_id', '0'],
        ['name', text(action.name)],
      ]);
    case 'startSubOrchestration':
    case 'startDetached':
      return struct(action.kind === 'startDetached' ? 'StartOrchestrationDetached' : 'StartSubOrchestration', [
        ['scheduling_event_id', '0'],
        ['name', text(action.name)],
        ['version', option(action.version)],
        ['instance', text(action.instance ?? 'sub::pending')],
        ['input', text(action.input)],
      ]);
    case 'continueAsNew':
      return struct('ContinueAsNew', [
        ['input', text(action.input)],
        ['version', option(action.version)],
      ]);
    case 'updateCustomStatus':
      return struct('UpdateCustomStatus', [['status', option(action.status)]]);
    case 'setKeyValue':
      return struct('SetKeyValue', [
        ['key', text(action.key)],
        ['value', text(action.value)],
        ['last_updated_at_ms', String(stampMs)],
      ]);
    case 'clearKeyValue':
      return struct('ClearKeyValue', [['key', text(action.key)]]);
    case 'clearKeyValues':
      return 'ClearKeyValues';
    default:
      return assertNever(action, 'action');
  }
}

/** What history recorded, for the kinds of events that stand for an action. */
export function debugEvent(event: EventBody): string {
  switch (event.kind) {
    case 'ActivityScheduled':
      return struct('ActivityScheduled', [
        ['name', text(event.name)],
        ['input', text(event.input)],
        ['session_id', option(event.sessionId)],
        ['tag', option(event.tag)],
      ]);
    case 'TimerCreated':
      return struct('TimerCreated', [['fire_at_ms', String(event.fireAtMs)]]);
    case 'ExternalSubscribed':
      return struct('ExternalSubscribed', [['name', text(event.name)]]);
    case 'ExternalSubscribedPersistent':
      return struct('QueueSubscribed', [['name', text(event.name)]]);
    case 'SubOrchestrationScheduled':
    case 'OrchestrationChained':
      return struct(event.kind, [
        ['name', text(event.name)],
        ['instance', text(event.instance)],
        ['input', text(event.input)],
      ]);
    case 'CustomStatusUpdated':
      return struct('CustomStatusUpdated', [['status', option(event.status)]]);
    case 'KeyValueSet':
      return struct('KeyValueSet', [
        ['key', text(event.key)],
        ['value', text(event.value)],
        ['last_updated_at_ms', String(event.lastUpdatedAtMs)],
      ]);
    case 'KeyValueCleared':
      return struct('KeyValueCleared', [['key', text(event.key)]]);
    default:
      return event.kind;
  }
}

/** A set of ids, ascending: `{2, 5}`. */
export function debugIds(ids: Iterable<number>): string {
  return `{${[...ids].sort((a, b) => a - b).join(', ')}}`;
}

function struct(name: string, fields: readonly (readonly [string, string])[]): string {
  return `${name} { ${fields.map(([field, value]) => `${field}: ${value}`).join(', ')} }`;
}

function option(value: string | null | undefined): string {
  return value === null || value === undefined ? 'None' : `Some(${text(value)})`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\0': '\\0',
};

function text(value: string): string {
  const shown = value.length > MAX_TEXT_CHARACTERS ? `${value.slice(0, MAX_TEXT_CHARACTERS)}…` : value;
  // Control, format and unassigned characters print as \u{…} in Rust; unpaired surrogates cannot exist there.
  const escaped = shown.toWellFormed().replace(/["\\]|[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zl}\p{Zp}]/gu, (character) => {
    return ESCAPES[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
  return `"${escaped}"`;
}
