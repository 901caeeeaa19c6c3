import { ProviderError } from '../../../src/index.js';

/** How long a call of the client is repeated before the suite gives up. */
export const PATIENCE_MS = 120_000;
const PAUSE_MS = 20;

/** How a call that was repeated came out. */
export interface Persisted<T> {
  readonly value: T;
  /** An earlier attempt of it may have happened: the answer to its COMMIT was lost. */
  readonly isInDoubt: boolean;
}

/**
 * Until it works: what the client's user would do with a retryable error.
 * @param isLost says which other errors are the doing of the suite
 */
export async function persist<T>(
  call: () => Promise<T>,
  isLost: (error: unknown) => boolean = () => false,
): Promise<Persisted<T>> {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  let isInDoubt = false;
  for (;;) {
    try {
      return { value: await call(), isInDoubt };
    } catch (error) {
      const isRetryable = (ProviderError.is(error) && error.retryable) || isLost(error);
      if (!isRetryable || performance.now() > giveUpAtMs) throw withDoubt(error, isInDoubt);
      isInDoubt ||= ProviderError.is(error) && error.outcome === 'unknown';
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

const IN_DOUBT = Symbol('in doubt');

function withDoubt(error: unknown, isInDoubt: boolean): unknown {
  if (isInDoubt && error instanceof Error) Object.defineProperty(error, IN_DOUBT, { value: true });
  return error;
}

/** Whether an attempt before the one that ended with this error may have happened. */
export function wasInDoubt(error: unknown): boolean {
  return error instanceof Error && IN_DOUBT in error;
}
