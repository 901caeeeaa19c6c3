/** What a codec is told about a value. */
export interface CodecContext {
  /** The instance whose rows the value stands in; the same when it is encoded and decoded. */
  readonly instanceId: string;
}

/**
 * Turns payloads of users into other texts on their way into the store, and back on their
 * way out: encryption, compression. Both may be asynchronous.
 */
export interface PayloadCodec {
  /** Stored beside each value, so that tools can say by what it was encoded: letters, digits, `-`, `_` and `.`. */
  readonly name: string;
  /** The payload, which is JSON text, or the text of a key's value or a custom status. Must not return it unchanged by chance. */
  encode(payload: string, context: CodecContext): string | Promise<string>;
  /** The inverse of {@link encode}, for everything that is stored: also what earlier keys encoded. */
  decode(data: string, context: CodecContext): string | Promise<string>;
}

/** Where a value belongs; for errors. */
export interface ValuePlace {
  /** Such as `the input of activity 'charge'`. */
  readonly what: string;
  readonly instanceId: string;
}

const BRAND = Symbol.for('duroxide-drizzle.CodecError');

/**
 * A codec threw, or returned something that is no text. The message names the definition
 * and the instance; what the codec said is in `cause`, because it may quote the value.
 * What was to be written is not written; what was to be read stays where it is.
 */
export class CodecError extends Error {
  override readonly name = 'CodecError';
  readonly instanceId: string;
  readonly direction: 'encode' | 'decode';
  readonly codec: string;

  constructor(direction: 'encode' | 'decode', codec: string, { what, instanceId }: ValuePlace, cause: unknown) {
    const how = cause instanceof Error ? cause.name : typeof cause;
    super(`the codec '${codec}' could not ${direction} ${what} of instance '${instanceId}' (${how})`, { cause });
    this.direction = direction;
    this.codec = codec;
    this.instanceId = instanceId;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Whether `error` is one, of any copy of this package. */
  static is(error: unknown): error is CodecError {
    return typeof error === 'object' && error !== null && BRAND in error;
  }
}
