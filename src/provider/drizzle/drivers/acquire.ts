import type { Ms } from '../../provider.js';
import { markConnectionError } from './connection-errors.js';

export const DEFAULT_ACQUIRE_TIMEOUT_MS: Ms = 30_000;

/**
 * Waits for a connection, but not for ever: a call inside an open transaction of the
 * only connection would wait for itself (C-10).
 * @param late is given what comes after all
 * @throws a connection error
 */
export async function inAcquireTime<T>(timeoutMs: Ms, acquiring: Promise<T>, late: (acquired: T) => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      reject(acquireTimeout(timeoutMs));
    }, timeoutMs);
  });
  acquiring.then(
    (acquired) => isLate && late(acquired),
    () => {},
  );
  try {
    return await Promise.race([acquiring, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

function acquireTimeout(timeoutMs: Ms): Error {
  return markConnectionError(
    new Error(
      `no connection became free within ${timeoutMs} ms; a call inside an open transaction of the only connection ` +
        'waits for itself: use within(tx) there, or a pool of more than one',
    ),
  );
}
