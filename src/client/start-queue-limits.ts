import { isStorable, utf8Length } from '../base/text.js';
import type { StartLimits, StartRate } from '../provider/start-queues.js';

/** Bytes of UTF-8 of the id of a queue, and of a key. */
const MAX_ID_BYTES = 256;
/** The largest count, and the largest priority to either side. */
const MAX_COUNT = 1_000_000;
/** The longest period of a rate: what it counts is kept so long. In ms. */
const MAX_PERIOD_MS = 366 * 86_400_000;

/** Limits on how orchestrations are started; each of them may be left out. */
export interface StartQueueLimits {
  /** Instances of the queue that run at the same time, in all processes together. From 1 to 1,000,000. */
  readonly concurrency?: number | null | undefined;
  /** As {@link concurrency}, for each key by itself. */
  readonly concurrencyPerKey?: number | null | undefined;
  /** At most `limit` starts in any `periodMs`: a window that slides. `limit` from 1 to 1,000,000, `periodMs` up to 366 days. */
  readonly rate?: StartRate | null | undefined;
  /** As {@link rate}, for each key by itself. */
  readonly ratePerKey?: StartRate | null | undefined;
}

/** A start queue cannot be meant or used like this; the message names it, what was given and what was expected. Nothing was stored. */
export class StartQueueError extends Error {
  override readonly name = 'StartQueueError';
  readonly code = 'GenericFailure';

  constructor(
    readonly queueId: string,
    reason: string,
  ) {
    super(`start queue '${queueId}': ${reason}`);
  }
}

/** @throws StartQueueError */
export function checkedQueueId(id: unknown): string {
  const problem = problemOfText(id);
  if (problem !== undefined) throw new StartQueueError(String(id).slice(0, 60), `the id must be ${problem}`);
  return id as string;
}

/** @throws StartQueueError */
export function checkedKey(queue: string, key: unknown): string | null {
  if (key === undefined) return null;
  const problem = problemOfText(key);
  if (problem !== undefined) throw new StartQueueError(queue, `key must be ${problem}`);
  return key as string;
}

/** @throws StartQueueError */
export function checkedPriority(queue: string, priority: unknown): number {
  if (priority === undefined) return 0;
  if (Number.isInteger(priority) && Math.abs(priority as number) <= MAX_COUNT) return priority as number;
  throw new StartQueueError(
    queue,
    `priority must be a whole number from -${MAX_COUNT} to ${MAX_COUNT}, got ${described(priority)}`,
  );
}

/** Those of the limits that were given, checked; `null` takes a limit away. @throws StartQueueError */
export function checkedLimits(queue: string, limits: StartQueueLimits): Partial<StartLimits> {
  const { concurrency, concurrencyPerKey, rate, ratePerKey } = limits;
  return {
    ...(concurrency !== undefined && { concurrency: count(queue, 'concurrency', concurrency) }),
    ...(concurrencyPerKey !== undefined && {
      concurrencyPerKey: count(queue, 'concurrencyPerKey', concurrencyPerKey),
    }),
    ...(rate !== undefined && { rate: checkedRate(queue, 'rate', rate) }),
    ...(ratePerKey !== undefined && { ratePerKey: checkedRate(queue, 'ratePerKey', ratePerKey) }),
  };
}

function count(queue: string, what: string, value: unknown): number | null {
  if (value === null) return null;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_COUNT) return value as number;
  throw new StartQueueError(queue, `${what} must be a whole number from 1 to ${MAX_COUNT}, got ${described(value)}`);
}

function checkedRate(queue: string, what: string, rate: unknown): StartRate | null {
  if (rate === null) return null;
  if (typeof rate !== 'object') {
    throw new StartQueueError(queue, `${what} must be { limit, periodMs }, got ${described(rate)}`);
  }
  const { limit, periodMs } = rate as Partial<Record<keyof StartRate, unknown>>;
  const checked = count(queue, `${what}.limit`, limit);
  if (checked === null) throw new StartQueueError(queue, `${what}.limit must be a whole number, got null`);
  if (!(Number.isInteger(periodMs) && (periodMs as number) >= 1 && (periodMs as number) <= MAX_PERIOD_MS)) {
    throw new StartQueueError(
      queue,
      `${what}.periodMs must be a whole number from 1 to ${MAX_PERIOD_MS}, got ${described(periodMs)}`,
    );
  }
  return { limit: checked, periodMs: periodMs as number };
}

function problemOfText(text: unknown): string | undefined {
  if (typeof text !== 'string') return `a non-empty string, got ${described(text)}`;
  if (text === '') return "a non-empty string, got ''";
  if (!isStorable(text)) return 'free of NUL and unpaired surrogates';
  const bytes = utf8Length(text);
  return bytes > MAX_ID_BYTES ? `at most ${MAX_ID_BYTES} bytes long, got ${bytes}` : undefined;
}

function described(value: unknown): string {
  if (typeof value === 'number' || value === null || value === undefined) return String(value);
  return typeof value;
}
