import type { FailureData } from '../../wire/failure.js';
import type { EmittedAction } from './action.js';

/** Names an emitted action, from 1 in the order of emission; the engine binds it to an event id. */
export type Token = number;

/** How the user's code ended. */
export type DriverOutcome =
  /** It returned; `output` is the text to store. */
  | { readonly kind: 'output'; readonly output: string }
  /** It threw, or something that it cannot catch went wrong in it: an application failure. */
  | { readonly kind: 'error'; readonly message: string; readonly failure?: FailureData | undefined }
  /** The turn cannot go on: `orchestration panicked: <message>`; nothing of the turn's decisions is kept. */
  | { readonly kind: 'panic'; readonly message: string };

/**
 * Runs one execution of an orchestration function for the engine: it translates between
 * the user's code and tokens. Both methods return nothing when all that follows from the
 * call has happened (generators), or a promise of that moment (async functions).
 *
 * A method that throws or rejects aborts the turn: nothing is decided, the live execution
 * is unusable and the caller of the turn gets the error. Failures of the user's code do
 * not belong there; they are reported by `done`.
 */
export interface OrchestrationDriver {
  /** Runs the code up to its first wait. Called once. */
  start(): void | Promise<void>;
  /**
   * Hands over the outcome of one action, in ascending order of tokens among those that
   * became ready together. Each token is delivered at most once, and never after a `drop`.
   * `value` is the result or, with `failed`, the display text of the failure; timers give `null`. `failure` is
   * what was kept of the error beside the text, if anything.
   */
  deliver(token: Token, value: string | null, failed: boolean, failure?: FailureData): void | Promise<void>;
}

/** The in-memory key-value store of the instance, as the code has made it so far. */
export interface KeyValueStore {
  get(key: string): string | null;
  /** A copy, in no fixed order. */
  entries(): Map<string, string>;
  readonly size: number;
  set(key: string, value: string): void;
  /** Records the decision even where the key is absent, as native does. */
  clear(key: string): void;
  clearAll(): void;
  /** Clears the keys last set before `cutoffMs` and says how many (runtime.md 3.11). */
  pruneUpdatedBefore(cutoffMs: number): number;
}

export interface CustomStatus {
  /**
   * What native answers: after continue-as-new the carried value reads back even where the
   * first stretch of the code has set another one (D-12).
   */
  get(): string | null;
  /** The last value set or carried (the typed API's reading). */
  latest(): string | null;
  /** `null` clears it. */
  set(status: string | null): void;
}

/**
 * What a driver may ask of the engine. All of it is legal only while a call of `start` or
 * `deliver` is under way (until its promise settles); elsewhere it throws `OutsideTurnError`.
 */
export interface EnginePort {
  /** Records a decision; its outcome comes by `deliver` under the returned token. */
  emit(action: EmittedAction): Token;
  /** The code has lost interest (a lost race). Ignored when the outcome was delivered already. */
  drop(token: Token): void;
  /** The code has ended. Nothing is delivered afterwards. */
  done(outcome: DriverOutcome): void;
  readonly keyValues: KeyValueStore;
  readonly customStatus: CustomStatus;
  /** Whether the code is going again through what earlier turns decided: traces keep silent then. */
  readonly replaying: boolean;
  /** Whether a call into the driver is under way. */
  readonly active: boolean;
}

/** Which execution a driver runs. */
export interface ExecutionInfo {
  readonly instance: string;
  readonly executionId: number;
  readonly name: string;
  readonly version: string;
  readonly input: string;
}

/** Makes the driver of one execution; the user's code does not run before `start`. */
export type CreateDriver = (port: EnginePort, info: ExecutionInfo) => OrchestrationDriver;

/** A durable call was made while the engine was not running this execution's code. */
export class OutsideTurnError extends Error {
  override readonly name = 'OutsideTurnError';
  constructor() {
    super('an orchestration context was used outside its own turn: await nothing but durable tasks of this context');
  }
}
