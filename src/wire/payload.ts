import { unserializablePath } from './unserializable-path.js';

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
 * @param what names the value in errors, e.g. `input of orchestration 'Order'`; absent: type errors are the engine's own
 * @throws RangeError for a value that is nested too deeply; TypeError for a BigInt or a cycle, with the path to it;
 *   {@link UnserializableValueError} for a function or symbol; what a `toJSON` of the value throws
 */
export function encodePayload(value: unknown, what?: string): string {
  if (value === undefined) return NULL_TEXT;
  const text = stringified(value, what);
  if (text === undefined) throw new UnserializableValueError(what ?? 'the value', value);
  return text;
}

function stringified(value: unknown, what: string | undefined): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError && what !== undefined) throw withPath(error, value, what);
    if (!(error instanceof RangeError)) throw error;
    // The engine's own says that a stack was exceeded, and of what it does not say.
    throw new RangeError(
      `${what ?? 'the value'} cannot be sent: it is nested too deeply, or too large, for a JSON text`,
      {
        cause: error,
      },
    );
  }
}

/** The engine's words, and where; without a place it is an error of the value's own code. */
function withPath(error: TypeError, value: unknown, what: string): TypeError {
  const path = unserializablePath(value);
  if (path === undefined) return error;
  // A cycle is drawn on the lines that follow.
  const [reason] = error.message.split('\n');
  return new TypeError(`${what} cannot be sent: ${reason}, at ${path}`, { cause: error });
}

/** The value of a payload; a text that is no JSON, as other SDKs write it, is the value itself. */
export function decodePayload(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
