/** How long to pause between attempts; all in ms. */
export type Backoff =
  | { readonly kind: 'none' }
  | { readonly kind: 'fixed'; readonly delayMs: number }
  | { readonly kind: 'linear'; readonly baseMs: number; readonly maxMs: number }
  | { readonly kind: 'exponential'; readonly baseMs: number; readonly multiplier: number; readonly maxMs: number };

/** How an activity is repeated (runtime.md 3.2). */
export interface Retry {
  /** Attempts in all, at least 1. */
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  /** Limit of one attempt; one that exceeds it is not repeated. */
  readonly timeoutMs?: number | undefined;
}

/** The default of every field that is not given. */
export const DEFAULT_BACKOFF: Backoff = { kind: 'exponential', baseMs: 100, multiplier: 2, maxMs: 30_000 };
export const DEFAULT_MAX_ATTEMPTS = 3;

/** What a policy that allows no attempt fails with. */
export const NO_ATTEMPT_MESSAGE = 'max_attempts must be at least 1';
/** The failure of an attempt that ran into its limit. */
export const TIMEOUT_MESSAGE = 'timeout: activity timed out';

/** The word of the drop-in API; unknown ones mean `linear`, as in native. */
export function namedBackoff(name: string | undefined): Backoff {
  switch (name) {
    case undefined:
    case 'exponential':
      return DEFAULT_BACKOFF;
    case 'fixed':
      return { kind: 'fixed', delayMs: 1000 };
    default:
      return { kind: 'linear', baseMs: 100, maxMs: 30_000 };
  }
}

/** The pause after failed attempt `attempt`, counted from 1. */
export function retryDelayMs(backoff: Backoff, attempt: number): number {
  switch (backoff.kind) {
    case 'none':
      return 0;
    case 'fixed':
      return backoff.delayMs;
    case 'linear':
      return Math.min(backoff.baseMs * attempt, backoff.maxMs);
    case 'exponential':
      // A base of 0 stays 0, where 0 · Infinity would be no number.
      return backoff.baseMs === 0 ? 0 : Math.min(backoff.baseMs * backoff.multiplier ** (attempt - 1), backoff.maxMs);
  }
}
