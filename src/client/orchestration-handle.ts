import type { InstanceState } from '../provider/provider.js';
import { decodePayload } from '../wire/payload.js';
import { checkAgainstNow } from '../wire/standard-schema.js';
import type { WorkItem } from '../wire/work-item.js';
import { timeoutArgument } from './arguments.js';
import { eventName } from './checked-definition.js';
import type { EventDefinition, InputArgument } from './definition.js';
import type { OrchestrationFailedError } from './durable-errors.js';
import { cancelMessage, signalMessage } from './messages.js';
import { hasEnded } from './status.js';

/** How long a caller waits. */
export interface WaitOptions {
  /** Ends the wait, not the instance: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What a handle needs of its client. @internal */
export interface HandleAccess {
  readonly maxPayloadBytes: number;
  send(item: WorkItem): Promise<void>;
  readState(instance: string): Promise<InstanceState | undefined>;
  waitForState<T>(wait: {
    readonly instance: string;
    readonly accept: (state: InstanceState | undefined) => T | undefined;
    readonly timeoutMs: number;
    readonly signal: AbortSignal | undefined;
  }): Promise<T>;
  failureOf(state: InstanceState): Promise<OrchestrationFailedError>;
}

/** What an instance shows beside its end. */
interface CustomStatus {
  /** The JSON value last set; `undefined` when there is none. */
  readonly custom: unknown;
  /** Grows with each change, from 0. */
  readonly customVersion: number;
}

/** Where an instance stands. `NotFound` also while no runtime has taken its start message. */
export type HandleStatus<Out> = CustomStatus &
  (
    | { readonly status: 'NotFound' | 'Running' }
    | { readonly status: 'Completed'; readonly output: Out }
    | { readonly status: 'Failed'; readonly error: OrchestrationFailedError }
  );

/** Sends what an instance waits for. */
export interface HandleEvents {
  /**
   * Raises an event for whoever waits for it *now*; without a waiter it is lost.
   * @throws SchemaValidationError when the data does not fit the event; nothing is stored then
   */
  raise<Sent>(event: EventDefinition<Sent, unknown>, ...data: InputArgument<Sent>): Promise<void>;
  raise(event: string, data?: unknown): Promise<void>;
  /** Puts a message into a mailbox of the instance, where it waits until it is taken. @throws as {@link raise} */
  enqueue<Sent>(mailbox: EventDefinition<Sent, unknown>, ...data: InputArgument<Sent>): Promise<void>;
  enqueue(mailbox: string, data?: unknown): Promise<void>;
}

/**
 * One instance of an orchestration, whether it runs, has ended, or was never started. A
 * handle holds nothing open: it may be made anywhere, any number of times.
 */
export class OrchestrationHandle<Out> {
  readonly events: HandleEvents;

  /** @internal use `client.start(…)` or `client.handle(…)` */
  constructor(
    private readonly access: HandleAccess,
    readonly id: string,
  ) {
    this.events = {
      raise: (event: EventDefinition<unknown> | string, data?: unknown) => this.signal('ExternalRaised', event, data),
      enqueue: (event: EventDefinition<unknown> | string, data?: unknown) => this.signal('QueueMessage', event, data),
    };
  }

  /**
   * Waits for the end and gives the output.
   * @param options `timeoutMs`: how long to wait; absent: for ever; 0 or a negative rest: look once
   * @throws OrchestrationFailedError when the instance failed; WaitTimeoutError; the signal's reason
   */
  async result({ signal, timeoutMs }: WaitOptions & { readonly timeoutMs?: number | undefined } = {}): Promise<Out> {
    const ended = await this.access.waitForState({
      instance: this.id,
      accept: (state) => (hasEnded(state) ? state : undefined),
      timeoutMs: timeoutMs === undefined ? Infinity : timeoutArgument('timeoutMs', timeoutMs),
      signal,
    });
    if (ended.status === 'Failed') throw await this.access.failureOf(ended);
    return outputOf<Out>(ended);
  }

  /** Where the instance stands now. */
  async status(): Promise<HandleStatus<Out>> {
    const state = await this.access.readState(this.id);
    if (!state) return { status: 'NotFound', custom: undefined, customVersion: 0 };
    const custom = { custom: customOf(state), customVersion: state.customStatusVersion };
    if (state.status === 'Completed') return { status: 'Completed', output: outputOf<Out>(state), ...custom };
    if (state.status === 'Failed') return { status: 'Failed', error: await this.access.failureOf(state), ...custom };
    return { status: 'Running', ...custom };
  }

  /** Asks the instance to end; a no-op once it has ended, and the first reason stays. */
  async cancel(reason = ''): Promise<void> {
    await this.access.send(cancelMessage({ instance: this.id, reason }, this.access.maxPayloadBytes));
  }

  /**
   * The custom status, from the one that stands now, as it changes; of changes that follow
   * each other quickly the last one. Ends with the instance.
   * @throws the signal's reason
   */
  async *watch<Status = unknown>({ signal }: WaitOptions = {}): AsyncGenerator<Status | undefined, void, void> {
    let seen = 0;
    for (;;) {
      const state: InstanceState = await this.access.waitForState({
        instance: this.id,
        accept: (now) => (now && (now.customStatusVersion > seen || hasEnded(now)) ? now : undefined),
        timeoutMs: Infinity,
        signal,
      });
      const isNew = state.customStatusVersion > seen;
      seen = state.customStatusVersion;
      if (isNew) yield customOf(state) as Status | undefined;
      if (hasEnded(state)) return;
    }
  }

  private async signal(
    kind: 'ExternalRaised' | 'QueueMessage',
    event: EventDefinition<unknown> | string,
    data: unknown,
  ): Promise<void> {
    const name = eventName(event);
    if (typeof event !== 'string') checkAgainstNow(event.data, data, { definition: `event '${name}'`, part: 'data' });
    return this.send(kind, name, data);
  }

  private async send(kind: 'ExternalRaised' | 'QueueMessage', name: string, data: unknown): Promise<void> {
    await this.access.send(signalMessage(kind, { instance: this.id, name, data }, this.access.maxPayloadBytes));
  }
}

function outputOf<Out>({ output }: InstanceState): Out {
  return decodePayload(output ?? 'null') as Out;
}

function customOf({ customStatus }: InstanceState): unknown {
  return customStatus === null ? undefined : decodePayload(customStatus);
}
