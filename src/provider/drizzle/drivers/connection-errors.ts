import { types } from 'node:util';

/** The fields that PostgreSQL's error message gives; the drivers agree on the names. */
export interface ServerError extends Error {
  /** SQLSTATE. */
  readonly code: string;
  readonly severity: string;
  readonly constraint?: string | undefined;
  readonly constraint_name?: string | undefined;
}

/** How deep causes are followed: Drizzle wraps once, pools and proxies may once more. */
const MAX_CAUSES = 5;

/** The server's error in `error` or its causes; `undefined` when the server said nothing. */
export function serverErrorOf(error: unknown): ServerError | undefined {
  return findCause(error, isServerError);
}

// The severity tells it from Node's own errors, whose codes can have five letters, too (EPIPE).
function isServerError(error: Error): error is ServerError {
  const { code, severity } = error as Partial<ServerError>;
  return typeof severity === 'string' && typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
}

const lostConnections = new WeakSet<Error>();

/**
 * Remembers that `error` came from the connection or the pool and not from the server
 * or from our own code. The drivers know this where it happens; nobody has to
 * recognise their messages later.
 */
export function markConnectionError(error: unknown): Error {
  const marked = isError(error) ? error : new Error('the connection failed', { cause: error });
  if (serverErrorOf(marked) === undefined) lostConnections.add(marked);
  return marked;
}

/**
 * Remembers that the server refused a login only because a token had just been replaced:
 * the next login takes the new one.
 */
export function markTokenRotation(error: Error): Error {
  lostConnections.add(error);
  return error;
}

/** Whether a driver marked `error`, or a cause of it, as a failure of the connection. */
export function isConnectionError(error: unknown): boolean {
  return findCause(error, (at): at is Error => lostConnections.has(at)) !== undefined;
}

/**
 * COMMIT was sent and nobody knows its answer, mostly because the connection was lost:
 * the transaction may have happened (P:T-35). Never repeat it.
 */
export class CommitUnknownError extends Error {
  override readonly name = 'CommitUnknownError';

  constructor(cause: unknown, reason = 'the connection was lost after COMMIT was sent') {
    super(reason, { cause });
  }
}

/**
 * Whether the server's error in answer to a COMMIT leaves open what happened: a server
 * that goes down may have written the commit record before it said so.
 */
export function leavesCommitOpen(error: ServerError): boolean {
  return /^(08|57P|58|XX)/.test(error.code);
}

function findCause<E extends Error>(error: unknown, matches: (error: Error) => error is E): E | undefined {
  let at: unknown = error;
  for (let depth = 0; isError(at) && depth < MAX_CAUSES; depth++) {
    if (matches(at)) return at;
    at = at.cause;
  }
  return undefined;
}

/** Also of another realm: under Jest, Node's own errors are no instances of the global `Error`. */
function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value);
}
