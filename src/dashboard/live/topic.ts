import type { LiveMessages } from '../views.js';

export type LiveListener = <K extends keyof LiveMessages>(name: K, data: LiveMessages[K]) => void;

/** One reading of the store that a topic repeats. */
export interface LiveTask {
  /** When it is due, on the poll's clock; `Infinity`: not until something happens. */
  dueAtMs: number;
  /** SQL statements that `run` sends at most, BEGIN, SET and COMMIT not counted: the poll rests a second for each. */
  readonly statements: number;
  /** Sets the next `dueAtMs` before it reads, reads, and publishes. */
  run(): Promise<void>;
}

/** What open pages look at: whatever their number, it is read once. */
export abstract class Topic {
  abstract readonly tasks: readonly LiveTask[];
  private readonly listeners = new Set<LiveListener>();

  get isWatched(): boolean {
    return this.listeners.size > 0;
  }

  listen(listener: LiveListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  publish: LiveListener = (name, data) => {
    for (const listener of this.listeners) listener(name, data);
  };
}
