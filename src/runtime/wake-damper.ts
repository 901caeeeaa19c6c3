/** The longest pause before looking at what all processes were told of, in ms. */
const MAX_SPREAD_MS = 256;
/** How long a single item may stand there before those who are usually too late fetch it, in ms, and up to twice as long. */
const PATIENCE_MS = 2_000;

/**
 * Keeps a herd from running for one item (C-27). All idle processes hear of new work at the
 * same moment, and one can have it. Whoever came too late waits a little, and differently
 * long, the next time; whoever found something goes at once. So a lone process never
 * waits, and of many a few are quick and the others look when the work is gone.
 */
export class WakeDamper {
  private spreadMs = 0;

  constructor(private readonly random: () => number) {}

  /** How long to wait before the next look, in ms; 0: not at all. */
  pauseMs(): number {
    return this.spreadMs * this.random();
  }

  /** How long to leave a single item to somebody quicker, in ms; 0: not at all. */
  patienceMs(): number {
    return this.spreadMs === 0 ? 0 : PATIENCE_MS * (1 + this.random());
  }

  found(): void {
    this.spreadMs = 0;
  }

  foundNothing(): void {
    this.spreadMs = this.spreadMs === 0 ? 1 : Math.min(this.spreadMs * 2, MAX_SPREAD_MS);
  }
}
