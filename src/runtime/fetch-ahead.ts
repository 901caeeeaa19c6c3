import type { RuntimeCore } from './core.js';

/** A process holds what its slots get done within so long. In ms. */
const AHEAD_MS = 100;
/** Rows that one process holds at most, where its slots are not more. */
const MAX_HELD_ROWS = 500;
/** Of so many handlers the mean is known: quick ones in a row are believed only after a while. */
const MEMORY = 16;
/** A row that found no slot for so long goes back: another process may have one. In ms. */
const PATIENCE_MS = 1_000;

/**
 * How many activity rows a process may hold: as many as handlers may run, or, where they
 * are so fast that a fetch would starve them, as many as the slots get done in a moment.
 * That is a guess from the handlers before; rows for which it was wrong are given back.
 */
export class FetchAhead {
  /** Until something is known, handlers are taken to be slow. */
  private meanMs = AHEAD_MS;
  private isWatching = false;

  constructor(
    private readonly core: Pick<RuntimeCore, 'clock' | 'stopping'>,
    private readonly concurrency: number,
    /** Gives back what has waited for a slot since before that moment, and says how many rows still wait. */
    private readonly giveBack: (takenBeforeMs: number) => { readonly givenBack: number; readonly waiting: number },
  ) {}

  get limit(): number {
    const doneAhead = Math.floor((this.concurrency * AHEAD_MS) / Math.max(this.meanMs, 0.001));
    return Math.max(this.concurrency, Math.min(doneAhead, MAX_HELD_ROWS));
  }

  handlerEnded(durationMs: number): void {
    this.meanMs += (durationMs - this.meanMs) / MEMORY;
  }

  /** Rows wait for a slot: from now on it is seen to it that they do not wait for long. */
  rowsWait(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    this.core.clock.sleep(PATIENCE_MS, this.core.stopping).then(
      () => this.look(),
      // The runtime stops, and gives back everything itself.
      () => undefined,
    );
  }

  private look(): void {
    this.isWatching = false;
    const { givenBack, waiting } = this.giveBack(this.core.clock.nowMs() - PATIENCE_MS);
    // Or the next fetch would take them all again.
    if (givenBack > 0) this.meanMs = Math.max(this.meanMs, AHEAD_MS);
    if (waiting > 0) this.rowsWait();
  }
}
