/**
 * How values of users become payloads, and back (node-api.md 2). A payload is a JSON
 * text inside a JSON string: what is in it is the user's, byte for byte.
 */

/** Text of `undefined` and of an argument left out. */
const NULL_TEXT = 'null';

/** A value that has no JSON text: a function or a symbol. `JSON.stringify` throws by itself for the others. */
export class UnserializableValueError extends TypeError {
  override readonly name = 'UnserializableValueError';
  /** As native's binding says it. */
  readonly code = 'StringExpected';

  constructor(what: string, value: unknown) {
    super(`${what} cannot be sent: a ${typeof value} has no JSON form`);
  }
}

/**
 * The JSON text of a value; `undefined` is sent as `null`.
 * @param what names the value in errors, e.g. `input of orchestration 'Order'`
 * @throws RangeError for a value that is nested too deeply; TypeError for a BigInt or a cycle (the engine's own); {@link UnserializableValueError} for a function or symbol
 */
export function encodePayload(value: unknown, what = 'the value'): string {
  if (value === undefined) return NULL_TEXT;
  const text = stringified(value, what);
  if (text === undefined) throw new UnserializableValueError(what, value);
  return text;
}

function stringified(value: unknown, what: string): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The engine's own says that a stack was exceeded, and of what it does not say.
    throw new RangeError(`${what} cannot be sent: it is nested too deeply, or too large, for a JSON text`, {
      cause: error,
    });
  }
}

/** The value of a payload; a text that is no JSON, as other SDKs write it, is the value itself. */
export function decodePayload(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
