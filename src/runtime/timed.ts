import type { Clock } from '../base/clock.js';
import { ProviderError } from '../provider/provider-error.js';

/** A query that does not answer for so long is given up: a dead connection may never answer (C-39). */
export const QUERY_TIMEOUT_MS = 30_000;
/** Given to abort, which otherwise makes an error with a stack for every query. */
const ANSWERED = new Error('answered');

/**
 * The answer of `call`, or a retryable error after {@link QUERY_TIMEOUT_MS}. An answer that
 * comes too late goes to `late`, which gives back what it holds.
 */
export function timed<T>(
  clock: Clock,
  operation: string,
  call: () => Promise<T>,
  late: (answer: T) => void = () => undefined,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = new AbortController();
    let expired = false;
    clock.sleep(QUERY_TIMEOUT_MS, timer.signal).then(
      () => {
        expired = true;
        reject(ProviderError.retryable(operation, `no answer within ${QUERY_TIMEOUT_MS} ms`));
      },
      () => undefined,
    );
    // A provider that throws instead of rejecting is a failed call like any other.
    Promise.resolve()
      .then(call)
      .then(
        (answer) => {
          timer.abort(ANSWERED);
          if (expired) late(answer);
          else resolve(answer);
        },
        (error: unknown) => {
          timer.abort(ANSWERED);
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
  });
}
