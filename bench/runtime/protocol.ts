import type { EngineName } from './engines.js';

/** What a child process is started with, as JSON in its first argument. */
export interface ChildParams {
  readonly engine: EngineName;
  readonly url: string;
  readonly schema: string;
  readonly workload: Workload;
  /** Distinguishes the ids of several processes. */
  readonly name: string;
  readonly seed: number;
}

/** What a child does once its runtime is up. */
export type Workload =
  /** Keeps so many instances in flight, for a while. */
  | {
      readonly kind: 'load';
      readonly orchestration: string;
      readonly input: unknown;
      readonly inFlight: number;
      readonly warmUpMs: number;
      readonly windowMs: number;
      /** Clients that wait beside for instances that do not end. */
      readonly waiters?: number;
    }
  /** One instance after the other. */
  | {
      readonly kind: 'sequence';
      readonly orchestration: string;
      readonly input: unknown;
      readonly count: number;
      /** What the instances before the window get, where `input` would take too long; absent: `input`. */
      readonly warmUpInput?: unknown;
      /** Instances before the window go on for at least so long. @defaultValue 0 */
      readonly warmUpMs?: number;
    }
  /** Serves until it is told to end: somebody else starts and counts. */
  | {
      readonly kind: 'serve';
      /** Clients that wait for instances that do not end. */
      readonly waiters?: number;
    };

export type ChildMessage =
  /** The runtime is up. */
  | { readonly kind: 'ready' }
  /** The measured window begins, ends. Each is answered with `go`, so that the parent can read its counters. */
  | { readonly kind: 'begin' }
  | { readonly kind: 'end'; readonly result: ChildResult }
  | { readonly kind: 'failed'; readonly error: string };

export type ParentMessage = { readonly kind: 'go' } | { readonly kind: 'exit' };

export interface ChildResult {
  /** Instances that were seen to complete in the window. */
  readonly completed: number;
  /** Activities that ran in the window. */
  readonly activities: number;
  readonly elapsedMs: number;
  /** From before the start was sent until its result was seen; a sample. */
  readonly latenciesMs: readonly number[];
  readonly clientCpuMs: number;
  readonly rssBytes: number;
}
