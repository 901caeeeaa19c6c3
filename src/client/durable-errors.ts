import type { ErrorDetails } from '../wire/error-details.js';
import type { FailureData } from '../wire/failure.js';
import { remoteErrorOf } from './remote-error.js';

/**
 * An activity failed, after its last attempt. `message` is the stored text, the same
 * that the drop-in API throws; `cause` is what the handler threw.
 */
export class ActivityError extends Error {
  override readonly name = 'ActivityError';

  constructor(
    readonly activityName: string,
    text: string,
    failure?: FailureData,
  ) {
    super(text, { cause: remoteErrorOf(text, failure) });
  }
}

/** A sub-orchestration failed or was cancelled. `message` tells name and message of what it threw, `cause` is that error. */
export class SubOrchestrationError extends Error {
  override readonly name: string = 'SubOrchestrationError';

  constructor(
    readonly orchestrationName: string,
    text: string,
    failure?: FailureData,
  ) {
    super(shown(text, failure), { cause: remoteErrorOf(text, failure) });
  }
}

/** A sub-orchestration was cancelled, by somebody or because it lost a race. */
export class SubOrchestrationCancelledError extends SubOrchestrationError {
  override readonly name = 'SubOrchestrationCancelledError';

  constructor(
    orchestrationName: string,
    text: string,
    readonly reason: string,
  ) {
    super(orchestrationName, text);
  }
}

/** A durable time-out fired before what it limited; the work was cancelled. */
export class DurableTimeoutError extends Error {
  override readonly name = 'DurableTimeoutError';

  constructor(
    /** What was limited, such as `activity 'charge'`. */
    readonly what: string,
    /** In ms. */
    readonly timeoutMs: number,
  ) {
    super(`timeout: ${what} did not end within ${timeoutMs} ms`);
  }
}

/** Which instance failed, and with what. */
export interface OrchestrationFailure {
  readonly instanceId: string;
  readonly orchestrationName: string;
  readonly text: string;
  readonly details?: ErrorDetails | undefined;
}

/**
 * The instance ended without a result. `message` is name and message of what its code
 * threw; `cause` is that error, with its causes across activities and children. Of other
 * writers, which keep a text alone, both are read from the text.
 */
export class OrchestrationFailedError extends Error {
  override readonly name: string = 'OrchestrationFailedError';
  readonly instanceId: string;
  readonly orchestrationName: string;
  /**
   * `Application`: the code threw, or was cancelled. `Configuration`: history and code do not
   * fit. `Poison`: given up after too many attempts. `Infrastructure`: the engine gave up.
   */
  readonly kind: ErrorDetails['kind'];

  constructor({ instanceId, orchestrationName, text, details }: OrchestrationFailure) {
    const failure = details?.kind === 'Application' ? details.failure : undefined;
    super(shown(text, failure), { cause: remoteErrorOf(text, failure) });
    this.instanceId = instanceId;
    this.orchestrationName = orchestrationName;
    this.kind = details?.kind ?? 'Application';
  }
}

/** The instance was cancelled before it had a result. */
export class OrchestrationCancelledError extends OrchestrationFailedError {
  override readonly name = 'OrchestrationCancelledError';

  constructor(
    failure: OrchestrationFailure,
    readonly reason: string,
  ) {
    super(failure);
  }
}

/** The stored text ends with a stack, which belongs into `remoteStack` of the cause. */
function shown(text: string, failure: FailureData | undefined): string {
  return failure ? `${failure.name}: ${failure.message}` : text;
}

const CANCELED = 'canceled: ';

/** The error of a failed instance. Without its details, as far as the text tells. */
export function orchestrationFailure(failure: OrchestrationFailure): OrchestrationFailedError {
  const { text, details } = failure;
  const isCancelled = details
    ? details.kind === 'Application' && details.application.kind === 'Cancelled'
    : text.startsWith(CANCELED);
  return isCancelled
    ? new OrchestrationCancelledError(failure, text.slice(CANCELED.length))
    : new OrchestrationFailedError(failure);
}

/** The error of a failed child. */
export function subOrchestrationError(name: string, text: string, failure?: FailureData): SubOrchestrationError {
  return failure === undefined && text.startsWith(CANCELED)
    ? new SubOrchestrationCancelledError(name, text, text.slice(CANCELED.length))
    : new SubOrchestrationError(name, text, failure);
}
