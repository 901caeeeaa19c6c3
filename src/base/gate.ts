import type { Clock } from './clock.js';

/** Given to abort, which otherwise makes an error with a stack for every wait that ends early. */
const WOKEN = new Error('woken');

/**
 * Where one loop waits for something to do. A `wake` that comes while the loop is busy
 * is remembered, so the next `wait` returns at once: no wake-up is ever lost.
 */
export class Gate {
  private woken = false;
  private release: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  wake(): void {
    this.woken = true;
    this.release?.();
  }

  /** Forgets wake-ups that came before now; for a loop that is about to look anyway. */
  reset(): void {
    this.woken = false;
  }

  /** Resolves at the next `wake`, or after `ms`; `true` if it was woken. Only one caller at a time. */
  async wait(ms = Infinity): Promise<boolean> {
    if (!this.woken && ms > 0) {
      const timer = new AbortController();
      await new Promise<void>((resolve) => {
        this.release = resolve;
        if (ms === Infinity) return;
        this.clock.sleep(ms, timer.signal).then(resolve, () => undefined);
      });
      this.release = undefined;
      timer.abort(WOKEN);
    }
    const { woken } = this;
    this.woken = false;
    return woken;
  }
}
