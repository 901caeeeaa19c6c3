/** What a fetcher got hold of, with whatever its engine needs to acknowledge it. */
export interface FetchedItem {
  readonly instance: string;
  /** Events that were loaded: every contestant has to hand them over. */
  readonly events: number;
}

/** One way to fetch and acknowledge, with its connections open. */
export interface Fetcher {
  /** One call of the engine's fetch; empty when nothing is ready. */
  fetch(withVersionFilter: boolean): Promise<readonly FetchedItem[]>;
  /** Commits one step for each: two events and an activity. */
  ack(items: readonly FetchedItem[]): Promise<void>;
  close(): Promise<void>;
}

export interface Contestant {
  readonly name: string;
  /** Which schema it works in: one that native migrated, or one of ours with our indexes. */
  readonly schema: 'native' | 'ours';
  /** Items that one call may return. */
  readonly limit: number;
  open(url: string, schema: string, connections: number): Promise<Fetcher>;
}

/** A lock longer than any measurement. */
export const LOCK_TIMEOUT_MS = 600_000;
