import { assertNever } from '../base/assert-never.js';
import { toStorable } from '../base/text.js';
import type { ErrorDetails } from './error-details.js';
import { errorDetailsFromJson, errorDetailsToJson } from './error-details.js';
import type { JsonObject } from './json-reader.js';
import {
  asObject,
  parseJson,
  present,
  readInteger,
  readOptionalInteger,
  readOptionalString,
  readPairs,
  readString,
} from './json-reader.js';
import { WireError } from './wire-error.js';

/** What every event carries (provider.md 2.4). */
export interface EventEnvelope {
  /** Position in its execution, from 1. */
  readonly eventId: number;
  /** On completions and cancellation breadcrumbs: the id of the scheduling event. */
  readonly sourceEventId: number | null;
  readonly instanceId: string;
  readonly executionId: number;
  /** Unix ms of the provider's clock. */
  readonly timestampMs: number;
  /** Level of the runtime that wrote the event; ours writes `COMPAT_VERSION_TEXT`. */
  readonly duroxideVersion: string;
}

/** The 26 kinds of events, without the envelope. Payloads are opaque texts. */
export type EventBody =
  | {
      readonly kind: 'OrchestrationStarted';
      readonly name: string;
      readonly version: string;
      readonly input: string;
      readonly parentInstance: string | null;
      readonly parentId: number | null;
      readonly parentExecutionId?: number | undefined;
      readonly carryForwardEvents?: readonly (readonly [string, string])[] | undefined;
      readonly initialCustomStatus?: string | undefined;
    }
  | { readonly kind: 'OrchestrationCompleted'; readonly output: string }
  | { readonly kind: 'OrchestrationFailed'; readonly details: ErrorDetails }
  | { readonly kind: 'OrchestrationContinuedAsNew'; readonly input: string }
  | { readonly kind: 'OrchestrationCancelRequested'; readonly reason: string }
  | {
      readonly kind: 'OrchestrationChained';
      readonly name: string;
      readonly instance: string;
      readonly input: string;
    }
  | {
      readonly kind: 'ActivityScheduled';
      readonly name: string;
      readonly input: string;
      readonly sessionId?: string | undefined;
      readonly tag?: string | undefined;
    }
  | { readonly kind: 'ActivityCompleted'; readonly result: string }
  | { readonly kind: 'ActivityFailed'; readonly details: ErrorDetails }
  | { readonly kind: 'ActivityCancelRequested'; readonly reason: string }
  | { readonly kind: 'TimerCreated'; readonly fireAtMs: number }
  | { readonly kind: 'TimerFired'; readonly fireAtMs: number }
  | { readonly kind: 'ExternalSubscribed'; readonly name: string }
  | { readonly kind: 'ExternalEvent'; readonly name: string; readonly data: string }
  | { readonly kind: 'ExternalSubscribedCancelled'; readonly reason: string }
  | { readonly kind: 'ExternalSubscribedPersistent'; readonly name: string }
  | { readonly kind: 'ExternalEventPersistent'; readonly name: string; readonly data: string }
  | { readonly kind: 'ExternalSubscribedPersistentCancelled'; readonly reason: string }
  | {
      readonly kind: 'SubOrchestrationScheduled';
      readonly name: string;
      readonly instance: string;
      readonly input: string;
    }
  | { readonly kind: 'SubOrchestrationCompleted'; readonly result: string }
  | { readonly kind: 'SubOrchestrationFailed'; readonly details: ErrorDetails }
  | { readonly kind: 'SubOrchestrationCancelRequested'; readonly reason: string }
  | { readonly kind: 'CustomStatusUpdated'; readonly status: string | null }
  | {
      readonly kind: 'KeyValueSet';
      readonly key: string;
      readonly value: string;
      readonly lastUpdatedAtMs: number;
    }
  | { readonly kind: 'KeyValueCleared'; readonly key: string }
  | { readonly kind: 'KeyValuesCleared' };

export type EventKind = EventBody['kind'];

/** One row of `history`: the durable record of a decision or of something that happened. */
export type HistoryEvent = EventEnvelope & EventBody;

/** One kind of event. */
export type EventOf<K extends EventKind> = EventEnvelope & Extract<EventBody, { kind: K }>;

/** What `history.event_type` holds: native writes the same word for every event (P:T-32). */
export const EVENT_TYPE_COLUMN = 'Event';

/**
 * The stored text of an event: compact JSON, fields in native's declaration order,
 * byte for byte what native writes.
 */
export function encodeEvent(event: HistoryEvent): string {
  return JSON.stringify({
    event_id: event.eventId,
    source_event_id: event.sourceEventId,
    instance_id: toStorable(event.instanceId),
    execution_id: event.executionId,
    timestamp_ms: event.timestampMs,
    duroxide_version: event.duroxideVersion,
    type: event.kind,
    ...bodyToJson(event),
  });
}

function bodyToJson(event: EventBody): JsonObject {
  switch (event.kind) {
    case 'OrchestrationStarted':
      // `undefined` fields are left out by JSON.stringify, as native leaves them out.
      return {
        name: toStorable(event.name),
        version: toStorable(event.version),
        input: toStorable(event.input),
        parent_instance: event.parentInstance === null ? null : toStorable(event.parentInstance),
        parent_id: event.parentId,
        parent_execution_id: event.parentExecutionId,
        carry_forward_events: event.carryForwardEvents?.map(([name, data]) => [toStorable(name), toStorable(data)]),
        initial_custom_status: storableOrUndefined(event.initialCustomStatus),
      };
    case 'OrchestrationCompleted':
      return { output: toStorable(event.output) };
    case 'OrchestrationContinuedAsNew':
      return { input: toStorable(event.input) };
    case 'OrchestrationChained':
    case 'SubOrchestrationScheduled':
      return { name: toStorable(event.name), instance: toStorable(event.instance), input: toStorable(event.input) };
    case 'ActivityScheduled':
      return {
        name: toStorable(event.name),
        input: toStorable(event.input),
        session_id: storableOrUndefined(event.sessionId),
        tag: storableOrUndefined(event.tag),
      };
    case 'ActivityCompleted':
    case 'SubOrchestrationCompleted':
      return { result: toStorable(event.result) };
    case 'OrchestrationFailed':
    case 'ActivityFailed':
    case 'SubOrchestrationFailed':
      return { details: errorDetailsToJson(event.details) };
    case 'OrchestrationCancelRequested':
    case 'ActivityCancelRequested':
    case 'ExternalSubscribedCancelled':
    case 'ExternalSubscribedPersistentCancelled':
    case 'SubOrchestrationCancelRequested':
      return { reason: toStorable(event.reason) };
    case 'TimerCreated':
    case 'TimerFired':
      return { fire_at_ms: event.fireAtMs };
    case 'ExternalSubscribed':
    case 'ExternalSubscribedPersistent':
      return { name: toStorable(event.name) };
    case 'ExternalEvent':
    case 'ExternalEventPersistent':
      return { name: toStorable(event.name), data: toStorable(event.data) };
    case 'CustomStatusUpdated':
      return { status: event.status === null ? null : toStorable(event.status) };
    case 'KeyValueSet':
      return {
        key: toStorable(event.key),
        value: toStorable(event.value),
        last_updated_at_ms: event.lastUpdatedAtMs,
      };
    case 'KeyValueCleared':
      return { key: toStorable(event.key) };
    case 'KeyValuesCleared':
      return {};
    default:
      return assertNever(event, 'event');
  }
}

function storableOrUndefined(text: string | undefined): string | undefined {
  return text === undefined ? undefined : toStorable(text);
}

/**
 * Reads the stored text of an event. Tolerates a missing `source_event_id`, missing
 * optional fields and unknown extra fields, as native does.
 * @throws WireError when it is no JSON, its `type` is unknown or a field is missing.
 */
export function decodeEvent(text: string): HistoryEvent {
  return eventFromJson(parseJson(text, 'event'));
}

/** As {@link decodeEvent}, for a value that is parsed already. */
export function eventFromJson(value: unknown): HistoryEvent {
  const json = asObject(value, 'event');
  const kind = readString(json, 'type', 'event');
  const body = bodyFromJson(kind, json);
  return {
    eventId: readInteger(json, 'event_id', kind),
    sourceEventId: readOptionalInteger(json, 'source_event_id', kind),
    instanceId: readString(json, 'instance_id', kind),
    executionId: readInteger(json, 'execution_id', kind),
    timestampMs: readInteger(json, 'timestamp_ms', kind),
    duroxideVersion: readString(json, 'duroxide_version', kind),
    ...body,
  };
}

function bodyFromJson(kind: string, json: JsonObject): EventBody {
  const text = (field: string) => readString(json, field, kind);
  const integer = (field: string) => readInteger(json, field, kind);
  switch (kind) {
    case 'OrchestrationStarted':
      return {
        kind,
        name: text('name'),
        version: text('version'),
        input: text('input'),
        parentInstance: readOptionalString(json, 'parent_instance', kind),
        parentId: readOptionalInteger(json, 'parent_id', kind),
        ...present('parentExecutionId', readOptionalInteger(json, 'parent_execution_id', kind)),
        ...present('carryForwardEvents', readPairs(json, 'carry_forward_events', kind)),
        ...present('initialCustomStatus', readOptionalString(json, 'initial_custom_status', kind)),
      };
    case 'OrchestrationCompleted':
      return { kind, output: text('output') };
    case 'OrchestrationContinuedAsNew':
      return { kind, input: text('input') };
    case 'OrchestrationChained':
    case 'SubOrchestrationScheduled':
      return { kind, name: text('name'), instance: text('instance'), input: text('input') };
    case 'ActivityScheduled':
      return {
        kind,
        name: text('name'),
        input: text('input'),
        ...present('sessionId', readOptionalString(json, 'session_id', kind)),
        ...present('tag', readOptionalString(json, 'tag', kind)),
      };
    case 'ActivityCompleted':
    case 'SubOrchestrationCompleted':
      return { kind, result: text('result') };
    case 'OrchestrationFailed':
    case 'ActivityFailed':
    case 'SubOrchestrationFailed':
      return { kind, details: errorDetailsFromJson(json['details']) };
    case 'OrchestrationCancelRequested':
    case 'ActivityCancelRequested':
    case 'ExternalSubscribedCancelled':
    case 'ExternalSubscribedPersistentCancelled':
    case 'SubOrchestrationCancelRequested':
      return { kind, reason: text('reason') };
    case 'TimerCreated':
    case 'TimerFired':
      return { kind, fireAtMs: integer('fire_at_ms') };
    case 'ExternalSubscribed':
    case 'ExternalSubscribedPersistent':
      return { kind, name: text('name') };
    case 'ExternalEvent':
    case 'ExternalEventPersistent':
      return { kind, name: text('name'), data: text('data') };
    case 'CustomStatusUpdated':
      return { kind, status: readOptionalString(json, 'status', kind) };
    case 'KeyValueSet':
      return {
        kind,
        key: text('key'),
        value: text('value'),
        lastUpdatedAtMs: readOptionalInteger(json, 'last_updated_at_ms', kind) ?? 0,
      };
    case 'KeyValueCleared':
      return { kind, key: text('key') };
    case 'KeyValuesCleared':
      return { kind };
    default:
      throw new WireError('event of an unknown type');
  }
}
