import type { Logger } from '../base/logger.js';
import type { EventDefinition, InputArgument, OrchestrationReference } from '../client/definition.js';
import { checkedDefinition, eventName } from '../client/checked-definition.js';
import { ActivityError, DurableTimeoutError, subOrchestrationError } from '../client/durable-errors.js';
import type { AsyncPort } from '../runtime/async/async-driver.js';
import type { EmittedAction } from '../runtime/replay/action.js';
import type { FailureData } from '../wire/failure.js';
import { decodePayload, encodePayload } from '../wire/payload.js';
import { checkAgainstNow } from '../wire/standard-schema.js';
import { allOf, allSettledOf, carryCancel, raceOf, selectOf, type Selected, type Tasks } from './combinators.js';
import { checkRoomForAttempts, childAttemptId, withRetries } from './attempts.js';
import type { ActivityDeclaration, AnyDeclaration, AttemptOptions, CallOptions } from './definitions.js';
import { deterministicRandom } from './deterministic-random.js';
import type { DurableCall } from './durable-call.js';
import { durableCall } from './durable-call.js';
import { DurableKv, DurableStatus } from './instance-state.js';
import { replaySafeLog, type ReplaySafeLog } from './replay-safe-log.js';
import { checkAttempts } from './retry-policy.js';

/** How a call of an orchestration as a child behaves; what is absent is as its definition says. */
export interface ChildOptions extends AttemptOptions {
  /**
   * Absent: derived from the parent's id. Where `retry` tries it again, the second attempt of
   * child `x` is `x::retry::2`, and so on: each is an instance of its own.
   */
  readonly id?: string | undefined;
  /** Absent: the declaration's, else what the child's runtime has as its latest. */
  readonly version?: string | undefined;
}

/**
 * What an async orchestration works with. Every method that returns a promise is durable;
 * nothing else may be awaited. Calls are recorded in the order in which they are made.
 */
export class OrchestrationContext {
  readonly instanceId: string;
  /** From 1; grows with each continue-as-new. */
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
  /** JSON values that belong to the instance and outlive its executions. */
  readonly kv: DurableKv;
  /** What clients may watch. */
  readonly status: DurableStatus;
  readonly log: ReplaySafeLog;
  /** A number in [0, 1), the same on every replay: the durable `Math.random`. Not for secrets. */
  readonly random: () => number;

  /** @internal */
  constructor(
    private readonly port: AsyncPort,
    logger: Logger,
  ) {
    const { instance, executionId, name, version } = port.info;
    this.instanceId = instance;
    this.executionId = executionId;
    this.orchestrationName = name;
    this.orchestrationVersion = version;
    this.kv = new DurableKv(() => port.keyValues);
    this.status = new DurableStatus(() => port.customStatus);
    this.log = replaySafeLog(port, logger);
    this.random = deterministicRandom(instance, executionId);
  }

  /** Whether the code repeats what an earlier turn decided. Never decide anything by it. */
  get isReplaying(): boolean {
    return this.port.replaying;
  }

  /**
   * Runs an activity, or an orchestration as a child, and resolves with its result.
   * With `retry` the attempts follow one another; with `timeoutMs` one that takes longer is cancelled.
   * @throws (rejects with) ActivityError, SubOrchestrationError, DurableTimeoutError
   * @throws RangeError for a retry policy or time-out that cannot be meant
   * @throws SchemaValidationError when the input does not fit; nothing is scheduled then
   */
  call<In, Out, Parsed, Returned>(
    activity: ActivityDeclaration<In, Out, Parsed, Returned>,
    ...args: [...input: InputArgument<In>, options?: CallOptions | undefined]
  ): DurableCall<Out>;
  call<In, Out>(
    child: OrchestrationReference<In, Out>,
    ...args: [...input: InputArgument<In>, options?: ChildOptions | undefined]
  ): DurableCall<Out>;
  call(definition: AnyDeclaration, input?: unknown, options: CallOptions & ChildOptions = {}): DurableCall<unknown> {
    checkedDefinition(definition, ['activity', 'orchestration'], 'ctx.call');
    const payload = this.payloadFor(definition, input);
    return definition.kind === 'activity'
      ? this.callActivity(definition.name, payload, { ...definition.options, ...options })
      : this.callChild(definition, payload, { ...definition.options, ...options });
  }

  /**
   * Starts an orchestration that runs on its own: no result, no parent. An id that exists
   * is left as it is.
   * @throws TypeError without a definition or an id
   */
  start<In>(
    definition: OrchestrationReference<In, unknown>,
    input: In,
    options: { readonly id: string; readonly version?: string | undefined },
  ): void {
    checkedDefinition(definition, ['orchestration'], 'ctx.start');
    const { id, version } = (options as Partial<typeof options> | undefined) ?? {};
    if (typeof id !== 'string') {
      throw new TypeError(
        `ctx.start: expected { id } of the instance, a string, as the third argument, got ${typeof id}`,
      );
    }
    this.port.emitDetached({
      kind: 'startDetached',
      name: definition.name,
      version: version ?? definition.options.version ?? null,
      instance: id,
      input: this.payloadFor(definition, input),
    });
  }

  /** Resolves after `ms`, however long that is and whatever restarts meanwhile. */
  sleep(ms: number): DurableCall<void> {
    return this.emit<void>({ kind: 'createTimer', delayMs: durationMs('sleep', ms) }, () => undefined);
  }

  /**
   * Waits for an event that a client raises. One that comes before the wait is lost; use
   * {@link dequeue} for streams.
   */
  waitForEvent<T = unknown>(definition: EventDefinition<unknown, T> | string): DurableCall<T> {
    return this.emit<T>({ kind: 'waitExternal', name: eventName(definition, 'ctx.waitForEvent') }, (data) =>
      eventData(definition, data),
    );
  }

  /** Takes the next message of a mailbox, also one that came before. */
  dequeue<T = unknown>(definition: EventDefinition<unknown, T> | string): DurableCall<T> {
    return this.emit<T>({ kind: 'dequeueEvent', name: eventName(definition, 'ctx.dequeue') }, (data) =>
      eventData(definition, data),
    );
  }

  /**
   * Ends this execution and begins the next one with an empty history. Never resolves:
   * `return ctx.continueAsNew(…)`, in a generator `return yield* ctx.continueAsNew(…)`.
   */
  continueAsNew(input?: unknown, { version }: { readonly version?: string | undefined } = {}): DurableCall<never> {
    const payload = encodePayload(input, `input of continue-as-new of '${this.orchestrationName}'`);
    this.port.emitDetached({ kind: 'continueAsNew', input: payload, version: version ?? null });
    return durableCall(new Promise<never>(() => {}), () => {});
  }

  /** The time, in Unix ms, as it was when the code first came here: the durable `Date.now()`. */
  now(): DurableCall<number> {
    return this.systemCall('utc_now_ms', '', Number);
  }

  /** A new version-4 UUID, the same on every replay: the durable `crypto.randomUUID()`. */
  newGuid(): DurableCall<string> {
    return this.systemCall('new_guid', '', (text) => text);
  }

  /** A key-value entry of another instance, as its raw text; `null` when key or instance is missing. */
  getValueFromInstance(instanceId: string, key: string): DurableCall<string | null> {
    const input = JSON.stringify({ instance_id: instanceId, key });
    return this.systemCall('get_kv_value', input, (text) => JSON.parse(text) as string | null);
  }

  /**
   * Resolves or rejects with the first task that ends; the others are cancelled: activities
   * are asked to stop, children cancelled, waits withdrawn. `Promise.race` cancels nobody.
   */
  race<const T extends Tasks>(tasks: T): DurableCall<Awaited<T[number]>> {
    return raceOf(tasks);
  }

  /**
   * As {@link race}, with names: `{ key, value }` of the first task that ends.
   * @example
   * const first = await ctx.select({ paid: ctx.waitForEvent(paid), late: ctx.sleep(60_000) });
   */
  select<T extends Readonly<Record<string, Promise<unknown>>>>(tasks: T): DurableCall<Selected<T>> {
    return selectOf(tasks);
  }

  /** The results of all tasks, or the first failure; as `Promise.all`, and for `yield*`. */
  all<const T extends Tasks>(tasks: T): DurableCall<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
    return allOf(tasks);
  }

  /** The outcomes of all tasks, failures included; as `Promise.allSettled`, and for `yield*`. */
  allSettled<const T extends Tasks>(
    tasks: T,
  ): DurableCall<{ -readonly [K in keyof T]: PromiseSettledResult<Awaited<T[K]>> }> {
    return allSettledOf(tasks);
  }

  /** The task's outcome, or a rejection with `DurableTimeoutError` after `ms`; the loser is cancelled. */
  withTimeout<T>(task: Promise<T>, ms: number, what = 'the task'): DurableCall<T> {
    const timer = carryCancel(this.sleep(ms), (): never => {
      throw new DurableTimeoutError(what, ms);
    });
    return this.race([task, timer]);
  }

  private callActivity(name: string, input: string, options: CallOptions): DurableCall<unknown> {
    const { tag, session } = options;
    return this.attempts(`activity '${name}'`, options, () =>
      this.emit(
        { kind: 'scheduleActivity', name, input, sessionId: session, tag },
        decodeResult,
        (text, data) => new ActivityError(name, text, data),
      ),
    );
  }

  private callChild(definition: AnyDeclaration, input: string, options: ChildOptions): DurableCall<unknown> {
    const { name } = definition;
    checkAttempts(`orchestration '${name}'`, options);
    checkRoomForAttempts(`orchestration '${name}'`, options);
    const version = options.version ?? definition.options.version ?? null;
    return this.attempts(`orchestration '${name}'`, options, (attempt) =>
      this.emit(
        { kind: 'startSubOrchestration', name, version, instance: childAttemptId(options.id, attempt), input },
        decodeResult,
        (text, data) => subOrchestrationError(name, text, data),
      ),
    );
  }

  /** A call, as often and as long as its options say. `schedule` makes one attempt, counted from 1. */
  private attempts(
    what: string,
    options: AttemptOptions,
    schedule: (attempt: number) => DurableCall<unknown>,
  ): DurableCall<unknown> {
    checkAttempts(what, options);
    const { retry, timeoutMs } = options;
    const attempt = (number: number) => {
      const call = schedule(number);
      return timeoutMs === undefined ? call : this.withTimeout(call, timeoutMs, what);
    };
    return retry ? withRetries(this, { what, policy: retry, attempt }) : attempt(1);
  }

  private systemCall<T>(call: string, input: string, read: (text: string) => T): DurableCall<T> {
    return this.emit({ kind: 'scheduleActivity', name: `__duroxide_syscall:${call}`, input }, (text) =>
      read(text ?? ''),
    );
  }

  private emit<T>(
    action: EmittedAction,
    read: (value: string | null) => T,
    failure: (text: string, data?: FailureData) => Error = (text) => new Error(text),
  ): DurableCall<T> {
    let token = 0;
    const outcome = new Promise<T>((resolve, reject) => {
      token = this.port.emit(action, {
        resolve: (value) => {
          try {
            resolve(read(value));
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        },
        reject: (text, data) => reject(failure(text, data)),
      });
    });
    return durableCall(outcome, () => this.port.drop(token));
  }

  private payloadFor({ kind, name, options }: AnyDeclaration, input: unknown): string {
    const definition = `${kind} '${name}'`;
    // The value is sent as it was given: a schema that converts does so once, in front of the handler.
    checkAgainstNow(options.input, input, { definition, part: 'input' });
    return encodePayload(input, `input of ${definition}`);
  }
}

function decodeResult(text: string | null): unknown {
  return text === null ? null : decodePayload(text);
}

function eventData<T>(definition: EventDefinition<unknown, T> | string, text: string | null): T {
  const data = decodeResult(text);
  if (typeof definition === 'string') return data as T;
  return checkAgainstNow(definition.data, data, { definition: `event '${definition.name}'`, part: 'data' });
}

function durationMs(what: string, ms: number): number {
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return Math.trunc(ms);
  throw new RangeError(`${what}: expected a finite number of milliseconds from 0, got ${String(ms)}`);
}
