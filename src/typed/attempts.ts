import {
  ActivityError,
  DurableTimeoutError,
  SubOrchestrationCancelledError,
  SubOrchestrationError,
} from '../client/durable-errors.js';
import { utf8Length } from '../base/text.js';
import { MAX_INSTANCE_ID_BYTES } from '../wire/limits.js';
import { cancelCall, type DurableCall, durableCall } from './durable-call.js';
import type { ReplaySafeLog } from './replay-safe-log.js';
import { attemptsOf, pauseAfterMs, type RetryPolicy } from './retry-policy.js';

/** What retries need of the context of an orchestration. */
export interface RetryingContext {
  readonly log: ReplaySafeLog;
  sleep(ms: number): DurableCall<void>;
  withTimeout<T>(task: Promise<T>, ms: number, what?: string): DurableCall<T>;
}

export interface Attempts {
  /** What is tried, such as `activity 'charge'`. */
  readonly what: string;
  readonly policy: RetryPolicy;
  /** Makes one attempt, counted from 1. */
  readonly attempt: (number: number) => DurableCall<unknown>;
}

/** The attempts of a policy one after the other, with its pauses; cancelled, it cancels the one at hand. */
export function withRetries(ctx: RetryingContext, { what, policy, attempt }: Attempts): DurableCall<unknown> {
  const attempts = attemptsOf(policy);
  let current: Promise<unknown> | undefined;
  const following = async (): Promise<unknown> => {
    for (let tries = 1; ; tries++) {
      try {
        return await (current = attempt(tries));
      } catch (error) {
        if (tries >= attempts || !isWorthRetrying(policy, error as Error)) throw error;
        ctx.log.warn(`${what} failed, trying again`, { attempt: tries });
        const pauseMs = pauseAfterMs(policy, tries);
        if (pauseMs > 0) await (current = ctx.sleep(pauseMs));
      }
    }
  };
  const all = durableCall(following(), () => current && cancelCall(current));
  const { totalTimeoutMs } = policy;
  return totalTimeoutMs === undefined ? all : ctx.withTimeout(all, totalTimeoutMs, `${what} with its retries`);
}

/**
 * The id of an attempt's instance. Derived ids differ by themselves; of a given one the first
 * attempt has it, and the later ones have ids below it, since ids are not used twice.
 */
export function childAttemptId(id: string | undefined, attempt: number): string | null {
  if (id === undefined) return null;
  return attempt === 1 ? id : `${id}::retry::${attempt}`;
}

/**
 * A first attempt whose id fits must not become a later one whose id does not: that would
 * end the parent, past all of its code.
 * @throws RangeError naming the definition, the length and the room that retries need
 */
export function checkRoomForAttempts(definition: string, { id, retry }: ChildAttempts): void {
  if (id === undefined || retry === undefined) return;
  const bytes = utf8Length(id);
  const attempts = attemptsOf(retry);
  const room = utf8Length(childAttemptId(id, attempts) ?? '') - bytes;
  // One that is too long by itself is refused as without retries.
  if (bytes > MAX_INSTANCE_ID_BYTES || bytes + room <= MAX_INSTANCE_ID_BYTES) return;
  throw new RangeError(
    `${definition}: the id (${bytes} bytes) leaves no room for its retries: expected at most ` +
      `${MAX_INSTANCE_ID_BYTES - room} bytes, since the limit is ${MAX_INSTANCE_ID_BYTES} bytes and ` +
      `the ids of ${attempts} attempts need ${room} more`,
  );
}

interface ChildAttempts {
  readonly id?: string | undefined;
  readonly retry?: RetryPolicy | undefined;
}

/** What the parent is told of an id that is taken (runtime.md 1.4): the next id is not a second try of this child. */
const TAKEN = /^sub-orchestration instance id '[^]*' already exists( and is terminal)?$/;

function isWorthRetrying({ retryOnTimeout = false, retryIf }: RetryPolicy, error: Error): boolean {
  if (error instanceof DurableTimeoutError) return retryOnTimeout;
  // Somebody has ended it: that is no accident.
  if (error instanceof SubOrchestrationCancelledError) return false;
  if (error instanceof SubOrchestrationError && TAKEN.test(error.message)) return false;
  // A violation of the rules of orchestrations is no failure of what was called.
  const hasFailed = error instanceof ActivityError || error instanceof SubOrchestrationError;
  return hasFailed && (retryIf?.(error) ?? true);
}
