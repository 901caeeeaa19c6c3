/** How long a dispatcher pauses after its `count`-th failed fetch in a row: 200, 400, … 3000 ms. */
export function fetchErrorPauseMs(count: number): number {
  return Math.min(100 * 2 ** Math.min(count, 10), 3_000);
}

/** After an error that will not go away by itself there is nothing to back off from. */
export const PERMANENT_ERROR_PAUSE_MS = 100;

/** An item that nobody registered: 1, 2, 4, … of the base delay, at most the cap (runtime.md 1.8). */
export function unregisteredDelayMs(attempt: number, baseMs: number, maxMs: number): number {
  return Math.min(baseMs * 2 ** Math.min(Math.max(attempt, 1) - 1, 6), maxMs);
}
