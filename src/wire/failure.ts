import { toStorable } from '../base/text.js';
import type { JsonObject } from './json-reader.js';

/**
 * What was thrown, kept as data beside the text that native stores of it: an additional
 * field of application errors, which native readers skip.
 */
export interface FailureData {
  /** Such as `TypeError`. */
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  /** Such as `ECONNREFUSED`; only texts. */
  readonly code?: string | undefined;
  /** The activity or child that failed, where it is an error of a durable call. */
  readonly activity?: string | undefined;
  readonly orchestration?: string | undefined;
  readonly cause?: FailureData | undefined;
}

/** Bounds of one failure, in characters: it stands in every history that it passes through. */
const MAX_TEXT = 4_000;
const MAX_STACK = 8_000;
const MAX_CAUSES = 8;

/** The JSON value of a failure, cut to its bounds. */
export function failureToJson(failure: FailureData, depth = 0): JsonObject {
  const { name, message, stack, code, activity, orchestration, cause } = failure;
  const text = (value: string, most: number) => toStorable(value.slice(0, most));
  return {
    name: text(name, MAX_TEXT),
    message: text(message, MAX_TEXT),
    ...(stack === undefined ? {} : { stack: text(stack, MAX_STACK) }),
    ...(code === undefined ? {} : { code: text(code, MAX_TEXT) }),
    ...(activity === undefined ? {} : { activity: text(activity, MAX_TEXT) }),
    ...(orchestration === undefined ? {} : { orchestration: text(orchestration, MAX_TEXT) }),
    ...(cause === undefined || depth >= MAX_CAUSES ? {} : { cause: failureToJson(cause, depth + 1) }),
  };
}

/** The failure in a stored value. Anything else, as only other writers leave it, is no failure but no damage either. */
export function failureFromJson(value: unknown, depth = 0): FailureData | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as JsonObject;
  const { name, message } = fields;
  if (typeof name !== 'string' || typeof message !== 'string') return undefined;
  const optional = (field: 'stack' | 'code' | 'activity' | 'orchestration') => {
    const text = fields[field];
    return typeof text === 'string' ? { [field]: text } : {};
  };
  const cause = depth >= MAX_CAUSES ? undefined : failureFromJson(fields['cause'], depth + 1);
  return {
    name,
    message,
    ...optional('stack'),
    ...optional('code'),
    ...optional('activity'),
    ...optional('orchestration'),
    ...(cause === undefined ? {} : { cause }),
  };
}
