import { typeName } from '../base/type-name.js';

/** How long to wait before the next attempt. Durations in ms. */
export type Backoff =
  | { readonly kind: 'fixed'; readonly delayMs: number }
  | { readonly kind: 'linear'; readonly stepMs: number; readonly maxMs?: number | undefined }
  | {
      readonly kind: 'exponential';
      readonly initialMs: number;
      /** @defaultValue 2 */
      readonly factor?: number | undefined;
      /** @defaultValue 30_000 */
      readonly maxMs?: number | undefined;
    };

/**
 * When a failed activity or child is tried again. Pauses are durable timers, and each attempt
 * is an activity, or a child with an id, of its own: the events of native's built-in policy.
 */
export interface RetryPolicy {
  /** Attempts in all, the first one included; at least 1. @defaultValue 3 */
  readonly maxAttempts?: number | undefined;
  /** @defaultValue exponential from 100 ms, doubling, at most 30 s */
  readonly backoff?: Backoff | undefined;
  /** Limit of all attempts and pauses together, in ms. */
  readonly totalTimeoutMs?: number | undefined;
  /** Whether an attempt that ran into `timeoutMs` is tried again. @defaultValue false, as native */
  readonly retryOnTimeout?: boolean | undefined;
  /** Says `false` to give up at once. Deterministic: it decides from the error alone. */
  readonly retryIf?: ((error: Error) => boolean) | undefined;
}

const DEFAULT_ATTEMPTS = 3;
const DEFAULT_BACKOFF: Backoff = { kind: 'exponential', initialMs: 100 };
const DEFAULT_MAX_MS = 30_000;

/** @throws RangeError naming the field that cannot be meant */
export function attemptsOf({ maxAttempts = DEFAULT_ATTEMPTS }: RetryPolicy): number {
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1) {
    throw new RangeError(`retry.maxAttempts: expected an integer of at least 1, got ${maxAttempts}`);
  }
  return maxAttempts;
}

/** The pause after failed attempt `attempt` (from 1), in ms; 0 means none, and no timer. */
export function pauseAfterMs({ backoff = DEFAULT_BACKOFF }: RetryPolicy, attempt: number): number {
  switch (backoff.kind) {
    case 'fixed':
      return backoff.delayMs;
    case 'linear':
      return Math.min(backoff.stepMs * attempt, backoff.maxMs ?? DEFAULT_MAX_MS);
    case 'exponential':
      return Math.min(backoff.initialMs * (backoff.factor ?? 2) ** (attempt - 1), backoff.maxMs ?? DEFAULT_MAX_MS);
  }
}

/** @throws RangeError naming the definition and the field that cannot be meant */
export function checkAttempts(
  definition: string,
  { retry, timeoutMs }: { readonly retry?: RetryPolicy | undefined; readonly timeoutMs?: number | undefined },
): void {
  try {
    checkNumber('timeoutMs', timeoutMs);
    if (retry !== undefined) checkRetryPolicy(retry);
  } catch (error) {
    throw new RangeError(`${definition}: ${(error as Error).message}`, { cause: error });
  }
}

/** The field of each kind of backoff that has no default. */
const PAUSE_OF: Readonly<Record<Backoff['kind'], string>> = {
  fixed: 'delayMs',
  linear: 'stepMs',
  exponential: 'initialMs',
};

function checkRetryPolicy(given: unknown): void {
  if (!isObject(given)) {
    throw new RangeError(`retry: expected an object such as { maxAttempts: 3 }, got ${shown(given)}`);
  }
  const policy = given as unknown as RetryPolicy;
  attemptsOf(policy);
  checkBackoff(policy.backoff);
  for (const field of ['delayMs', 'stepMs', 'initialMs', 'factor', 'maxMs'] as const) {
    checkNumber(`retry.backoff.${field}`, (policy.backoff as Readonly<Record<string, unknown>> | undefined)?.[field]);
  }
  checkNumber('retry.totalTimeoutMs', policy.totalTimeoutMs);
}

function checkBackoff(backoff: unknown): void {
  if (backoff === undefined) return;
  if (!isObject(backoff)) {
    throw new RangeError(
      `retry.backoff: expected an object such as { kind: 'fixed', delayMs: 100 }, got ${shown(backoff)}`,
    );
  }
  const { kind } = backoff;
  if (typeof kind !== 'string' || !Object.hasOwn(PAUSE_OF, kind)) {
    throw new RangeError(`retry.backoff.kind: expected 'fixed', 'linear' or 'exponential', got ${shown(kind)}`);
  }
  const field = PAUSE_OF[kind as Backoff['kind']];
  if (backoff[field] === undefined) {
    throw new RangeError(`retry.backoff.${field}: expected a finite number from 0, got undefined`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : typeName(value);
}

function checkNumber(field: string, value: unknown): void {
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) return;
  throw new RangeError(
    `${field}: expected a finite number from 0, got ${typeof value === 'number' ? value : typeof value}`,
  );
}
