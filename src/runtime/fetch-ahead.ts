/** Handlers that ended within so long say how many rows the next moment will need. In ms. */
const WINDOW_MS = 100;
/** Rows that one process holds at most. */
const MAX_HELD_ROWS = 500;

/**
 * How many activity rows a process may hold: as many as handlers may run, or, where they
 * are so fast that a fetch would starve them, as many as ended in the last window.
 */
export class FetchAhead {
  private windowBeganAtMs = 0;
  private inWindow = 0;
  private inLastWindow = 0;

  constructor(private readonly concurrency: number) {}

  handlerEnded(nowMs: number): void {
    this.roll(nowMs);
    this.inWindow += 1;
  }

  limit(nowMs: number): number {
    this.roll(nowMs);
    const ended = Math.max(this.inWindow, this.inLastWindow);
    return Math.max(this.concurrency, Math.min(ended, MAX_HELD_ROWS));
  }

  private roll(nowMs: number): void {
    const passed = nowMs - this.windowBeganAtMs;
    if (passed < WINDOW_MS) return;
    this.inLastWindow = passed < 2 * WINDOW_MS ? this.inWindow : 0;
    this.inWindow = 0;
    this.windowBeganAtMs = nowMs;
  }
}
