export { ScheduleError } from '../schedule/definition.js';

/**
 * An argument has the wrong JavaScript type. `code` is the one that native's binding
 * gives; branch on it, not on the message.
 */
export class ArgumentError extends TypeError {
  override readonly name = 'ArgumentError';

  constructor(
    readonly code: 'StringExpected' | 'NumberExpected' | 'BooleanExpected' | 'InvalidArg',
    message: string,
  ) {
    super(message);
  }
}

/** A value has the right type but cannot be used: an empty or over-long id, a reserved one, a payload over the limit. */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';
  readonly code = 'GenericFailure';

  constructor(reason: string) {
    super(`Invalid input: ${reason}`);
  }
}

/**
 * A wait ended without what it waited for. The instance goes on. Its message begins with
 * native's words, which are all of it where the method is native's.
 */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError';
  readonly code = 'GenericFailure';

  constructor(
    readonly instanceId: string,
    /** How long was waited, in ms. */
    readonly timeoutMs: number,
    /** What did not come, for the message. */
    what?: string,
  ) {
    super(what === undefined ? 'Operation timed out' : `Operation timed out: ${what} within ${timeoutMs} ms`);
  }
}

/** No instance has this id, or no runtime has taken its start message yet. */
export class InstanceNotFoundError extends Error {
  override readonly name = 'InstanceNotFoundError';
  readonly code = 'GenericFailure';

  constructor(
    readonly instanceId: string,
    cause: unknown,
    message = `Instance ${instanceId} not found`,
  ) {
    super(message, { cause });
  }
}

/** `ifExists: 'error'`: an instance of this id was started before. Nothing was stored. */
export class InstanceExistsError extends Error {
  override readonly name = 'InstanceExistsError';
  readonly code = 'GenericFailure';

  constructor(
    readonly instanceId: string,
    readonly orchestrationName: string,
  ) {
    super(`orchestration '${orchestrationName}' was not started: instance '${instanceId}' exists already`);
  }
}

/** The instance still runs: cancel it first, or delete with `force`. */
export class InstanceRunningError extends Error {
  override readonly name = 'InstanceRunningError';
  readonly code = 'GenericFailure';

  constructor(
    readonly instanceId: string,
    cause: unknown,
  ) {
    super(
      `delete_instances_atomic: error returned from database: Instance ${instanceId} is Running. Use force=true to delete.`,
      { cause },
    );
  }
}

/** A sub-orchestration goes with its root and cannot be deleted alone, even with `force`. */
export class SubOrchestrationDeleteError extends Error {
  override readonly name = 'SubOrchestrationDeleteError';
  readonly code = 'GenericFailure';

  constructor(
    readonly instanceId: string,
    cause: unknown,
  ) {
    super(`Cannot delete sub-orchestration ${instanceId} directly. Delete the root orchestration instead.`, { cause });
  }
}
