import { errorText } from '../base/error-text.js';
import type { ActivityContext } from './activity-context.js';
import type { ActivityResult } from './activity-failure.js';
import { activityFailureText, activityResult } from './activity-failure.js';
import { decodePayload } from '../wire/payload.js';
import type { IsolationLevel } from '../provider/activity-transactions.js';
import type { SystemActivity } from './system-activities.js';
import type { TransactionalActivityContext } from './transactional-activity-context.js';

/** An activity as users write it: value in, value or promise out. */
export type ActivityFunction = (ctx: ActivityContext, input: unknown) => unknown;

/** How the runtime runs an activity; payload in, payload or failure text out. Never throws or rejects. */
export interface ActivityHandler {
  (ctx: ActivityContext, input: string, maxPayloadBytes: number): ActivityResult | Promise<ActivityResult>;
  /** Set for a transactional activity, which runs by this and not by a call. */
  readonly inTransaction?: InTransaction | undefined;
}

/** How the runtime runs a transactional activity. */
export interface InTransaction {
  /** Absent: read committed. */
  readonly isolationLevel?: IsolationLevel | undefined;
  /** Payload in, payload out, on the Drizzle transaction `tx`; rejects with what failed, as it was thrown. */
  run(ctx: TransactionalActivityContext, tx: unknown, input: string, maxPayloadBytes: number): Promise<string>;
  /** The stored text of what was thrown. */
  failureText(thrown: unknown): string;
}

/** An activity of the drop-in API: JSON in, JSON out, failures worded as native words them. */
export function userActivity(name: string, run: ActivityFunction): ActivityHandler {
  const failed = (thrown: unknown): ActivityResult => ({ ok: false, message: activityFailureText(name, thrown) });
  return (ctx, input, maxPayloadBytes) => {
    const returned = (value: unknown) => activityResult(name, value, maxPayloadBytes);
    try {
      const value = run(ctx, decodePayload(input));
      return isThenable(value) ? Promise.resolve(value).then(returned, failed) : returned(value);
    } catch (thrown) {
      return failed(thrown);
    }
  };
}

/** An activity of the runtime itself: its texts are stored as they are. */
export function systemActivity(run: SystemActivity): ActivityHandler {
  const failed = (thrown: unknown): ActivityResult => {
    return { ok: false, message: errorText(thrown) };
  };
  return (_ctx, input) => {
    try {
      const result = run(input);
      return typeof result === 'string'
        ? { ok: true, result }
        : result.then((text): ActivityResult => ({ ok: true, result: text }), failed);
    } catch (thrown) {
      return failed(thrown);
    }
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
