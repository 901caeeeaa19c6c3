import { assertNever } from '../base/assert-never.js';
import { toStorable } from '../base/text.js';
import type { ErrorDetails } from './error-details.js';
import { errorDetailsFromJson, errorDetailsToJson } from './error-details.js';
import type { JsonObject } from './json-reader.js';
import {
  parseJson,
  present,
  readInteger,
  readOptionalInteger,
  readOptionalString,
  readPairs,
  readString,
  readTagged,
} from './json-reader.js';
import { WireError } from './wire-error.js';

/** The eleven kinds of queue messages (provider.md 2.2). Payloads are opaque texts. */
export type WorkItem =
  | {
      readonly kind: 'StartOrchestration';
      readonly instance: string;
      readonly orchestration: string;
      readonly input: string;
      readonly version: string | null;
      readonly parentInstance: string | null;
      readonly parentId: number | null;
      readonly parentExecutionId?: number | undefined;
      readonly executionId: number;
      /** W3C `traceparent`: our one field that native does not know; it drops it when it writes. */
      readonly trace?: string | undefined;
    }
  | {
      readonly kind: 'ActivityExecute';
      readonly instance: string;
      readonly executionId: number;
      readonly id: number;
      readonly name: string;
      readonly input: string;
      readonly sessionId?: string | undefined;
      readonly tag?: string | undefined;
      /** As in `StartOrchestration`. */
      readonly trace?: string | undefined;
    }
  | {
      readonly kind: 'ActivityCompleted';
      readonly instance: string;
      readonly executionId: number;
      readonly id: number;
      readonly result: string;
    }
  | {
      readonly kind: 'ActivityFailed';
      readonly instance: string;
      readonly executionId: number;
      readonly id: number;
      readonly details: ErrorDetails;
    }
  | {
      readonly kind: 'TimerFired';
      readonly instance: string;
      readonly executionId: number;
      readonly id: number;
      readonly fireAtMs: number;
    }
  | { readonly kind: 'ExternalRaised'; readonly instance: string; readonly name: string; readonly data: string }
  | { readonly kind: 'QueueMessage'; readonly instance: string; readonly name: string; readonly data: string }
  | { readonly kind: 'CancelInstance'; readonly instance: string; readonly reason: string }
  | {
      readonly kind: 'SubOrchCompleted';
      readonly parentInstance: string;
      /** Absent in records of old natives; then the parent's current execution is meant. */
      readonly parentExecutionId?: number | undefined;
      readonly parentId: number;
      readonly result: string;
    }
  | {
      readonly kind: 'SubOrchFailed';
      readonly parentInstance: string;
      /** As in `SubOrchCompleted`. */
      readonly parentExecutionId?: number | undefined;
      readonly parentId: number;
      readonly details: ErrorDetails;
    }
  | {
      readonly kind: 'ContinueAsNew';
      readonly instance: string;
      readonly orchestration: string;
      readonly input: string;
      readonly version: string | null;
      readonly carryForwardEvents: readonly (readonly [string, string])[];
      readonly initialCustomStatus?: string | undefined;
      readonly parentInstance?: string | undefined;
      readonly parentId?: number | undefined;
      readonly parentExecutionId?: number | undefined;
    };

export type WorkItemKind = WorkItem['kind'];

/** One kind of work item. */
export type WorkItemOf<K extends WorkItemKind> = Extract<WorkItem, { kind: K }>;

/** The instance whose queue a message goes to (provider.md 2.6). */
export function targetInstance(item: WorkItem): string {
  return item.kind === 'SubOrchCompleted' || item.kind === 'SubOrchFailed' ? item.parentInstance : item.instance;
}

/** The stored text of a work item: compact JSON, fields in declaration order. */
export function encodeWorkItem(item: WorkItem): string {
  return JSON.stringify({ [item.kind]: bodyToJson(item) });
}

function bodyToJson(item: WorkItem): JsonObject {
  // `undefined` fields are left out by JSON.stringify, as native leaves them out.
  switch (item.kind) {
    case 'StartOrchestration':
      return {
        instance: toStorable(item.instance),
        orchestration: toStorable(item.orchestration),
        input: toStorable(item.input),
        version: storableOrNull(item.version),
        parent_instance: storableOrNull(item.parentInstance),
        parent_id: item.parentId,
        parent_execution_id: item.parentExecutionId,
        execution_id: item.executionId,
        trace: item.trace,
      };
    case 'ActivityExecute':
      return {
        instance: toStorable(item.instance),
        execution_id: item.executionId,
        id: item.id,
        name: toStorable(item.name),
        input: toStorable(item.input),
        session_id: storableOrUndefined(item.sessionId),
        tag: storableOrUndefined(item.tag),
        trace: item.trace,
      };
    case 'ActivityCompleted':
      return { ...activityKey(item), result: toStorable(item.result) };
    case 'ActivityFailed':
      return { ...activityKey(item), details: errorDetailsToJson(item.details) };
    case 'TimerFired':
      return { ...activityKey(item), fire_at_ms: item.fireAtMs };
    case 'ExternalRaised':
    case 'QueueMessage':
      return { instance: toStorable(item.instance), name: toStorable(item.name), data: toStorable(item.data) };
    case 'CancelInstance':
      return { instance: toStorable(item.instance), reason: toStorable(item.reason) };
    case 'SubOrchCompleted':
      return { ...parentKey(item), result: toStorable(item.result) };
    case 'SubOrchFailed':
      return { ...parentKey(item), details: errorDetailsToJson(item.details) };
    case 'ContinueAsNew':
      return {
        instance: toStorable(item.instance),
        orchestration: toStorable(item.orchestration),
        input: toStorable(item.input),
        version: storableOrNull(item.version),
        carry_forward_events: item.carryForwardEvents.map(([name, data]) => [toStorable(name), toStorable(data)]),
        initial_custom_status: storableOrUndefined(item.initialCustomStatus),
        parent_instance: storableOrUndefined(item.parentInstance),
        parent_id: item.parentId,
        parent_execution_id: item.parentExecutionId,
      };
    default:
      return assertNever(item, 'work item');
  }
}

function activityKey(item: { instance: string; executionId: number; id: number }): JsonObject {
  return { instance: toStorable(item.instance), execution_id: item.executionId, id: item.id };
}

function parentKey(item: {
  parentInstance: string;
  parentExecutionId?: number | undefined;
  parentId: number;
}): JsonObject {
  return {
    parent_instance: toStorable(item.parentInstance),
    parent_execution_id: item.parentExecutionId,
    parent_id: item.parentId,
  };
}

function storableOrNull(text: string | null): string | null {
  return text === null ? null : toStorable(text);
}

function storableOrUndefined(text: string | undefined): string | undefined {
  return text === undefined ? undefined : toStorable(text);
}

/**
 * Reads the stored text of a work item, in either layout (compact or `jsonb`).
 * Tolerates missing optional fields and unknown extra fields, as native does.
 * @throws WireError when it is no JSON, its kind is unknown or a field is missing.
 */
export function decodeWorkItem(text: string): WorkItem {
  return workItemFromJson(parseJson(text, 'work item'));
}

/** As {@link decodeWorkItem}, for a value that is parsed already. */
export function workItemFromJson(value: unknown): WorkItem {
  const { tag: kind, body } = readTagged(value, 'work item');
  const text = (field: string) => readString(body, field, kind);
  const integer = (field: string) => readInteger(body, field, kind);
  const optionalText = (field: string) => readOptionalString(body, field, kind);
  const optionalInteger = (field: string) => readOptionalInteger(body, field, kind);
  switch (kind) {
    case 'StartOrchestration':
      return {
        kind,
        instance: text('instance'),
        orchestration: text('orchestration'),
        input: text('input'),
        version: optionalText('version'),
        parentInstance: optionalText('parent_instance'),
        parentId: optionalInteger('parent_id'),
        ...present('parentExecutionId', optionalInteger('parent_execution_id')),
        executionId: optionalInteger('execution_id') ?? 1,
        ...present('trace', optionalText('trace')),
      };
    case 'ActivityExecute':
      return {
        kind,
        instance: text('instance'),
        executionId: integer('execution_id'),
        id: integer('id'),
        name: text('name'),
        input: text('input'),
        ...present('sessionId', optionalText('session_id')),
        ...present('tag', optionalText('tag')),
        ...present('trace', optionalText('trace')),
      };
    case 'ActivityCompleted':
      return { kind, ...activityKeyFrom(body, kind), result: text('result') };
    case 'ActivityFailed':
      return { kind, ...activityKeyFrom(body, kind), details: errorDetailsFromJson(body['details']) };
    case 'TimerFired':
      return { kind, ...activityKeyFrom(body, kind), fireAtMs: integer('fire_at_ms') };
    case 'ExternalRaised':
    case 'QueueMessage':
      return { kind, instance: text('instance'), name: text('name'), data: text('data') };
    case 'CancelInstance':
      return { kind, instance: text('instance'), reason: text('reason') };
    case 'SubOrchCompleted':
      return { kind, ...parentKeyFrom(body, kind), result: text('result') };
    case 'SubOrchFailed':
      return { kind, ...parentKeyFrom(body, kind), details: errorDetailsFromJson(body['details']) };
    case 'ContinueAsNew':
      return {
        kind,
        instance: text('instance'),
        orchestration: text('orchestration'),
        input: text('input'),
        version: optionalText('version'),
        carryForwardEvents: readPairs(body, 'carry_forward_events', kind) ?? [],
        ...present('initialCustomStatus', optionalText('initial_custom_status')),
        ...present('parentInstance', optionalText('parent_instance')),
        ...present('parentId', optionalInteger('parent_id')),
        ...present('parentExecutionId', optionalInteger('parent_execution_id')),
      };
    default:
      throw new WireError('work item of an unknown kind');
  }
}

function activityKeyFrom(body: JsonObject, what: string) {
  return {
    instance: readString(body, 'instance', what),
    executionId: readInteger(body, 'execution_id', what),
    id: readInteger(body, 'id', what),
  };
}

function parentKeyFrom(body: JsonObject, what: string) {
  return {
    parentInstance: readString(body, 'parent_instance', what),
    ...present('parentExecutionId', readOptionalInteger(body, 'parent_execution_id', what)),
    parentId: readInteger(body, 'parent_id', what),
  };
}
