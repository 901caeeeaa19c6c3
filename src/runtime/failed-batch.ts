import type { Result } from '../provider/provider.js';
import { ProviderError } from '../provider/provider-error.js';

/** What every element of a batch is told when the call itself failed. */
export function failedWith(operation: string): (error: unknown) => Result {
  return (error) => ({
    ok: false,
    error: ProviderError.is(error)
      ? error
      : ProviderError.retryable(operation, 'the provider failed', { cause: error }),
  });
}
