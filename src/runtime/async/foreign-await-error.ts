import type { ExecutionInfo } from '../replay/driver.js';

/**
 * Orchestration code waited for something that is not durable, or used its context at a
 * moment that no replay repeats. The turn is not committed and the instance waits with
 * back-off: a corrected deploy lets it go on (runtime.md 3.0, rules 3 and 4).
 */
export class ForeignAwaitError extends Error {
  override readonly name = 'ForeignAwaitError';

  constructor(
    readonly orchestration: string,
    readonly orchestrationVersion: string,
    readonly instanceId: string,
    what: string,
    /** Where in the code it happened; empty when unknown. */
    readonly place: string,
  ) {
    super(
      `orchestration '${orchestration}' (${orchestrationVersion}), instance '${instanceId}': ${what}. ` +
        `Await nothing but durable calls of the context; move the rest into an activity.${place ? `\n${place}` : ''}`,
    );
  }

  static of(info: ExecutionInfo, what: string, place = ''): ForeignAwaitError {
    return new ForeignAwaitError(info.name, info.version, info.instance, what, place);
  }
}
