import {
  ArgumentError,
  InstanceNotFoundError,
  InstanceRunningError,
  InvalidInputError,
  ScheduleError,
  SubOrchestrationDeleteError,
} from '../../client/errors.js';
import { StartQueueError } from '../../client/start-queue-limits.js';
import { ProviderError, UnsupportedError } from '../../provider/provider-error.js';

/** A request that cannot be answered as it was meant: the status, a code to branch on, and a sentence to show. */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly status: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 501 | 503,
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function badRequest(message: string): Problem {
  return new Problem(400, 'bad_request', message);
}

export function foreignPage(why: string): Problem {
  return new Problem(403, 'cross_site', `Refused as a request of a foreign page: ${why}.`);
}

/**
 * The problem behind an error of client or store. What is unexpected keeps its text to
 * itself: it may hold what a user's code threw.
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const because = { cause: error };
  if (error instanceof ArgumentError || error instanceof InvalidInputError) {
    return new Problem(400, 'bad_request', error.message, because);
  }
  if (error instanceof ScheduleError) {
    return error.message.includes('there is no schedule')
      ? new Problem(404, 'not_found', `There is no schedule '${error.scheduleId}'.`, because)
      : new Problem(400, 'bad_request', error.message, because);
  }
  if (error instanceof StartQueueError) {
    return error.message.includes('there is no queue')
      ? new Problem(404, 'not_found', `There is no start queue '${error.queueId}'.`, because)
      : new Problem(400, 'bad_request', error.message, because);
  }
  if (error instanceof InstanceNotFoundError) return new Problem(404, 'not_found', error.message, because);
  if (error instanceof InstanceRunningError) {
    return new Problem(409, 'running', 'The instance still runs: cancel it first, or force the deletion.', because);
  }
  if (error instanceof SubOrchestrationDeleteError) return new Problem(409, 'child', error.message, because);
  if (error instanceof UnsupportedError) return new Problem(501, 'unsupported', error.message, because);
  if (ProviderError.is(error)) return problemOfProvider(error);
  return new Problem(500, 'internal', 'Something went wrong on the server; its log says what.', because);
}

function problemOfProvider(error: ProviderError): Problem {
  const because = { cause: error };
  // Without a driver's error behind it, the operation refused of its own accord, and says why.
  if (error.cause === undefined) {
    if (/not found/i.test(error.reason)) return new Problem(404, 'not_found', error.reason, because);
    if (error.operation === 'list_instances_page') {
      return new Problem(400, 'bad_request', `The list cannot be read so: ${error.reason}.`, because);
    }
    if (error.operation === 'reset_instance') return new Problem(409, 'not_retried', error.reason, because);
  }
  return error.retryable
    ? new Problem(503, 'store_unavailable', 'The database does not answer at the moment.', because)
    : new Problem(500, 'store_failed', `The database refused: ${error.message}`, because);
}
