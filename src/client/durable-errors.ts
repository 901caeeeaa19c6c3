/** A failure that happened elsewhere, as far as it was stored: name, message and stack of what was thrown there. */
export class RemoteError extends Error {
  constructor(
    /** Such as `TypeError`. */
    override readonly name: string,
    message: string,
    /** Lines of the stack where it was thrown; absent where only a text came over. */
    readonly remoteStack?: string | undefined,
  ) {
    super(message);
  }
}

/**
 * An activity failed, after its last attempt. `message` is the stored text, the same
 * that the drop-in API throws; `cause` is what the handler threw.
 */
export class ActivityError extends Error {
  override readonly name = 'ActivityError';

  constructor(
    readonly activityName: string,
    text: string,
  ) {
    super(text, { cause: remoteErrorOf(text) });
  }
}

/** A sub-orchestration failed or was cancelled. `message` is its error text, `cause` what it threw. */
export class SubOrchestrationError extends Error {
  override readonly name: string = 'SubOrchestrationError';

  constructor(
    readonly orchestrationName: string,
    text: string,
  ) {
    super(text, { cause: remoteErrorOf(text) });
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

/**
 * The instance ended without a result. `message` is the stored text, which may hold what
 * the orchestration's author put into it; `cause` is what its code threw.
 */
export class OrchestrationFailedError extends Error {
  override readonly name: string = 'OrchestrationFailedError';

  constructor(
    readonly instanceId: string,
    readonly orchestrationName: string,
    text: string,
  ) {
    super(text, { cause: remoteErrorOf(text) });
  }
}

/** The instance was cancelled before it had a result. */
export class OrchestrationCancelledError extends OrchestrationFailedError {
  override readonly name = 'OrchestrationCancelledError';

  constructor(
    instanceId: string,
    orchestrationName: string,
    text: string,
    readonly reason: string,
  ) {
    super(instanceId, orchestrationName, text);
  }
}

const CANCELED = 'canceled: ';
/** How an activity's failure text begins (node-api.md 8.1). */
const ACTIVITY_PREFIX = /^Activity '[^']*' JS execution failed: \w+, /;
/** `Name: message` as `String(error)` prints it, and perhaps lines of a stack. */
const PRINTED_ERROR = /^([A-Za-z_$][\w$]*(?:Error|Exception)?)(?:: ([^]*?))?(\n {4}at [^]*)?$/;

/** The error of a failed instance, by its text. */
export function orchestrationFailure(instance: string, name: string, text: string): OrchestrationFailedError {
  return text.startsWith(CANCELED)
    ? new OrchestrationCancelledError(instance, name, text, text.slice(CANCELED.length))
    : new OrchestrationFailedError(instance, name, text);
}

/** The error of a failed child, by its text. */
export function subOrchestrationError(name: string, text: string): SubOrchestrationError {
  return text.startsWith(CANCELED)
    ? new SubOrchestrationCancelledError(name, text, text.slice(CANCELED.length))
    : new SubOrchestrationError(name, text);
}

/** What was thrown at the origin, read back from the text that was stored of it. */
export function remoteErrorOf(text: string): Error {
  const bare = text.replace(ACTIVITY_PREFIX, '');
  const match = PRINTED_ERROR.exec(bare);
  const [, name, message, stack] = match ?? [];
  if (name === undefined || (message === undefined && !/Error$/.test(name))) return new RemoteError('Error', bare);
  const error = new RemoteError(name, message ?? '', stack?.slice(1));
  // A text inside the text: an activity's failure that an orchestration passed on.
  if (message !== undefined && ACTIVITY_PREFIX.test(message)) error.cause = remoteErrorOf(message);
  return error;
}
