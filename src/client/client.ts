import type { Clock } from '../base/clock.js';
import { monotonicClock } from '../base/monotonic-clock.js';
import type { InstanceState, Provider, TransactionScope } from '../provider/provider.js';
import { ProviderError } from '../provider/provider-error.js';
import type { Telemetry } from '../provider/telemetry.js';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../wire/limits.js';
import { instanceId, integerArgument, nativeTimeoutArgument, stringArgument } from './arguments.js';
import { checkedDefinition } from './checked-definition.js';
import { Enqueuer } from './enqueuer.js';
import type { InputArgument, OrchestrationReference } from './definition.js';
import { orchestrationFailure, type OrchestrationFailedError } from './durable-errors.js';
import { ArgumentError, InstanceExistsError, InvalidInputError, WaitTimeoutError } from './errors.js';
import { ManagementClient } from './management-client.js';
import { cancelMessage, signalMessage, startMessage } from './messages.js';
import type { HandleAccess, WaitOptions } from './orchestration-handle.js';
import { OrchestrationHandle } from './orchestration-handle.js';
import { Schedules } from './schedules.js';
import { SharedPoll } from './shared-poll.js';
import type { StartOptions } from './start-options.js';
import { queuePlacement, typedStartMessage } from './start-options.js';
import { StartQueues, unknownQueue } from './start-queues.js';
import type { OrchestrationStatus } from './status.js';
import { hasEnded, parsedStatus, rawStatus, readable } from './status.js';
import { TransactionClient } from './transaction-client.js';

const DEFAULT_TIMEOUT_MS = 30_000;
/** Looks of a waiter: 5, 10, 20, 40, 80, 100, 100 … ms, as native. */
const FIRST_STEP_MS = 5;
const MAX_STEP_MS = 100;
const DEFAULT_STATUS_POLL_MS = 500;

export interface ClientOptions {
  /** Largest input or event data, in bytes of its JSON text. @defaultValue 32 MiB */
  readonly maxPayloadBytes?: number | undefined;
  /** Measures time-outs and polls; never what is stored. */
  readonly clock?: Clock | undefined;
  /** Spans and metrics of the calls; made by `duroxide-drizzle/otel`. */
  readonly telemetry?: Telemetry | undefined;
}

/**
 * Starts, steers and watches orchestrations. Only the store connects clients and
 * runtimes: a client works without any runtime, and in another process.
 *
 * Arguments of the wrong type reject with an {@link ArgumentError}, impossible values
 * with an {@link InvalidInputError}, trouble of the store with a `ProviderError`.
 */
export class Client extends ManagementClient {
  private readonly maxPayloadBytes: number;
  private readonly enqueuer: Enqueuer;
  private readonly states: SharedPoll<string, InstanceState | undefined>;
  private readonly values: SharedPoll<{ instance: string; key: string }, string | null | ProviderError>;
  private readonly handles: HandleAccess;
  /** Orchestrations that are started at certain times. */
  readonly schedules: Schedules;
  /** Limits on how orchestrations are started. */
  readonly startQueues: StartQueues;

  /** @throws TypeError without a provider */
  constructor(provider: Provider, options: ClientOptions = {}) {
    const { telemetry } = options;
    const store = providerArgument('Client', provider);
    super(telemetry ? telemetry.observe(store) : store);
    provider = this.provider;
    this.maxPayloadBytes = options.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES;
    const clock = options.clock ?? monotonicClock;
    this.enqueuer = new Enqueuer(provider, telemetry);
    this.states = new SharedPoll(
      clock,
      (instances) => this.readStates(instances),
      () =>
        provider.onEnded(
          (ended, states) => {
            const stateOf = new Map(states.map((state) => [state.instance, state]));
            this.states.tell(stateOf);
            this.states.hint(ended.filter((instance) => !stateOf.has(instance)));
          },
          { states: true, elsewhere: (concerns) => this.states.hint(concerns) },
        ),
      () => provider.activityTransactions?.()?.refuseInside('instance_states'),
    );
    this.values = new SharedPoll(
      clock,
      (keys) => provider.getKvValues(keys),
      undefined,
      () => provider.activityTransactions?.()?.refuseInside('get_kv_value'),
    );
    this.handles = this.handleAccess();
    this.schedules = new Schedules(provider, this.maxPayloadBytes);
    this.startQueues = new StartQueues(provider);
  }

  // ---- Definitions

  /**
   * Starts an instance of a definition and gives its handle.
   * @throws SchemaValidationError for an input that the definition refuses; InstanceExistsError;
   *   ArgumentError, InvalidInputError or StartQueueError for an option. Nothing is stored then.
   * @example
   * const handle = await client.start(checkout, order, { id: `checkout-${order.id}` });
   * const receipt = await handle.result();
   */
  async start<In, Out>(
    definition: OrchestrationReference<In, Out>,
    ...args: [...input: InputArgument<In>, options?: StartOptions | undefined]
  ): Promise<OrchestrationHandle<Out>> {
    const [input, options = {}] = args as unknown as [input?: In, options?: StartOptions | undefined];
    const item = typedStartMessage(definition, input, options, this.maxPayloadBytes);
    const placement = queuePlacement(options);
    if (placement) {
      const outcome = await this.enqueuer.sendQueued({ ...placement, item });
      if (outcome === 'unknownQueue') throw unknownQueue(placement.queue);
      if (outcome === 'exists' && options.ifExists === 'error') {
        throw new InstanceExistsError(item.instance, definition.name);
      }
    } else if (options.ifExists === 'error') {
      if (!(await this.enqueuer.sendStartIfAbsent(item))) throw new InstanceExistsError(item.instance, definition.name);
    } else {
      await this.enqueuer.send(item);
    }
    return new OrchestrationHandle<Out>(this.handles, item.instance);
  }

  /** The handle of an instance, which need not exist (yet). @throws TypeError, ArgumentError, InvalidInputError */
  handle<Out>(definition: OrchestrationReference<unknown, Out>, id: string): OrchestrationHandle<Out> {
    checkedDefinition(definition, ['orchestration']);
    return new OrchestrationHandle<Out>(this.handles, anyInstance(id));
  }

  // ---- Starting and steering

  /**
   * Starts an instance with the version that the registry's policy names. Starting an id
   * that exists is ignored: the first input and result stand.
   */
  async startOrchestration(instanceId: string, name: string, input?: unknown): Promise<void> {
    await this.enqueuer.send(startMessage({ instance: instanceId, name, input, version: null }, this.maxPayloadBytes));
  }

  /** As {@link startOrchestration}, with a version; one that nobody registered waits. */
  async startOrchestrationVersioned(instanceId: string, name: string, input: unknown, version: string): Promise<void> {
    stringArgument('version', version);
    await this.enqueuer.send(startMessage({ instance: instanceId, name, input, version }, this.maxPayloadBytes));
  }

  /** Alias of {@link startOrchestration}. */
  startOrchestrationTyped(instanceId: string, name: string, input?: unknown): Promise<void> {
    return this.startOrchestration(instanceId, name, input);
  }

  /** Alias of {@link startOrchestrationVersioned}. */
  startOrchestrationVersionedTyped(instanceId: string, name: string, input: unknown, version: string): Promise<void> {
    return this.startOrchestrationVersioned(instanceId, name, input, version);
  }

  /** Raises an event for whoever waits for it *now*; without a waiter it is lost. Use queues for streams. */
  async raiseEvent(instanceId: string, eventName: string, data?: unknown): Promise<void> {
    await this.enqueuer.send(
      signalMessage('ExternalRaised', { instance: instanceId, name: eventName, data }, this.maxPayloadBytes),
    );
  }

  /** Puts a message into a queue of the instance, where it waits until it is taken. */
  async enqueueEvent(instanceId: string, queueName: string, data?: unknown): Promise<void> {
    await this.enqueuer.send(
      signalMessage('QueueMessage', { instance: instanceId, name: queueName, data }, this.maxPayloadBytes),
    );
  }

  /** Alias of {@link raiseEvent}. */
  raiseEventTyped(instanceId: string, eventName: string, data?: unknown): Promise<void> {
    return this.raiseEvent(instanceId, eventName, data);
  }

  /** Alias of {@link enqueueEvent}. */
  enqueueEventTyped(instanceId: string, queueName: string, data?: unknown): Promise<void> {
    return this.enqueueEvent(instanceId, queueName, data);
  }

  /** Asks the instance to end; a no-op once it has ended, and the first reason stays. */
  async cancelInstance(instanceId: string, reason = ''): Promise<void> {
    await this.enqueuer.send(cancelMessage({ instance: instanceId, reason }, this.maxPayloadBytes));
  }

  /**
   * Starts and signals inside the caller's own Drizzle transaction: visible after its
   * commit, gone after its rollback. Await every call before the transaction ends.
   * @throws UnsupportedError when `tx` belongs to another driver
   */
  withTransaction(tx: unknown): TransactionClient {
    return this.inScope(this.provider.within(tx));
  }

  /** @internal As {@link withTransaction}, for a scope that is open already. */
  inScope(scope: TransactionScope): TransactionClient {
    return new TransactionClient(scope, this.handles);
  }

  // ---- Watching

  /** Where the instance stands now; `output` is the JSON text. */
  async getStatus(instanceId: string): Promise<OrchestrationStatus> {
    const [state] = await this.readStates([anyInstance(instanceId)], false);
    return rawStatus(state);
  }

  /** Waits for the end. @throws WaitTimeoutError, the signal's reason; negative time-outs wait for ever, 0 looks once. */
  async waitForOrchestration(
    instanceId: string,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    { signal }: WaitOptions = {},
  ): Promise<OrchestrationStatus> {
    const query = anyInstance(instanceId);
    const waitMs = nativeTimeoutArgument('timeoutMs', timeoutMs);
    return this.states.wait({
      signal,
      query,
      accept: (state) => (hasEnded(state) ? parsedStatus(state) : undefined),
      timeoutMs: waitMs,
      timedOut: () => new WaitTimeoutError(instanceId, waitMs),
      firstStepMs: FIRST_STEP_MS,
      maxStepMs: MAX_STEP_MS,
    });
  }

  /** The output itself. @throws Error with the failure's text when the instance failed */
  async waitForOrchestrationTyped(
    instanceId: string,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    options: WaitOptions = {},
  ): Promise<unknown> {
    const status = await this.waitForOrchestration(instanceId, timeoutMs, options);
    if (status.status === 'Failed') throw new Error(status.error || 'Orchestration failed');
    return status.output;
  }

  /**
   * Waits until the custom status is newer than `lastSeenVersion`, or the instance has ended; time-outs as in
   * {@link waitForOrchestration}. @throws WaitTimeoutError
   */
  async waitForStatusChange(
    instanceId: string,
    lastSeenVersion: number,
    pollIntervalMs = DEFAULT_STATUS_POLL_MS,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    { signal }: WaitOptions = {},
  ): Promise<OrchestrationStatus> {
    const seen = integerArgument('lastSeenVersion', lastSeenVersion);
    const stepMs = integerArgument('pollIntervalMs', pollIntervalMs);
    if (stepMs < 0) throw new InvalidInputError(`pollIntervalMs must not be negative, got ${stepMs}`);
    const query = anyInstance(instanceId);
    const waitMs = nativeTimeoutArgument('timeoutMs', timeoutMs);
    return this.states.wait({
      signal,
      query,
      accept: (state) => {
        const changed = state !== undefined && state.customStatusVersion > seen;
        return changed || hasEnded(state) ? parsedStatus(state) : undefined;
      },
      timeoutMs: waitMs,
      timedOut: () => new WaitTimeoutError(instanceId, waitMs),
      firstStepMs: stepMs,
      maxStepMs: stepMs,
    });
  }

  /** A value of the instance's key-value store, or `null`. */
  async getValue(instanceId: string, key: string): Promise<string | null> {
    return this.provider.getKvValue(anyInstance(instanceId), stringArgument('key', key));
  }

  /** Waits until the key has a value; time-outs as in {@link waitForOrchestration}. @throws Error naming key and instance */
  async waitForValue(
    instanceId: string,
    key: string,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    { signal }: WaitOptions = {},
  ): Promise<string> {
    return this.values.wait({
      signal,
      query: { instance: anyInstance(instanceId), key: stringArgument('key', key) },
      accept: (value) => {
        if (ProviderError.is(value)) throw value;
        return value ?? undefined;
      },
      timeoutMs: nativeTimeoutArgument('timeoutMs', timeoutMs),
      timedOut: () => new Error(`Timed out waiting for value '${key}' on instance '${instanceId}'`),
      firstStepMs: FIRST_STEP_MS,
      maxStepMs: MAX_STEP_MS,
    });
  }

  async getKvAllValues(instanceId: string): Promise<Record<string, string>> {
    return Object.fromEntries(await this.provider.getKvAllValues(anyInstance(instanceId)));
  }

  private handleAccess(): HandleAccess {
    return {
      maxPayloadBytes: this.maxPayloadBytes,
      send: (item) => this.enqueuer.send(item),
      readState: async (instance) => readable((await this.readStates([instance]))[0]),
      waitForState: ({ instance, accept, ...wait }) =>
        this.states.wait({
          ...wait,
          // A payload that cannot be decoded matters only where it would be handed on.
          accept: (state) => {
            const accepted = accept(state);
            if (accepted !== undefined) readable(state);
            return accepted;
          },
          query: instance,
          // Only waits for the end have a time-out.
          timedOut: () => new WaitTimeoutError(instance, wait.timeoutMs, `instance '${instance}' has not ended`),
          firstStepMs: FIRST_STEP_MS,
          maxStepMs: MAX_STEP_MS,
        }),
      failureOf: (state) => this.failureOf(state),
    };
  }

  /** The end of the history holds what the text of the failure cannot say: the chain of its causes. */
  private async failureOf(state: InstanceState): Promise<OrchestrationFailedError> {
    const { instance, orchestrationName, output, executionId } = state;
    const last = (await this.provider.readWithExecution(instance, executionId)).at(-1);
    const details = last?.kind === 'OrchestrationFailed' ? last.details : undefined;
    return orchestrationFailure({ instanceId: instance, orchestrationName, text: output ?? '', details });
  }

  private async readStates(
    instances: readonly string[],
    endedOnly = false,
  ): Promise<readonly (InstanceState | undefined)[]> {
    const states = await this.provider.instanceStates({ instances: [...new Set(instances)], endedOnly });
    const byInstance = new Map(states.map((state) => [state.instance, state]));
    return instances.map((instance) => byInstance.get(instance));
  }
}

/** @throws TypeError for nothing, ArgumentError for something else than a provider */
export function providerArgument(className: string, provider: unknown): Provider {
  if (provider === undefined || provider === null) throw new TypeError(`${className} needs a provider`);
  if (typeof (provider as Partial<Provider>).fetchOrchestrationItems !== 'function') {
    throw new ArgumentError('InvalidArg', `${className} needs a provider, got something else`);
  }
  return provider as Provider;
}

/** Named apart from the methods' parameter. */
const anyInstance = instanceId;
