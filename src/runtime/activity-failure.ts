import { utf8Length } from '../base/text.js';
import type { FailureData } from '../wire/failure.js';
import { bytesOfOversized } from '../wire/oversized-text.js';
import { encodePayload, UnserializableValueError } from '../wire/payload.js';

/** Longest JSON text of a thrown object in a failure text. */
const MAX_SHOWN_CHARACTERS = 1_000;

/**
 * The stored text of what an activity threw, as native words it (node-api.md 8.1). Native
 * loses everything that is no `Error`; ours keeps what can be read of it (runtime.md 3.13).
 */
export function activityFailureText(activity: string, thrown: unknown): string {
  const [kind, text] = describeThrown(thrown);
  return failureText(activity, kind, text);
}

function describeThrown(thrown: unknown): readonly [kind: string, text: string] {
  if (thrown instanceof Error) return ['GenericFailure', printed(thrown)];
  if (typeof thrown !== 'object' || thrown === null) return ['InvalidArg', printed(thrown)];
  return ['GenericFailure', describeObject(thrown)];
}

function describeObject(thrown: object): string {
  try {
    const { message } = thrown as { message?: unknown };
    if (typeof message === 'string') return message;
    const json = JSON.stringify(thrown) as string | undefined;
    if (json !== undefined) return json.slice(0, MAX_SHOWN_CHARACTERS);
  } catch {
    // A getter that throws, a cycle, a BigInt: then its own text has to do.
  }
  return printed(thrown);
}

/** `String(value)`, which user code can make throw, too. */
function printed(value: unknown): string {
  try {
    return String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** What an activity returned, as payload; or the text of the failure that it became. */
export type ActivityResult =
  | { readonly ok: true; readonly result: string }
  | { readonly ok: false; readonly message: string; readonly failure?: FailureData | undefined };

export function activityResult(activity: string, value: unknown, maxPayloadBytes: number): ActivityResult {
  const tooLarge = (bytes: number): ActivityResult => ({
    ok: false,
    message: `Activity '${activity}' result (${bytes} bytes) exceeds limit (${maxPayloadBytes} bytes)`,
  });
  const oversized = bytesOfOversized(value, maxPayloadBytes);
  if (oversized !== undefined) return tooLarge(oversized);
  let result: string;
  try {
    result = encodePayload(value);
  } catch (error) {
    if (error instanceof UnserializableValueError) {
      const text = 'Failed to convert JavaScript value `Undefined` into rust type `String`';
      return { ok: false, message: failureText(activity, error.code, text) };
    }
    return { ok: false, message: activityFailureText(activity, error) };
  }
  // A string has at least as many bytes as characters, so most need not be measured.
  const bytes = result.length * 3 > maxPayloadBytes ? utf8Length(result) : 0;
  return bytes > maxPayloadBytes ? tooLarge(bytes) : { ok: true, result };
}

/** The failure text of an activity, or what is said in place of one that is too large to be stored. */
export function storableFailure(activity: string, message: string, maxPayloadBytes: number): string {
  const bytes = message.length * 3 > maxPayloadBytes ? utf8Length(message) : 0;
  if (bytes <= maxPayloadBytes) return message;
  return `Activity '${activity}' failed, and its error text (${bytes} bytes) exceeds limit (${maxPayloadBytes} bytes)`;
}

function failureText(activity: string, kind: string, text: string): string {
  return `Activity '${activity}' JS execution failed: ${kind}, ${text}`;
}
