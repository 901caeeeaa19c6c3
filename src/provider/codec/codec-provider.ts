import type { Logger } from '../../base/logger.js';
import { consoleLogger, guardedLogger } from '../../base/logger.js';
import type { WorkItem } from '../../wire/work-item.js';
import { targetInstance } from '../../wire/work-item.js';
import type {
  AckOrchestrationItem,
  EnqueueForOrchestrator,
  FetchOrchestrationItems,
  FetchWorkItems,
  LockedOrchestrationItem,
  LockedWorkItem,
  OrchestrationLock,
  Provider,
  WorkItemLock,
} from '../provider.js';
import { ProviderError, UnsupportedError } from '../provider-error.js';
import { codecAdmin } from './codec-admin.js';
import { mapAck, mapEvents, mapKvSnapshot, mapLockedItem, mapValues } from './codec-records.js';
import { codecScope } from './codec-scope.js';
import { codecSchedules } from './codec-schedules.js';
import { codecStartQueues } from './codec-start-queues.js';
import { Coder } from './coder.js';
import { mapWorkItem } from './map-payloads.js';
import { DecodePauses } from './decode-pauses.js';
import { asProviderError, decodedOr, eachEncoded } from './each-encoded.js';
import { CodecError, type PayloadCodec } from './payload-codec.js';
import { typeName } from '../../base/type-name.js';

export interface CodecOptions {
  /**
   * Use the codec in a schema that native duroxide may share, although native can neither
   * read nor write such values.
   * @defaultValue `false`
   */
  readonly force?: boolean | undefined;
  /** Where values that cannot be decoded are reported. @defaultValue warnings and errors on stderr */
  readonly logger?: Logger | undefined;
}

const HAS_CODEC = Symbol.for('duroxide-drizzle.hasCodec');
const NAME = /^[\w.-]{1,64}$/;

/**
 * The same store with a codec in front of it: payloads of users (inputs, outputs, event and
 * message data, values of keys, custom statuses) are encoded on their way in and decoded on
 * their way out. Names, ids, tags, times and error texts stay readable. Give the result to
 * every client and runtime of the schema; what was stored before is read as it is.
 *
 * A value that cannot be encoded is not stored, and the call says so. What cannot be
 * decoded is put off, not failed: with the right key a later deploy goes on.
 * @throws UnsupportedError in a schema shared with native, unless forced; TypeError for something that is no codec
 */
export function withCodec(provider: Provider, codec: PayloadCodec, options: CodecOptions = {}): Provider {
  if (typeof (provider as Partial<Provider> | null | undefined)?.wakeUps !== 'function') {
    throw new TypeError(`withCodec: expected a provider, got ${typeName(provider)}`);
  }
  checkCodec(codec);
  if (HAS_CODEC in provider) throw new TypeError('withCodec: the provider has a codec already');
  if (provider.wakeUps().sharedWithNative && options.force !== true) {
    throw new UnsupportedError(
      `the codec '${codec.name}' cannot be used in a schema shared with native duroxide, which could not read ` +
        `what it writes: use a schema of its own, or { force: true } if no native worker or client uses this one`,
    );
  }
  const overrides = codecOperations(provider, codec, guardedLogger(options.logger ?? consoleLogger));
  return new Proxy(provider, {
    get(target, property) {
      if (property === HAS_CODEC) return true;
      const own = (overrides as Partial<Record<PropertyKey, unknown>>)[property];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
    has: (target, property) => property === HAS_CODEC || Reflect.has(target, property),
  });
}

function checkCodec(codec: PayloadCodec): void {
  if (typeof codec !== 'object' || (codec as unknown) === null) {
    throw new TypeError(`withCodec: expected a codec { name, encode, decode }, got ${typeName(codec)}`);
  }
  const { name } = codec;
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new TypeError(`withCodec: the codec's name must match ${NAME.source}, got ${String(name)}`);
  }
  if (typeof codec.encode !== 'function' || typeof codec.decode !== 'function') {
    throw new TypeError(`withCodec: the codec '${name}' must have the functions encode and decode`);
  }
}

function codecOperations(provider: Provider, codec: PayloadCodec, logger: Logger): Partial<Provider> {
  const coder = new Coder(codec);
  const pauses = new DecodePauses();
  const encodeItem = async (item: WorkItem) => coder.encode(item, mapWorkItem, targetInstance(item));
  const encodeTurn = async (turn: AckOrchestrationItem) => ({
    ...(await coder.encode(turn, mapAck, turn.instance)),
    orchestratorItems: await Promise.all(turn.orchestratorItems.map(encodeItem)),
  });
  const decodeEvents = async (events: Awaited<ReturnType<Provider['read']>>, instance: string) => [
    ...(await coder.decode(events, mapEvents, instance)),
  ];
  const decodeText = (text: string | null, what: string, instanceId: string) =>
    text === null ? null : coder.decodeText(text, { what, instanceId });

  async function decodeTurn(item: LockedOrchestrationItem): Promise<LockedOrchestrationItem | undefined> {
    const { instance, lockToken } = item;
    try {
      const decoded = await coder.decode(
        item,
        mapLockedItem,
        instance,
        ` for orchestration '${item.orchestrationName}'`,
      );
      pauses.forget(instance);
      return decoded;
    } catch (error) {
      if (!CodecError.is(error)) throw error;
      const delayMs = pauses.next(instance);
      logger.error({ instance, orchestration: item.orchestrationName, delayMs, error }, `put off: ${error.message}`);
      await provider.abandonOrchestrationItems([{ instance, lockToken, delayMs, ignoreAttempt: true }]);
      return undefined;
    }
  }

  async function decodeWork(row: LockedWorkItem): Promise<LockedWorkItem | undefined> {
    const { item, instance, lockToken } = row;
    try {
      return { ...row, item: await coder.decode(item, mapWorkItem, targetInstance(item)) };
    } catch (error) {
      if (!CodecError.is(error)) throw error;
      const delayMs = pauses.next(`${targetInstance(item)}/${'id' in item ? item.id : 0}`);
      logger.error({ instance, delayMs, error }, `put off: ${error.message}`);
      await provider.abandonWorkItems([{ instance, lockToken, delayMs, ignoreAttempt: true }]);
      return undefined;
    }
  }

  return {
    // How they ended would have to be decoded, which takes time: whoever waits reads it.
    onEnded: (listener, { elsewhere } = {}) => provider.onEnded((instances) => listener(instances, []), { elsewhere }),
    async fetchOrchestrationItems(params: FetchOrchestrationItems) {
      const { items, lost } = await provider.fetchOrchestrationItems(params);
      return { items: present(await Promise.all(items.map(decodeTurn))), lost };
    },
    ackOrchestrationItems: (turns: readonly AckOrchestrationItem[]) =>
      eachEncoded('ack_orchestration_item', turns, encodeTurn, (encoded) => provider.ackOrchestrationItems(encoded)),
    async fetchWorkItems(params: FetchWorkItems) {
      return present(await Promise.all((await provider.fetchWorkItems(params)).map(decodeWork)));
    },
    ackWorkItems: (elements) =>
      eachEncoded(
        'ack_worker',
        elements,
        (element) => encodeCompletion(element, encodeItem),
        (encoded) => provider.ackWorkItems(encoded),
      ),
    enqueueForOrchestrator: (elements: readonly EnqueueForOrchestrator[]) =>
      eachEncoded(
        'enqueue_orchestrator_work',
        elements,
        async (element) => ({ ...element, item: await encodeItem(element.item) }),
        (encoded) => provider.enqueueForOrchestrator(encoded),
      ),
    enqueueForWorker: (items: readonly WorkItem[]) =>
      eachEncoded('enqueue_worker_work', items, encodeItem, (encoded) => provider.enqueueForWorker(encoded)),
    enqueueStartIfAbsent: (item) =>
      guarded('enqueue_start_if_absent', async () =>
        provider.enqueueStartIfAbsent((await encodeItem(item)) as typeof item),
      ),
    async loadHistory(lock: OrchestrationLock) {
      const loaded = await provider.loadHistory(lock);
      return guarded('load_history', async () => ({
        ...loaded,
        events: await coder.decode(loaded.events, mapEvents, lock.instance),
        kvSnapshot: await coder.decode(loaded.kvSnapshot, mapKvSnapshot, lock.instance),
      }));
    },
    within: (tx: unknown) => codecScope(provider.within(tx), coder),
    ...(provider.activityTransactions && {
      activityTransactions: () => {
        const transactions = provider.activityTransactions?.();
        return (
          transactions && {
            runsAlone: transactions.runsAlone,
            refuseInside: (operation: string) => transactions.refuseInside(operation),
            run: (activity: Parameters<typeof transactions.run>[0]) =>
              transactions.run({
                ...activity,
                use: async (tx, scope) => encodeItem(await activity.use(tx, codecScope(scope, coder))),
              }),
          }
        );
      },
    }),
    ...(provider.schedules && {
      schedules: () => {
        const schedules = provider.schedules?.();
        return schedules && codecSchedules(schedules, coder);
      },
    }),
    ...(provider.startQueues && {
      startQueues: () => {
        const queues = provider.startQueues?.();
        return queues && codecStartQueues(queues, coder);
      },
    }),
    read: async (instance) => guarded('read', async () => decodeEvents(await provider.read(instance), instance)),
    readWithExecution: async (instance, executionId) =>
      guarded('read', async () => decodeEvents(await provider.readWithExecution(instance, executionId), instance)),
    appendWithExecution: async (instance, executionId, events) =>
      provider.appendWithExecution(instance, executionId, await coder.encode(events, mapEvents, instance)),
    async getCustomStatus(instance, lastSeenVersion) {
      const found = await provider.getCustomStatus(instance, lastSeenVersion);
      return (
        found && {
          ...found,
          status: await guarded('get_custom_status', async () =>
            decodeText(found.status, 'the custom status', instance),
          ),
        }
      );
    },
    async instanceStates(params) {
      const states = await provider.instanceStates(params);
      return Promise.all(
        states.map((state) =>
          decodedOr(
            async () => ({
              ...state,
              output: await decodeText(state.output, outputOf(state.orchestrationName), state.instance),
              customStatus: await decodeText(state.customStatus, 'the custom status', state.instance),
            }),
            (error) => ({ ...state, unreadable: asProviderError('instance_states', error) }),
          ),
        ),
      );
    },
    async getKvValues(keys) {
      const values = await provider.getKvValues(keys);
      return Promise.all(
        values.map((value, i) =>
          decodedOr<typeof value>(
            async () =>
              ProviderError.is(value)
                ? value
                : decodeText(value, `the value of key '${keys[i]?.key}'`, keys[i]?.instance ?? ''),
            (error) => asProviderError('get_kv_value', error),
          ),
        ),
      );
    },
    getKvValue: async (instance, key) =>
      guarded('get_kv_value', async () =>
        decodeText(await provider.getKvValue(instance, key), `the value of key '${key}'`, instance),
      ),
    getKvAllValues: async (instance) =>
      guarded(
        'get_kv_all_values',
        async () => new Map(await coder.decode(await provider.getKvAllValues(instance), mapValues, instance)),
      ),
    asManagement: () => codecAdmin(provider.asManagement(), coder, guarded),
  };
}

/** An activity whose result cannot be encoded has failed: running it again would not help, and its effect is there. */
async function encodeCompletion<Element extends WorkItemLock & { readonly completion?: WorkItem | undefined }>(
  element: Element,
  encodeItem: (item: WorkItem) => Promise<WorkItem>,
): Promise<Element> {
  const { completion } = element;
  if (!completion) return element;
  try {
    return { ...element, completion: await encodeItem(completion) };
  } catch (error) {
    if (completion.kind !== 'ActivityCompleted' || !CodecError.is(error)) throw error;
    const { instance, executionId, id } = completion;
    const details = {
      kind: 'Application',
      application: { kind: 'ActivityFailed' },
      message: error.message,
      retryable: false,
    } as const;
    return { ...element, completion: { kind: 'ActivityFailed', instance, executionId, id, details } };
  }
}

/** Reads: an error of the codec becomes one of the operation. */
async function guarded<T>(operation: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw CodecError.is(error) ? asProviderError(operation, error) : error;
  }
}

function outputOf(orchestration: string): string {
  return `the output of orchestration '${orchestration}'`;
}

function present<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined);
}
