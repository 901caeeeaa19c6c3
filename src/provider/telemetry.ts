import type { WorkItem } from '../wire/work-item.js';
import type { AckOrchestrationItem, Provider } from './provider.js';

/** A turn that is about to run. */
export interface TurnFacts {
  readonly instance: string;
  readonly executionId: number;
  readonly orchestration: string;
  readonly version: string;
  /** Whether it goes on with a live execution instead of a replay. */
  readonly isWarm: boolean;
  /** How often its messages were fetched, from 1. */
  readonly attempt: number;
  readonly messages: number;
  readonly lockToken: string;
  /** What the start message carried; absent in later turns, and when nobody traced the start. */
  readonly trace: string | undefined;
}

/** A turn that is observed. None of its methods throws. */
export interface ObservedTurn {
  /** Runs the user's code in the context of the turn. */
  run<T>(code: () => T): T;
  /** The acknowledgement, with the context in the messages that carry one (provider.md 2.2). */
  stamp(ack: AckOrchestrationItem): AckOrchestrationItem;
  /** Called once. `outcome`: how the turn ended, or `refused` or `put off`. */
  end(outcome: string, error?: unknown): void;
}

/** An activity that is about to run. */
export interface ActivityFacts {
  readonly instance: string;
  readonly executionId: number;
  readonly activity: string;
  readonly orchestration: string;
  readonly workerId: string;
  readonly attempt: number;
  readonly trace: string | undefined;
}

/** What became of an activity; texts of failures are not part of it. */
export type ActivityEnd = 'completed' | 'failed' | 'discarded' | 'unavailable';

/**
 * What watches clients and runtimes; `duroxide-drizzle/otel` makes one. Absent, it costs a
 * check for `undefined` in each of these places.
 */
export interface Telemetry {
  /** The same store, with its operations observed. */
  observe(provider: Provider): Provider;
  /** Sends a message of a client; `send` gets it with the context of the call. */
  clientCall(item: WorkItem, send: (item: WorkItem) => Promise<void>): Promise<void>;
  turn(facts: TurnFacts): ObservedTurn;
  /** Runs an activity in its context; `endOf` reads its result. */
  activity<T>(facts: ActivityFacts, run: () => T | Promise<T>, endOf: (result: T) => ActivityEnd): T | Promise<T>;
  /** Reports the backlog of both queues until the returned function is called. */
  watchQueues(provider: Provider): () => void;
}
