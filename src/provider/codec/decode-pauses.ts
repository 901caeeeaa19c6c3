/** Pause of an item that could not be decoded: the first one, doubling up to the second, in ms. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Instances whose pauses are remembered. */
const MAX_REMEMBERED = 1_000;

/** How long what cannot be decoded waits; forgotten when it can, and bounded. */
export class DecodePauses {
  private readonly byKey = new Map<string, number>();

  next(key: string): number {
    const ms = Math.min((this.byKey.get(key) ?? FIRST_PAUSE_MS / 2) * 2, LONGEST_PAUSE_MS);
    this.byKey.delete(key);
    this.byKey.set(key, ms);
    const oldest = this.byKey.keys().next();
    if (this.byKey.size > MAX_REMEMBERED && !oldest.done) this.byKey.delete(oldest.value);
    return ms;
  }

  forget(key: string): void {
    this.byKey.delete(key);
  }
}
