/** The longest pause before looking at what all processes were told of, in ms. */
const MAX_SPREAD_MS = 256;
/** A single item is left to the quicker for so many times the longest pause. */
const PATIENCE_FACTOR = 8;

/**
 * Keeps a herd from running for one item (C-27). All idle processes hear of new work at the
 * same moment, and one can have it. Whoever came too late twice waits a little, and differently
 * long, the next time; whoever found something goes at once. So a lone process never
 * waits, and of many a few are quick and the others look when the work is gone. To come
 * too late once says nothing: the only worker of a schema does when one fetch brings
 * what two notifications tell of.
 */
export class WakeDamper {
  private wasLate = false;
  private spreadMs = 0;

  constructor(private readonly random: () => number) {}

  /** How long to wait before the next look, in ms; 0: not at all. */
  pauseMs(): number {
    return this.spreadMs * this.random();
  }

  /** How long to leave a single item to somebody quicker, in ms; 0: not at all. */
  patienceMs(): number {
    return PATIENCE_FACTOR * this.spreadMs * (1 + this.random());
  }

  found(): void {
    this.wasLate = false;
    this.spreadMs = 0;
  }

  foundNothing(): void {
    if (this.wasLate) this.spreadMs = this.spreadMs === 0 ? 1 : Math.min(this.spreadMs * 2, MAX_SPREAD_MS);
    this.wasLate = true;
  }
}
