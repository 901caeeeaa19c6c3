/** `base · 2^(attempt − 1)`, at most `max`; `attempt` counts from 1. All in ms. */
export function exponentialDelayMs(baseMs: number, attempt: number, maxMs: number): number {
  return Math.min(baseMs * 2 ** Math.max(0, attempt - 1), maxMs);
}

/** A pause somewhere in `[fromMs, toMs)`; `random` is injected so that tests can decide. */
export function jitterMs(fromMs: number, toMs: number, random: () => number = Math.random): number {
  return fromMs + random() * (toMs - fromMs);
}
