/** Kinds of descriptors, in the order in which native lists them. */
export const TASK_TYPES = [
  'activity',
  'activityWithRetry',
  'timer',
  'waitEvent',
  'subOrchestration',
  'subOrchestrationWithId',
  'subOrchestrationVersioned',
  'subOrchestrationVersionedWithId',
  'orchestration',
  'orchestrationVersioned',
  'newGuid',
  'utcNow',
  'continueAsNew',
  'continueAsNewVersioned',
  'dequeueEvent',
  'getValueFromInstance',
  'join',
  'select',
] as const;
export type TaskType = (typeof TASK_TYPES)[number];

/** How an activity is repeated after a failure (node-api.md 6.4). */
export interface RetryPolicy {
  /** Attempts in all, at least 1. */
  maxAttempts: number;
  /** `exponential` (100 ms doubling to 30 s), `fixed` (1 s); any other word means `linear` (n × 100 ms, at most 30 s). */
  backoff?: string;
  /** Limit of one attempt, in ms; an attempt that exceeds it is not repeated. */
  timeoutMs?: number;
  /** Another spelling of `timeoutMs`, despite its name; it wins when both are given. */
  totalTimeoutMs?: number;
}

/**
 * What a scheduling method of the context returns: a plain object that takes effect when
 * it is yielded. Its shape is part of the contract, because code that looks at it exists.
 */
export interface ScheduledTask {
  type: TaskType;
  [field: string]: unknown;
}

/** The descriptor of an activity, which may be routed by a tag. */
export interface ActivityTask extends ScheduledTask {
  type: 'activity';
  name: string;
  /** JSON text. */
  input: string;
  sessionId?: string;
  tag?: string;
  /** Sets the tag and returns the same descriptor. */
  withTag(tag: string): this;
}

/** One element of what `yield ctx.all(…)` gives. */
export type JoinResult<T = unknown> = { ok: T } | { err: unknown };

/** What `yield ctx.race(…)` gives. */
export interface RaceResult<T = unknown> {
  index: number;
  value: T;
}

/** A descriptor as the driver reads it: what survives JSON, with the types checked. */
export type Task =
  | {
      readonly type: 'activity';
      readonly name: string;
      readonly input: string;
      readonly sessionId?: string | undefined;
      readonly tag?: string | undefined;
    }
  | {
      readonly type: 'activityWithRetry';
      readonly name: string;
      readonly input: string;
      readonly sessionId?: string | undefined;
      readonly retry: ReadRetryPolicy;
    }
  | { readonly type: 'timer'; readonly delayMs: number }
  | { readonly type: 'waitEvent'; readonly name: string }
  | { readonly type: 'dequeueEvent'; readonly queueName: string }
  | { readonly type: 'getValueFromInstance'; readonly instanceId: string; readonly key: string }
  | {
      readonly type:
        'subOrchestration' | 'subOrchestrationWithId' | 'subOrchestrationVersioned' | 'subOrchestrationVersionedWithId';
      readonly name: string;
      readonly input: string;
      readonly instanceId?: string | undefined;
      readonly version?: string | undefined;
    }
  | {
      readonly type: 'orchestration' | 'orchestrationVersioned';
      readonly name: string;
      readonly instanceId: string;
      readonly input: string;
      readonly version?: string | undefined;
    }
  | { readonly type: 'newGuid' | 'utcNow' }
  | {
      readonly type: 'continueAsNew' | 'continueAsNewVersioned';
      readonly input: string;
      readonly version?: string | undefined;
    }
  | { readonly type: 'join' | 'select'; readonly tasks: readonly Task[] };

/** A retry policy whose fields were checked; absent ones are `undefined`. */
export interface ReadRetryPolicy {
  readonly maxAttempts: number;
  readonly backoff: string | undefined;
  readonly timeoutMs: number | undefined;
}
