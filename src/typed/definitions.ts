import type { EventDefinition, OrchestrationReference } from '../client/definition.js';
import type { ActivityContext } from '../runtime/activity-context.js';
import type { Registrable } from '../runtime/registrable.js';
import { REGISTRATION } from '../runtime/registrable.js';
import { problemOfName } from '../wire/identifiers.js';
import { parseSemVer } from '../wire/compat-version.js';
import type { StandardSchema } from '../wire/standard-schema.js';
import type { Durable } from './durable-call.js';
import { asyncOrchestration, typedActivity } from './handlers.js';
import type { OrchestrationContext } from './orchestration-context.js';
import type {
  AnyTransaction,
  TransactionalActivity,
  TransactionalHandler,
  TransactionalOptions,
} from './transactional.js';
import { implementInTransaction } from './transactional.js';
import { checkAttempts, type RetryPolicy } from './retry-policy.js';

/** How often a call is tried, and how long an attempt may take. */
export interface AttemptOptions {
  /** Absent: one attempt. */
  readonly retry?: RetryPolicy | undefined;
  /**
   * Limit of one attempt, in ms; then it is cancelled, and fails with a `DurableTimeoutError`.
   * Absent: none.
   */
  readonly timeoutMs?: number | undefined;
}

/** How calls of an activity behave; each can be overridden at the call. */
export interface CallOptions extends AttemptOptions {
  /** Only workers that serve this tag run it. */
  readonly tag?: string | undefined;
  /** All activities of a session run where its owner is. */
  readonly session?: string | undefined;
}

/**
 * Options of an activity. `In` is what callers give and `Parsed` what the handler gets;
 * `Returned` is what the handler returns and `Out` what callers get. They differ only
 * where a schema converts.
 */
export interface ActivityOptions<In, Out, Parsed = In, Returned = Out> extends CallOptions {
  /** Checked at the call and again before the handler runs. */
  readonly input?: StandardSchema<In, Parsed> | undefined;
  /** Checked when the handler has returned. */
  readonly output?: StandardSchema<Returned, Out> | undefined;
}

/**
 * Options of an orchestration; the types are as in {@link ActivityOptions}. `retry` and
 * `timeoutMs` are of its calls as a child, and can be overridden there. What a client, a
 * schedule or `ctx.start` starts has one attempt and no limit: nobody awaits it who could
 * decide what a failure means.
 */
export interface OrchestrationOptions<In, Out, Parsed = In, Returned = Out> extends AttemptOptions {
  /** `major.minor.patch`. @defaultValue `1.0.0` */
  readonly version?: string | undefined;
  /** Checked at the start, by the client or the calling orchestration, and again before the handler runs. */
  readonly input?: StandardSchema<In, Parsed> | undefined;
  /** Checked when the handler has returned. */
  readonly output?: StandardSchema<Returned, Out> | undefined;
}

export type ActivityHandler<In, Out> = (ctx: ActivityContext, input: In) => Out | Promise<Out>;

/** The steps of an orchestration written as a generator: `const x = yield* ctx.call(…)`. */
export type OrchestrationSteps<Out> = Generator<Durable, Out, never>;

/** The code of an orchestration: an async function, or a generator function. */
export type OrchestrationHandler<In, Out> = (
  ctx: OrchestrationContext,
  input: In,
) => Promise<Out> | OrchestrationSteps<Out>;

/** What a caller needs to know of an activity: its name, its types, how calls of it behave. */
export interface ActivityDeclaration<In, Out, Parsed = In, Returned = Out> {
  readonly kind: 'activity';
  readonly name: string;
  readonly options: ActivityOptions<In, Out, Parsed, Returned>;
  /** Joins the declaration with its code. */
  implement(handler: ActivityHandler<Parsed, Returned>): Activity<In, Out, Parsed, Returned>;
}

/** An activity with its code: what a runtime registers. */
export interface Activity<In, Out, Parsed = In, Returned = Out>
  extends ActivityDeclaration<In, Out, Parsed, Returned>, Registrable {
  readonly kind: 'activity';
  readonly name: string;
  readonly handler: ActivityHandler<Parsed, Returned>;
}

/** What a caller needs to know of an orchestration. */
export interface OrchestrationDeclaration<In, Out, Parsed = In, Returned = Out> extends OrchestrationReference<
  In,
  Out
> {
  readonly options: OrchestrationOptions<In, Out, Parsed, Returned>;
  /** Joins the declaration with its code. */
  implement(handler: OrchestrationHandler<Parsed, Returned>): Orchestration<In, Out, Parsed, Returned>;
}

/** An orchestration with its code: what a runtime registers. */
export interface Orchestration<In, Out, Parsed = In, Returned = Out>
  extends OrchestrationDeclaration<In, Out, Parsed, Returned>, Registrable {
  readonly kind: 'orchestration';
  readonly name: string;
  readonly handler: OrchestrationHandler<Parsed, Returned>;
}

/** Any declaration, as far as a call needs it: the types of input and output are not known here. */
export interface AnyDeclaration {
  readonly kind: 'activity' | 'orchestration';
  readonly name: string;
  readonly options: CallOptions & {
    readonly version?: string | undefined;
    readonly input?: StandardSchema<unknown, unknown> | undefined;
    readonly output?: StandardSchema<unknown, unknown> | undefined;
  };
}

/**
 * Defines an activity: work that may take time and touch the world. It runs at least once.
 * @throws TypeError or RangeError naming the definition, for a name, handler or option that cannot be meant
 * @example
 * const greet = activity('greet', async (ctx, who: string) => `Hello, ${who}!`);
 */
export function activity<Parsed = void, Returned = void, In = Parsed, Out = Returned>(
  name: string,
  handler: ActivityHandler<Parsed, Returned>,
  options: ActivityOptions<In, Out, Parsed, Returned> = {},
): Activity<In, Out, Parsed, Returned> {
  return declareActivity<Parsed, Returned, In, Out>(name, options).implement(handler);
}

/**
 * Defines an activity that runs in a transaction of the application's own database: the
 * rows that it writes by `tx` and its completion are committed together, so that its
 * effect happens exactly once. A handler that throws is rolled back, and the activity
 * fails. Give it a declaration instead of a name to join that with the code.
 *
 * `tx` is a transaction of the database that the provider was opened on; annotate it with
 * `TransactionOf<typeof db>`.
 * @throws TypeError or RangeError as {@link activity}
 * @example
 * const debit = activity.transactional('debit', async (ctx, tx: TransactionOf<typeof db>, order: Order) => {
 *   await tx.insert(payments).values({ orderId: order.id, cents: order.cents });
 * });
 */
activity.transactional = function <Parsed = void, Returned = void, Tx = AnyTransaction, In = Parsed, Out = Returned>(
  definition: string | ActivityDeclaration<In, Out, Parsed, Returned>,
  handler: TransactionalHandler<Tx, Parsed, Returned>,
  options: TransactionalOptions<In, Out, Parsed, Returned> = {},
): TransactionalActivity<In, Out, Tx, Parsed, Returned> {
  const isDeclared = typeof definition === 'object' && definition !== null;
  const declaration = isDeclared ? definition : declareActivity<Parsed, Returned, In, Out>(definition, options);
  return implementInTransaction(declaration, handler, options);
};

/**
 * The half of an activity that callers import: name and types without the code. The
 * worker joins them: `declared.implement(handler)`.
 */
export function declareActivity<Parsed = void, Returned = void, In = Parsed, Out = Returned>(
  name: string,
  options: ActivityOptions<In, Out, Parsed, Returned> = {},
): ActivityDeclaration<In, Out, Parsed, Returned> {
  definitionName('activity', name);
  checkAttempts(`activity '${name}'`, options);
  const declaration: ActivityDeclaration<In, Out, Parsed, Returned> = {
    kind: 'activity',
    name,
    options,
    implement: (handler) => {
      const run = definitionHandler('activity', name, handler);
      const code = { name, options, handler: run };
      return {
        ...declaration,
        handler: run,
        [REGISTRATION]: () => ({ kind: 'activity', name, handler: typedActivity(code) }),
      };
    },
  };
  return declaration;
}

/**
 * Defines an orchestration: deterministic code that awaits nothing but the durable calls
 * of its context, and survives crashes between any two of them. A generator function
 * (`function*`, with `yield*` for `await`) does the same.
 * @throws TypeError or RangeError naming the definition, for a name, handler or option that cannot be meant
 * @example
 * const hello = orchestration('hello', async (ctx, who: string) => ctx.call(greet, who));
 */
export function orchestration<Parsed = void, Returned = void, In = Parsed, Out = Returned>(
  name: string,
  handler: OrchestrationHandler<Parsed, Returned>,
  options: OrchestrationOptions<In, Out, Parsed, Returned> = {},
): Orchestration<In, Out, Parsed, Returned> {
  return declareOrchestration<Parsed, Returned, In, Out>(name, options).implement(handler);
}

/** The half of an orchestration that callers and clients import. */
export function declareOrchestration<Parsed = void, Returned = void, In = Parsed, Out = Returned>(
  name: string,
  options: OrchestrationOptions<In, Out, Parsed, Returned> = {},
): OrchestrationDeclaration<In, Out, Parsed, Returned> {
  definitionName('orchestration', name);
  checkAttempts(`orchestration '${name}'`, options);
  const { version } = options;
  if (version !== undefined && !parseSemVer(version)) {
    throw new TypeError(`orchestration '${name}': expected a version such as 1.2.3, got '${String(version)}'`);
  }
  const declaration: OrchestrationDeclaration<In, Out, Parsed, Returned> = {
    kind: 'orchestration',
    name,
    options,
    implement: (handler) => {
      const run = definitionHandler('orchestration', name, handler);
      const code = { name, options, handler: run };
      return {
        ...declaration,
        handler: run,
        [REGISTRATION]: (runtime) => ({
          kind: 'orchestration',
          name,
          version,
          createDriver: asyncOrchestration(code, runtime),
        }),
      };
    },
  };
  return declaration;
}

/** Defines an event or mailbox, so that sender and receiver share its type. */
export function event<Received, Sent = Received>(
  name: string,
  options: { readonly data?: StandardSchema<Sent, Received> | undefined } = {},
): EventDefinition<Sent, Received> {
  definitionName('event', name);
  return { kind: 'event', name, data: options.data };
}

function definitionName(what: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '') {
    const got = name === '' ? "''" : typeof name;
    throw new TypeError(`${what}(name, …): expected a non-empty string as the name, got ${got}`);
  }
  const problem = problemOfName(`name of ${what} '${name.slice(0, 60)}'`, name);
  if (problem !== undefined) throw new TypeError(problem);
}

function definitionHandler<H>(what: string, name: string, handler: H): H {
  if (typeof handler !== 'function') {
    throw new TypeError(`${what} '${name}': expected a function as the handler, got ${typeof handler}`);
  }
  return handler;
}
