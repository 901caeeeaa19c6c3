import type { ActivityContext } from '../runtime/activity-context.js';
import type { RetryPolicy } from './retry-policy.js';
import type { StandardSchema } from './standard-schema.js';
import type { OrchestrationContext } from './orchestration-context.js';

/** How calls of an activity behave; each can be overridden at the call. */
export interface CallOptions {
  /** Absent: one attempt. */
  readonly retry?: RetryPolicy | undefined;
  /** Limit of one attempt, in ms; then the call fails with a `DurableTimeoutError`. Absent: none. */
  readonly timeoutMs?: number | undefined;
  /** Only workers that serve this tag run it. */
  readonly tag?: string | undefined;
  /** All activities of a session run where its owner is. */
  readonly session?: string | undefined;
}

export interface ActivityOptions<In, Out> extends CallOptions {
  /** Checked at the call and again before the handler runs. */
  readonly input?: StandardSchema<unknown, In> | undefined;
  /** Checked when the handler has returned. */
  readonly output?: StandardSchema<unknown, Out> | undefined;
}

export interface OrchestrationOptions<In, Out> {
  /** `major.minor.patch`. @defaultValue `1.0.0` */
  readonly version?: string | undefined;
  /** Checked at the start, by the client or the calling orchestration, and again before the handler runs. */
  readonly input?: StandardSchema<unknown, In> | undefined;
  /** Checked when the handler has returned. */
  readonly output?: StandardSchema<unknown, Out> | undefined;
}

export type ActivityHandler<In, Out> = (ctx: ActivityContext, input: In) => Out | Promise<Out>;

export type AsyncOrchestration<In, Out> = (ctx: OrchestrationContext, input: In) => Promise<Out>;

/** What a caller needs to know of an activity: its name, its types, how calls of it behave. */
export interface ActivityDeclaration<In, Out> {
  readonly kind: 'activity';
  readonly name: string;
  readonly options: ActivityOptions<In, Out>;
  /** Joins the declaration with its code. */
  implement(handler: ActivityHandler<In, Out>): Activity<In, Out>;
}

/** An activity with its code: what a runtime registers. */
export interface Activity<In, Out> extends ActivityDeclaration<In, Out> {
  readonly handler: ActivityHandler<In, Out>;
}

/** What a caller needs to know of an orchestration. */
export interface OrchestrationDeclaration<In, Out> {
  readonly kind: 'orchestration';
  readonly name: string;
  readonly options: OrchestrationOptions<In, Out>;
  /** Joins the declaration with its code. */
  implement(handler: AsyncOrchestration<In, Out>): Orchestration<In, Out>;
}

/** An orchestration with its code: what a runtime registers. */
export interface Orchestration<In, Out> extends OrchestrationDeclaration<In, Out> {
  readonly handler: AsyncOrchestration<In, Out>;
}

/** Any declaration, as far as a call needs it: the types of input and output are not known here. */
export interface AnyDeclaration {
  readonly kind: 'activity' | 'orchestration';
  readonly name: string;
  readonly options: CallOptions & {
    readonly version?: string | undefined;
    readonly input?: StandardSchema | undefined;
    readonly output?: StandardSchema | undefined;
  };
}

/** An external event, or a mailbox, with the type of its data. */
export interface EventDefinition<T> {
  readonly kind: 'event';
  readonly name: string;
  readonly data?: StandardSchema<unknown, T> | undefined;
}

/**
 * Defines an activity: work that may take time and touch the world. It runs at least once.
 * @example
 * const greet = activity('greet', async (ctx, who: string) => `Hello, ${who}!`);
 */
export function activity<In = void, Out = void>(
  name: string,
  handler: ActivityHandler<In, Out>,
  options: ActivityOptions<In, Out> = {},
): Activity<In, Out> {
  return declareActivity<In, Out>(name, options).implement(handler);
}

/**
 * The half of an activity that callers import: name and types without the code. The
 * worker joins them: `declared.implement(handler)`.
 */
export function declareActivity<In = void, Out = void>(
  name: string,
  options: ActivityOptions<In, Out> = {},
): ActivityDeclaration<In, Out> {
  const declaration: ActivityDeclaration<In, Out> = {
    kind: 'activity',
    name: definitionName('activity', name),
    options,
    implement: (handler) => ({ ...declaration, handler: definitionHandler('activity', name, handler) }),
  };
  return declaration;
}

/**
 * Defines an orchestration: deterministic code that awaits nothing but the durable calls
 * of its context, and survives crashes between any two of them.
 * @example
 * const hello = orchestration('hello', async (ctx, who: string) => ctx.call(greet, who));
 */
export function orchestration<In = void, Out = void>(
  name: string,
  handler: AsyncOrchestration<In, Out>,
  options: OrchestrationOptions<In, Out> = {},
): Orchestration<In, Out> {
  return declareOrchestration<In, Out>(name, options).implement(handler);
}

/** The half of an orchestration that callers and clients import. */
export function declareOrchestration<In = void, Out = void>(
  name: string,
  options: OrchestrationOptions<In, Out> = {},
): OrchestrationDeclaration<In, Out> {
  const declaration: OrchestrationDeclaration<In, Out> = {
    kind: 'orchestration',
    name: definitionName('orchestration', name),
    options,
    implement: (handler) => ({ ...declaration, handler: definitionHandler('orchestration', name, handler) }),
  };
  return declaration;
}

/** Defines an event or mailbox, so that sender and receiver share its type. */
export function event<T>(
  name: string,
  options: { readonly data?: StandardSchema<unknown, T> | undefined } = {},
): EventDefinition<T> {
  return { kind: 'event', name: definitionName('event', name), data: options.data };
}

function definitionName(what: string, name: unknown): string {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(
      `${what}(name, …): expected a non-empty string as the name, got ${name === '' ? "''" : typeof name}`,
    );
  }
  return name;
}

function definitionHandler<H>(what: string, name: string, handler: H): H {
  if (typeof handler !== 'function') {
    throw new TypeError(`${what} '${name}': expected a function as the handler, got ${typeof handler}`);
  }
  return handler;
}
