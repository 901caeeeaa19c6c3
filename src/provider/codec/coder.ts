import { encodedPayloadText, readEncodedPayload } from '../../wire/encoded-payload.js';
import { CodecError, type PayloadCodec, type ValuePlace } from './payload-codec.js';

/** A record, and how its payloads are replaced. */
export type MapRecord<T> = (record: T, visit: (text: string, what: string) => string) => T;

type Later<T> = T | Promise<T>;

/** Runs a codec over whole records. Answers at once where the codec does, and throws or rejects with CodecErrors only. */
export class Coder {
  constructor(private readonly codec: PayloadCodec) {}

  /** @param about completes the place in errors, such as ` of orchestration 'checkout'` */
  encode<T>(record: T, map: MapRecord<T>, instanceId: string, about = ''): Later<T> {
    return this.run(record, map, (text, what) => this.encodeText(text, { what: `${what}${about}`, instanceId }));
  }

  decode<T>(record: T, map: MapRecord<T>, instanceId: string, about = ''): Later<T> {
    return this.run(record, map, (text, what) => this.decodeText(text, { what: `${what}${about}`, instanceId }));
  }

  /**
   * The stored form of one payload.
   * @param context whom the codec is told that it belongs to, where that is not the instance; stored with it
   */
  encodeText(text: string, place: ValuePlace, context?: string): Later<string> {
    const { name } = this.codec;
    const instanceId = context ?? place.instanceId;
    const wrapped = (data: string) => encodedPayloadText({ codec: name, data, context });
    return this.guarded('encode', place, () => this.codec.encode(text, { instanceId }), wrapped);
  }

  /** One payload as it was; a value that was stored before there was a codec is itself. */
  decodeText(text: string, place: ValuePlace): Later<string> {
    const encoded = readEncodedPayload(text);
    if (!encoded) return text;
    return this.guarded('decode', place, () => {
      if (encoded.codec !== this.codec.name) throw new Error(`the value was encoded by the codec '${encoded.codec}'`);
      return this.codec.decode(encoded.data, { instanceId: encoded.context ?? place.instanceId });
    });
  }

  private guarded(
    direction: 'encode' | 'decode',
    place: ValuePlace,
    code: () => unknown,
    then: (text: string) => string = (text) => text,
  ): Later<string> {
    const failed = (cause: unknown) => new CodecError(direction, this.codec.name, place, cause);
    const checked = (text: unknown): string => {
      if (typeof text !== 'string') throw failed(new TypeError(`expected a string, got ${typeof text}`));
      return then(text);
    };
    let result: unknown;
    try {
      result = code();
    } catch (cause) {
      throw failed(cause);
    }
    if (!isThenable(result)) return checked(result);
    return Promise.resolve(result).then(checked, (cause: unknown) => {
      throw failed(cause);
    });
  }

  /**
   * Two passes over the record: the first one finds the payloads, the second one puts the results in their places.
   * What a record says twice, such as an output in its event and in its row, is coded once: codecs may answer
   * differently each time, and what is stored twice has to agree.
   */
  private run<T>(record: T, map: MapRecord<T>, code: (text: string, what: string) => Later<string>): Later<T> {
    const results: Later<string>[] = [];
    const known = new Map<string, { readonly text: string; readonly result: Later<string> }>();
    try {
      map(record, (text, what) => {
        const before = known.get(what);
        const result = before?.text === text ? before.result : code(text, what);
        known.set(what, { text, result });
        results.push(result);
        return text;
      });
    } catch (error) {
      // What is under way beside it has nobody to wait for it any more.
      for (const result of results) if (isThenable(result)) result.then(undefined, () => undefined);
      throw error;
    }
    const filled = (texts: readonly string[]): T => {
      let next = 0;
      return map(record, () => texts[next++] ?? '');
    };
    // A rejection beside the first one is not lost: `Promise.all` has taken it.
    const isLater = results.some(isThenable);
    return isLater ? Promise.all(results as Promise<string>[]).then(filled) : filled(results as string[]);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
