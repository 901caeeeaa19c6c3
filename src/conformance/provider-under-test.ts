import type { FakeClock } from '../base/clock.js';
import type { Provider } from '../provider/provider.js';

/**
 * A provider on empty storage, and the few things a test does behind its back. The
 * optional helpers are needed by some checks only; a check that misses one fails and
 * names it, unless the table of skips says why it cannot be shown.
 */
export interface ProviderUnderTest {
  readonly provider: Provider;
  /** The only time the provider knows. Checks move it; they never sleep. */
  readonly clock: FakeClock;
  /** Whether fetches of a held instance are answered with its tail (provider.md 3.4.4). */
  readonly answersTails: boolean;

  /** Overwrites all `event_data` of the instance with `{"garbage": true}`. */
  corruptHistory(instance: string): Promise<void>;
  /** The highest `attempt_count` in the orchestrator queue of the instance; 0 without rows. */
  highestAttemptCount(instance: string): Promise<number>;

  /** Runs SQL against the tables, whose names need no schema; rows as objects. */
  sql?(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** A transaction on a connection of its own, to stand in the provider's way. */
  openTransaction?(): Promise<ForeignTransaction>;
  /** Transactions of the user's Drizzle database, as taken by `Provider.within`. */
  readonly userTransactions?: UserTransactions | undefined;
  /** Starts so many providers at once on storage that does not exist yet. */
  startOnFreshStorage?(providers: number): Promise<FreshStart>;
  /** A provider on the same storage whose commits can lose their answer. */
  lossyProvider?(): Promise<LossyProvider>;
  /** A native runtime on the same storage. */
  nativePeer?(): Promise<NativePeer>;

  /** Ends what the test opened; the storage may be dropped or emptied. */
  cleanup(): Promise<void>;
}

/** Names of the helpers that an implementation may leave out. */
export type OptionalHelper =
  'sql' | 'openTransaction' | 'userTransactions' | 'startOnFreshStorage' | 'lossyProvider' | 'nativePeer';

export interface ForeignTransaction {
  run(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Resolves when so many connections wait for this transaction, directly or behind one another. */
  untilWaiting(connections: number): Promise<void>;
  rollback(): Promise<void>;
}

export interface UserTransactions {
  /** Commits when `use` resolves, rolls back when it rejects. */
  readonly run: <T>(use: (tx: unknown) => Promise<T>) => Promise<T>;
  /** A transaction inside `tx`. */
  readonly savepoint: <T>(tx: unknown, use: (tx: unknown) => Promise<T>) => Promise<T>;
}

export interface FreshStart {
  readonly providers: readonly Provider[];
  /** How often each migration is recorded, by name. */
  readonly recorded: ReadonlyMap<string, number>;
}

export interface LossyProvider {
  readonly provider: Provider;
  /** The next COMMIT reaches the server, its answer does not reach the provider. */
  loseNextCommit(): void;
}

/**
 * A native runtime, which knows only real time: the helper sets the clock to it, and
 * again before each question. It has the activity `Echo` (answers its input) and the
 * orchestration `Hello` (one `Echo`).
 */
export interface NativePeer {
  /** Starts `Hello` as a native client does. */
  start(instance: string, input: string): Promise<void>;
  /** Lets the native runtime work until `done` says so; `serve` says which halves it runs. */
  run(serve: 'orchestrations' | 'activities', done: () => Promise<boolean>): Promise<void>;
}

/** Why a check cannot be shown on a combination of provider and database. */
export interface Skip {
  /** The trap of the specification, e.g. `T-7`, or `-` where none applies. */
  readonly trap: string;
  readonly reason: string;
}

/** By check id, e.g. `XR-2`. */
export type Skips = Readonly<Record<string, Skip>>;
