const BRAND = Symbol.for('duroxide-drizzle.ProviderError');

/** Facts about a failure beside its message. */
export interface ProviderErrorFacts {
  /** Five characters of the server's error code, where there was one. */
  readonly sqlState?: string | undefined;
  /**
   * `'unknown'`: COMMIT was sent and its answer never came, so the change may be there
   * (P:T-35). Do not repeat it; read what happened.
   */
  readonly outcome?: 'unknown' | undefined;
  /** The driver's error. Not copied into the message: it may print parameters, which are payloads. */
  readonly cause?: unknown;
}

/**
 * A provider operation failed. Branch on `retryable`, never on `message`:
 * retryable means that the same call may succeed later (the connection broke, the
 * server restarted, a deadlock); permanent means that it will not.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /** As on every error that native's client reports from its engine (node-api.md 4.1). */
  readonly code = 'GenericFailure';
  readonly sqlState: string | undefined;
  readonly outcome: 'unknown' | undefined;

  private constructor(
    /** The operation, in native's spelling (provider.md 3.0). */
    readonly operation: string,
    /** What went wrong, without the operation. */
    readonly reason: string,
    readonly retryable: boolean,
    { sqlState, outcome, cause }: ProviderErrorFacts = {},
  ) {
    super(`${operation}: ${reason}`, cause === undefined ? undefined : { cause });
    this.sqlState = sqlState;
    this.outcome = outcome;
    Object.defineProperty(this, BRAND, { value: true });
  }

  static retryable(operation: string, reason: string, facts?: ProviderErrorFacts): ProviderError {
    return new ProviderError(operation, reason, true, facts);
  }

  static permanent(operation: string, reason: string, facts?: ProviderErrorFacts): ProviderError {
    return new ProviderError(operation, reason, false, facts);
  }

  /** Whether `error` is a provider error of any copy of this package. */
  static is(error: unknown): error is ProviderError {
    return error instanceof Error && BRAND in error;
  }
}

/** A scope was used after its transaction had ended; nothing was written (provider.md 3.4.7). */
export class TransactionEndedError extends Error {
  override readonly name = 'TransactionEndedError';

  constructor(operation: string) {
    super(
      `${operation}: the transaction of this scope has ended; nothing was written. Await every call inside the transaction.`,
    );
  }
}

/** A transactional activity tried to end its transaction by hand; the statement was not sent. */
export class TransactionControlError extends Error {
  override readonly name = 'TransactionControlError';

  constructor(what: string, command: string) {
    super(
      `${what}: ${command} is refused: the transaction is committed together with the completion when the handler ` +
        'returns, and rolled back when it throws. Use tx.transaction(…) for a part that may be undone',
    );
  }
}

/** The provider or the connection cannot do this; the message says what can. */
export class UnsupportedError extends Error {
  override readonly name = 'UnsupportedError';
}

/** Texts that callers and the conformance suite recognise (provider.md 3.0). */
export const errorTexts = {
  invalidLockToken: 'Invalid lock token',
  orchestrationLockLost: 'Lock token invalid, expired, or already released',
  workItemLockLost: 'Lock token invalid, expired, or already acked',
  workItemNotFound: 'Worker queue item not found or already processed',
  abandonedWorkItemNotFound: 'Invalid lock token or already acked',
  eventIdMissing: 'event_id must be set by runtime',
  directTurnRefused: 'The instance is not free, or not where the turn began',
  invalidCompletion: 'Invalid completion work item type',
} as const;
