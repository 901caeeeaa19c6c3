import { ProviderError } from '../provider-error.js';
import { CommitUnknownError, isConnectionError, type ServerError, serverErrorOf } from './drivers/connection-errors.js';
import { classifySqlState, hasHarmlessMessage } from './sql-states.js';

/**
 * Whatever a driver or our own code threw, as the error that callers know. The
 * original is its cause; its text is taken over only where it cannot carry a payload.
 */
export function toProviderError(operation: string, error: unknown): ProviderError {
  if (ProviderError.is(error)) return error;
  if (error instanceof CommitUnknownError) {
    return ProviderError.retryable(operation, `I/O error: ${error.message}; it may have happened`, {
      outcome: 'unknown',
      sqlState: serverErrorOf(error)?.code,
      cause: error,
    });
  }
  const fromServer = serverErrorOf(error);
  if (isConnectionError(error)) {
    return ProviderError.retryable(operation, connectionReason(error), { sqlState: fromServer?.code, cause: error });
  }
  if (fromServer) return fromSqlState(operation, fromServer, error);
  // A message of somebody else's, such as a JSON parser's, may quote what it read.
  const name = error instanceof Error ? error.name : typeof error;
  return ProviderError.permanent(operation, `Unexpected error: ${name}`, { cause: error });
}

function fromSqlState(operation: string, fromServer: ServerError, cause: unknown): ProviderError {
  const sqlState = fromServer.code;
  const { retryable, prefix } = classifySqlState(sqlState);
  const constraint = fromServer.constraint ?? fromServer.constraint_name;
  const text = hasHarmlessMessage(sqlState) ? fromServer.message : `refused${constraint ? ` by ${constraint}` : ''}`;
  const reason = `${prefix} ${text} (SQLSTATE ${sqlState})`;
  return ProviderError[retryable ? 'retryable' : 'permanent'](operation, reason, { sqlState, cause });
}

function connectionReason(error: unknown): string {
  const { message, code } = error as { message: string; code?: unknown };
  if (serverErrorOf(error)) return `Authentication error (likely token rotation): ${message}`;
  // Node's socket errors have a code such as ECONNRESET; the pool's and the client's have none.
  return `${typeof code === 'string' ? 'I/O error:' : 'Connection pool error:'} ${message}`;
}
