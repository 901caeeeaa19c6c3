import { exponentialDelayMs } from '../../base/backoff.js';
import { sleepReal } from '../../base/clock.js';
import type { Semaphore } from '../../base/semaphore.js';
import { ProviderError } from '../provider-error.js';
import type { Ms } from '../provider.js';
import type { ProviderContext } from './context.js';
import type { SqlValues, Transaction, TransactionOptions } from './executor.js';
import type { Statement } from './statement.js';
import { toProviderError } from './to-provider-error.js';

/** Tries in all, the first one included. */
const ATTEMPTS = 5;
/** Pause before the second attempt, in ms; it doubles: 10, 20, 40, 80. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 80;

export interface RetryOptions extends TransactionOptions {
  /** What remains of the lock that the operation works under, in ms: no attempt begins after it. */
  readonly withinMs?: Ms | undefined;
  /**
   * Doing it twice is the same as doing it once: reads, renewals. Then a lost answer to the
   * COMMIT is a lost connection like any other, and it is done again.
   */
  readonly repeatable?: boolean | undefined;
  /** Each attempt waits for its turn here. */
  readonly admission?: Semaphore | undefined;
}

/** The values of a statement, or how to make them from the moment of the attempt. */
export type ValuesAt = SqlValues | ((nowMs: Ms) => SqlValues);

/**
 * Runs `use` in a transaction at READ COMMITTED. The one place that retries: after a
 * retryable failure all of it is done again, in a new transaction and with a new
 * reading of the clock. `use` does SQL only, because it may run several times.
 * @throws ProviderError with the driver's error as its cause; never retried after a
 *   lost COMMIT (`outcome: 'unknown'`), except what is `repeatable`
 */
export function inTransaction<T>(
  ctx: ProviderContext,
  operation: string,
  use: (tx: Transaction, nowMs: Ms) => Promise<T>,
  options: RetryOptions = {},
): Promise<T> {
  const { admission } = options;
  const attempt = (nowMs: Ms) => ctx.driver.withTransaction((tx) => use(tx, nowMs), options);
  // The clock is read once more after the wait: what was due when it began may be long due.
  const admitted = admission && (() => admission.run(() => attempt(ctx.clock.nowMs())));
  return withRetries(ctx, operation, admitted ?? attempt, options);
}

/**
 * One writing statement as a transaction of its own: BEGIN, the statement and COMMIT
 * in one round trip where the driver can.
 * @throws ProviderError as {@link inTransaction}
 */
export function runStatement<Row>(
  ctx: ProviderContext,
  operation: string,
  statement: Statement<Row>,
  values: ValuesAt = {},
  options: RetryOptions = {},
): Promise<Row[]> {
  const run = (nowMs: Ms) => {
    const bound = typeof values === 'function' ? values(nowMs) : values;
    if (ctx.driver.runAlone) return ctx.driver.runAlone(statement, bound);
    return ctx.driver.withTransaction((tx) => tx.runLast(statement, bound), options);
  };
  return withRetries(ctx, operation, run, options);
}

/**
 * One statement that only reads, without a transaction.
 * @throws ProviderError
 */
export function readStatement<Row>(
  ctx: ProviderContext,
  operation: string,
  statement: Statement<Row>,
  values: ValuesAt = {},
): Promise<Row[]> {
  return withRetries(ctx, operation, (nowMs) => {
    const bound = typeof values === 'function' ? values(nowMs) : values;
    return ctx.driver.withConnection((executor) => executor.run(statement, bound));
  });
}

async function withRetries<T>(
  ctx: ProviderContext,
  operation: string,
  attempt: (nowMs: Ms) => Promise<T>,
  { withinMs = Infinity, repeatable = false }: RetryOptions = {},
): Promise<T> {
  ctx.heldConnection.refuseHolder(operation);
  // Real time, also under a fake clock: the pauses are real, and so is the server's view of the lock.
  const startedAt = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await attempt(ctx.clock.nowMs());
    } catch (cause) {
      const error = repeatable ? withoutDoubt(toProviderError(operation, cause)) : toProviderError(operation, cause);
      const pauseMs = exponentialDelayMs(FIRST_PAUSE_MS, tries, LONGEST_PAUSE_MS) * (0.5 + ctx.random());
      const isTimeLeft = performance.now() - startedAt + pauseMs < withinMs;
      if (!mayRepeat(error) || tries >= ATTEMPTS || !isTimeLeft) throw error;
      ctx.logger.debug({ operation, sqlState: error.sqlState, tries }, 'trying again');
      await sleepReal(pauseMs);
    }
  }
}

/** That it may have happened does not matter. */
function withoutDoubt(error: ProviderError): ProviderError {
  if (error.outcome === undefined) return error;
  const { operation, sqlState, cause } = error;
  return ProviderError.retryable(operation, 'I/O error: the connection was lost', { sqlState, cause });
}

function mayRepeat(error: ProviderError): boolean {
  return error.retryable && error.outcome === undefined;
}
