import type { Clock } from '../../base/clock.js';

/**
 * A value that is read now and then: callers of the same moment share one reading, and a
 * reading younger than `everyMs` is not repeated.
 */
export class Cell<T> {
  private reading: Promise<T> | undefined;
  private value: { readonly it: T; readonly atMs: number } | undefined;

  constructor(
    private readonly clock: Clock,
    readonly everyMs: number,
    private readonly read: () => Promise<T>,
  ) {}

  /** When the next reading is due, on the cell's clock; a failed reading is due at once. */
  get dueAtMs(): number {
    return this.value === undefined ? -Infinity : this.value.atMs + this.everyMs;
  }

  /** The value if it is not older than it may be, else a new reading. */
  async fresh(): Promise<T> {
    return this.value !== undefined && this.clock.nowMs() < this.dueAtMs ? this.value.it : this.refresh();
  }

  /** A new reading, or the one that is under way. */
  refresh(): Promise<T> {
    this.reading ??= this.take().finally(() => (this.reading = undefined));
    return this.reading;
  }

  /** The next caller reads. */
  forget(): void {
    this.value = undefined;
  }

  private async take(): Promise<T> {
    const it = await this.read();
    this.value = { it, atMs: this.clock.nowMs() };
    return it;
  }
}
