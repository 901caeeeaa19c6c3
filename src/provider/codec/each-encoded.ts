import { ProviderError } from '../provider-error.js';
import type { Result } from '../provider.js';
import { CodecError } from './payload-codec.js';

/** Encodes the elements of a batch; one that cannot be encoded is answered with its error and never sent. */
export async function eachEncoded<Element, Value = void>(
  operation: string,
  elements: readonly Element[],
  encode: (element: Element) => Promise<Element>,
  send: (encoded: readonly Element[]) => Promise<Result<Value>[]>,
): Promise<Result<Value>[]> {
  const encoded = await Promise.allSettled(elements.map(encode));
  const ready = encoded.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const sent = ready.length > 0 ? await send(ready) : [];
  let next = 0;
  return encoded.map((outcome): Result<Value> => {
    if (outcome.status === 'rejected') return { ok: false, error: asProviderError(operation, outcome.reason) };
    return sent[next++] ?? { ok: false, error: ProviderError.permanent(operation, 'the provider gave no answer') };
  });
}

/** One of many that are read together: what cannot be decoded is answered by `otherwise`, and never fails the others. */
export async function decodedOr<T>(decode: () => Promise<T>, otherwise: (error: CodecError) => T): Promise<T> {
  try {
    return await decode();
  } catch (error) {
    if (!CodecError.is(error)) throw error;
    return otherwise(error);
  }
}

/** Permanent for whoever called; the runtime puts a turn off and tries again (see `CodecError.is(error.cause)`). */
export function asProviderError(operation: string, error: unknown): ProviderError {
  if (CodecError.is(error)) return ProviderError.permanent(operation, error.message, { cause: error });
  return ProviderError.is(error) ? error : ProviderError.permanent(operation, 'encoding failed', { cause: error });
}
