import type { FailureData } from '../wire/failure.js';

/** A failure that happened elsewhere, as far as it was stored: name, message and stack of what was thrown there. */
export class RemoteError extends Error {
  constructor(
    /** Such as `TypeError`. */
    override readonly name: string,
    message: string,
    /** The stack where it was thrown; absent where only a text came over. */
    readonly remoteStack?: string | undefined,
    /** Such as `ECONNREFUSED`. */
    readonly code?: string | undefined,
    /** The activity or child whose failure it is. */
    readonly origin?:
      { readonly activity?: string | undefined; readonly orchestration?: string | undefined } | undefined,
  ) {
    super(message);
  }
}

/** How an activity's failure text begins (node-api.md 8.1). */
const ACTIVITY_PREFIX = /^Activity '([^']*)' JS execution failed: \w+, /;
/** `Name: message` as `String(error)` prints it, and perhaps lines of a stack. */
const PRINTED_ERROR = /^([A-Za-z_$][\w$]*(?:Error|Exception)?)(?:: ([^]*?))?(\n {4}at [^]*)?$/;

/** What was thrown at the origin: from the data kept of it, or read back from the text that was stored. */
export function remoteErrorOf(text: string, failure?: FailureData): Error {
  return failure ? fromData(failure) : fromText(text);
}

function fromData({ name, message, stack, code, activity, orchestration, cause }: FailureData): RemoteError {
  const origin = activity === undefined && orchestration === undefined ? undefined : { activity, orchestration };
  const error = new RemoteError(name, message, stack, code, origin);
  if (cause) error.cause = fromData(cause);
  return error;
}

function fromText(text: string): RemoteError {
  const bare = text.replace(ACTIVITY_PREFIX, '');
  const match = PRINTED_ERROR.exec(bare);
  const [, name, message, stack] = match ?? [];
  if (name === undefined || (message === undefined && !/Error$/.test(name))) return new RemoteError('Error', bare);
  const error = new RemoteError(name, message ?? '', stack?.slice(1));
  // A text inside the text: an activity's failure that an orchestration passed on.
  if (message !== undefined && ACTIVITY_PREFIX.test(message)) error.cause = fromText(message);
  return error;
}

/**
 * What is kept of something thrown. Where an error of a durable call is passed on, its
 * own causes go along, so the chain reaches from the client to the handler that threw.
 */
export function failureDataOf(thrown: unknown): FailureData | undefined {
  return thrown instanceof Error ? dataOf(thrown, new Set()) : undefined;
}

function dataOf(error: Error, seen: Set<Error>): FailureData {
  seen.add(error);
  const { cause } = error;
  const { code, activityName, orchestrationName, remoteStack, origin } = error as Error &
    Readonly<Record<string, unknown>>;
  const known = origin as RemoteError['origin'];
  return {
    name: text(error.name) ?? 'Error',
    message: text(error.message) ?? '',
    stack: text(remoteStack) ?? text(error.stack),
    code: text(code),
    activity: text(activityName) ?? known?.activity,
    orchestration: text(orchestrationName) ?? known?.orchestration,
    cause: cause instanceof Error && !seen.has(cause) ? dataOf(cause, seen) : undefined,
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
