import { randomUUID } from 'node:crypto';
import type { QueuedStart } from '../provider/start-queues.js';
import { parseSemVer } from '../wire/compat-version.js';
import { checkAgainstNow } from '../wire/standard-schema.js';
import type { WorkItem } from '../wire/work-item.js';
import { checkedDefinition } from './checked-definition.js';
import type { OrchestrationReference } from './definition.js';
import { InvalidInputError } from './errors.js';
import { startMessage } from './messages.js';
import { checkedKey, checkedPriority, checkedQueueId } from './start-queue-limits.js';

/** How an instance is started. */
export interface StartOptions {
  /** The instance id. Absent: a new UUID. */
  readonly id?: string | undefined;
  /**
   * What happens when the id exists: `use` leaves the instance as it is, with its first
   * input, and gives its handle; `error` throws an `InstanceExistsError`. Of starts of one id
   * that all say `error`, one passes, whatever their processes; a start that waits in the queue
   * exists, too. @defaultValue `use`
   */
  readonly ifExists?: 'use' | 'error' | undefined;
  /** Absent: the definition's; if it has none, what the registry's policy names, as a rule the latest. */
  readonly version?: string | undefined;
  /**
   * A start queue, whose limits say when the instance begins; see `client.startQueues`.
   * Absent: it begins as soon as a runtime takes it.
   */
  readonly queue?: string | undefined;
  /** What limits per key of the {@link queue} count together, such as a customer. Absent: they do not apply. */
  readonly key?: string | undefined;
  /** Higher is earlier in the {@link queue}; of equal ones the first. From -1,000,000 to 1,000,000. @defaultValue `0` */
  readonly priority?: number | undefined;
}

/**
 * The message that starts an instance of a definition.
 * @throws SchemaValidationError, ArgumentError, InvalidInputError, TypeError; nothing is stored then
 */
export function typedStartMessage(
  definition: OrchestrationReference<unknown, unknown>,
  input: unknown,
  { id, version, ifExists }: StartOptions,
  maxPayloadBytes: number,
): WorkItem & { kind: 'StartOrchestration' } {
  const { name, options } = checkedDefinition(definition, ['orchestration']);
  if (ifExists !== undefined && ifExists !== 'use' && ifExists !== 'error') {
    throw new InvalidInputError(`ifExists must be 'use' or 'error', got '${String(ifExists)}'`);
  }
  checkAgainstNow(options.input, input, { definition: `orchestration '${name}'`, part: 'input' });
  if (typeof version === 'string') checkedVersion(name, version);
  return startMessage(
    { instance: id ?? randomUUID(), name, input, version: version ?? options.version ?? null },
    maxPayloadBytes,
  );
}

/** A version that a definition can have. @throws InvalidInputError with the words of definitions */
export function checkedVersion(orchestration: string, version: string): string {
  if (parseSemVer(version)) return version;
  throw new InvalidInputError(`orchestration '${orchestration}': expected a version such as 1.2.3, got '${version}'`);
}

/**
 * How a start waits in a start queue; `undefined` for one that does not.
 * @throws StartQueueError, InvalidInputError
 */
export function queuePlacement({ queue, key, priority }: StartOptions): Omit<QueuedStart, 'item'> | undefined {
  if (queue === undefined) {
    const given = key === undefined ? 'priority' : 'key';
    if (key === undefined && priority === undefined) return undefined;
    throw new InvalidInputError(`${given} means nothing without a queue: name one, or leave it out`);
  }
  return {
    queue: checkedQueueId(queue),
    key: checkedKey(queue, key),
    priority: checkedPriority(queue, priority),
  };
}
