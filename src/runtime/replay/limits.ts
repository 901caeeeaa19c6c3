import { isStorable, utf8Length } from '../../base/text.js';
import type { ErrorDetails } from '../../wire/error-details.js';
import type { EventOf, HistoryEvent } from '../../wire/event.js';
import {
  MAX_CUSTOM_STATUS_BYTES,
  MAX_DERIVED_CHILD_ID_BYTES,
  MAX_INSTANCE_ID_BYTES,
  MAX_KV_KEY_BYTES,
  MAX_KV_KEYS,
  MAX_KV_VALUE_BYTES,
  MAX_NAME_BYTES,
  MAX_SESSION_ID_BYTES,
  MAX_TAG_BYTES,
} from '../../wire/limits.js';
import { fullChildId, isDerivedChildId } from './instance-ids.js';

/** What PostgreSQL puts into one index row, less some room for its own fields. */
const MAX_INDEX_ROW_BYTES = 2600;

/** What a turn wrote that it may not write. */
export interface LimitViolation {
  /** Of the first limit that was hit, in the order of runtime.md 2.12. */
  readonly message: string;
  /**
   * The first event that must not be stored, because it is beyond a limit of ours: a key that no
   * index can hold would fail the whole acknowledgement. What is beyond a limit of native's
   * stays in history, as native leaves it.
   */
  readonly unstorable: HistoryEvent | undefined;
}

/** Whether the code itself failed: poison, limits and the store end an instance whatever its code wants. */
export function isFailureOfCode(details: ErrorDetails): boolean {
  return details.kind === 'Application' && !LIMIT_MESSAGE.test(details.message);
}

const LIMIT_MESSAGE =
  /exceeds limit \(\d+( bytes)?\)$|^(.* name|.* instance id) is (empty|not well-formed text \(.*\))$/s;

export interface LimitContext {
  readonly instance: string;
  /** Keys of earlier executions: keys of earlier turns of this one are not counted (D-13). */
  readonly seedKeys: ReadonlySet<string>;
  readonly maxPayloadBytes: number;
}

/** The first limit that the events of a turn break, if any. */
export function findLimitViolation(delta: readonly HistoryEvent[], context: LimitContext): LimitViolation | undefined {
  const unstorable = delta.find((event) => violationOfOurs(event, context) !== undefined);
  const ours = unstorable && violationOfOurs(unstorable, context);
  const message = violationOfNative(delta, context.seedKeys) ?? ours;
  return message === undefined ? undefined : { message, unstorable };
}

/** Number of keys that the limit counts: the snapshot and the changes of this turn. */
export function countKeys(delta: readonly HistoryEvent[], seedKeys: ReadonlySet<string>): number {
  if (!delta.some((event) => event.kind.startsWith('KeyValue'))) return seedKeys.size;
  const keys = new Set(seedKeys);
  for (const event of delta) {
    if (event.kind === 'KeyValueSet') keys.add(event.key);
    else if (event.kind === 'KeyValueCleared') keys.delete(event.key);
    else if (event.kind === 'KeyValuesCleared') keys.clear();
  }
  return keys.size;
}

function violationOfNative(delta: readonly HistoryEvent[], seedKeys: ReadonlySet<string>): string | undefined {
  const status = delta.findLast((event): event is EventOf<'CustomStatusUpdated'> => {
    return event.kind === 'CustomStatusUpdated';
  })?.status;
  if (typeof status === 'string') {
    const bytes = utf8Length(status);
    if (bytes > MAX_CUSTOM_STATUS_BYTES) {
      return `Custom status size (${bytes} bytes) exceeds limit (${MAX_CUSTOM_STATUS_BYTES} bytes)`;
    }
  }
  for (const event of delta) {
    if (event.kind !== 'ActivityScheduled' || event.tag === undefined) continue;
    const bytes = utf8Length(event.tag);
    if (bytes > MAX_TAG_BYTES) {
      return `Activity '${event.name}' tag size (${bytes} bytes) exceeds limit (${MAX_TAG_BYTES} bytes)`;
    }
  }
  for (const event of delta) {
    if (event.kind !== 'KeyValueSet') continue;
    const bytes = utf8Length(event.value);
    if (bytes > MAX_KV_VALUE_BYTES) {
      return `KV value for key '${shown(event.key)}' (${bytes} bytes) exceeds limit (${MAX_KV_VALUE_BYTES} bytes)`;
    }
  }
  const keys = countKeys(delta, seedKeys);
  return keys > MAX_KV_KEYS ? `KV key count (${keys}) exceeds limit (${MAX_KV_KEYS})` : undefined;
}

function violationOfOurs(event: HistoryEvent, { instance, maxPayloadBytes }: LimitContext): string | undefined {
  switch (event.kind) {
    case 'ActivityScheduled':
      return (
        badName('Activity name', event.name) ??
        tooLong('Session id', event.sessionId, MAX_SESSION_ID_BYTES) ??
        tooLong(`Input of activity '${event.name}'`, event.input, maxPayloadBytes)
      );
    case 'SubOrchestrationScheduled':
      return (
        badName('Orchestration name', event.name) ??
        badChildId(instance, event.instance) ??
        tooLong(`Input of sub-orchestration '${event.name}'`, event.input, maxPayloadBytes)
      );
    case 'OrchestrationChained':
      return (
        badName('Orchestration name', event.name) ??
        badInstanceId('Detached orchestration instance id', event.instance, MAX_INSTANCE_ID_BYTES) ??
        tooLong(`Input of detached orchestration '${event.name}'`, event.input, maxPayloadBytes)
      );
    case 'ExternalSubscribed':
      return badName('Event name', event.name);
    case 'ExternalSubscribedPersistent':
      return badName('Queue name', event.name);
    case 'KeyValueSet': {
      const bytes = utf8Length(event.key);
      return bytes > MAX_KV_KEY_BYTES
        ? `KV key '${shown(event.key)}' (${bytes} bytes) exceeds limit (${MAX_KV_KEY_BYTES} bytes)`
        : undefined;
    }
    case 'KeyValueCleared': {
      // A long key that native wrote may be cleared; one that no index row can hold cannot exist.
      const bytes = utf8Length(event.key);
      return bytes > MAX_KV_KEY_BYTES && bytes + utf8Length(instance) > MAX_INDEX_ROW_BYTES
        ? `KV key '${shown(event.key)}' (${bytes} bytes) exceeds limit (${MAX_KV_KEY_BYTES} bytes)`
        : undefined;
    }
    case 'OrchestrationCompleted':
      return tooLong('Orchestration output', event.output, maxPayloadBytes);
    case 'OrchestrationContinuedAsNew':
      return tooLong('Continue-as-new input', event.input, maxPayloadBytes);
    case 'OrchestrationFailed':
      return event.details.kind === 'Application'
        ? tooLong('Orchestration error', event.details.message, maxPayloadBytes)
        : undefined;
    default:
      return undefined; // made from messages, whose sizes are checked where they are sent
  }
}

function badChildId(parent: string, instance: string): string | undefined {
  return isDerivedChildId(instance)
    ? tooLong('Sub-orchestration instance id', fullChildId(parent, instance), MAX_DERIVED_CHILD_ID_BYTES)
    : badInstanceId('Sub-orchestration instance id', instance, MAX_INSTANCE_ID_BYTES);
}

function badInstanceId(what: string, instance: string, limit: number): string | undefined {
  return instance === '' ? `${what} is empty` : (malformed(what, instance) ?? tooLong(what, instance, limit));
}

function badName(what: string, name: string): string | undefined {
  return malformed(what, name) ?? tooLong(what, name, MAX_NAME_BYTES);
}

function malformed(what: string, text: string): string | undefined {
  return isStorable(text) ? undefined : `${what} is not well-formed text (U+0000 or an unpaired surrogate)`;
}

function tooLong(what: string, text: string | undefined, limit: number): string | undefined {
  // A UTF-16 unit is at most three bytes: most texts need no counting.
  if (text === undefined || text.length * 3 <= limit) return undefined;
  const bytes = utf8Length(text);
  return bytes > limit ? `${what} size (${bytes} bytes) exceeds limit (${limit} bytes)` : undefined;
}

/** Keys are named in failures, but a long one only by its beginning. */
function shown(key: string): string {
  return key.length > 64 ? `${key.slice(0, 64)}…` : key;
}
