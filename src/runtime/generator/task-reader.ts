import type { ReadRetryPolicy, Task, TaskType } from './scheduled-task.js';
import { TASK_TYPES } from './scheduled-task.js';

/** The yielded value is no descriptor, or a field of it is wrong: the instance fails, uncatchably. */
export class InvalidTaskError extends Error {
  override readonly name = 'InvalidTaskError';
}

type FieldType = 'string' | 'optional string' | 'u64' | 'tasks' | 'retry';

/** Fields of each descriptor, in the order in which a missing one is reported. */
const FIELDS: Readonly<Record<TaskType, Readonly<Record<string, FieldType>>>> = {
  activity: { name: 'string', input: 'string', sessionId: 'optional string', tag: 'optional string' },
  activityWithRetry: { name: 'string', input: 'string', retry: 'retry', sessionId: 'optional string' },
  timer: { delayMs: 'u64' },
  waitEvent: { name: 'string' },
  subOrchestration: { name: 'string', input: 'string' },
  subOrchestrationWithId: { name: 'string', instanceId: 'string', input: 'string' },
  subOrchestrationVersioned: { name: 'string', input: 'string', version: 'optional string' },
  subOrchestrationVersionedWithId: {
    name: 'string',
    instanceId: 'string',
    input: 'string',
    version: 'optional string',
  },
  orchestration: { name: 'string', instanceId: 'string', input: 'string' },
  orchestrationVersioned: { name: 'string', instanceId: 'string', input: 'string', version: 'optional string' },
  newGuid: {},
  utcNow: {},
  continueAsNew: { input: 'string' },
  continueAsNewVersioned: { input: 'string', version: 'optional string' },
  dequeueEvent: { queueName: 'string' },
  getValueFromInstance: { instanceId: 'string', key: 'string' },
  join: { tasks: 'tasks' },
  select: { tasks: 'tasks' },
};

/**
 * Reads a yielded descriptor as native does, which gets it as JSON text: what JSON leaves
 * out is absent, and NaN is `null`.
 * @throws InvalidTaskError with native's words (node-api.md 6.2)
 */
export function readTask(yielded: unknown): Task {
  const value = jsonView(yielded);
  if (value === undefined) throw new InvalidTaskError('missing field `task`');
  return readTaskObject(value);
}

function readTaskObject(value: unknown): Task {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidTaskError(`invalid type: ${described(value)}, expected internally tagged enum ScheduledTask`);
  }
  const object = value as Readonly<Record<string, unknown>>;
  const type = readType(jsonView(object['type']));
  const fields = FIELDS[type];
  const read: Record<string, unknown> = { type };
  const missing: string[] = [];
  for (const [field, fieldType] of Object.entries(fields)) {
    const given = jsonView(object[field]);
    if (given === undefined && fieldType !== 'optional string') missing.push(field);
    else read[field] = readField(given, fieldType);
  }
  if (missing[0] !== undefined) throw new InvalidTaskError(`missing field \`${missing[0]}\``);
  return read as unknown as Task; // made field by field from the table of its type
}

function readType(type: unknown): TaskType {
  if (type === undefined) throw new InvalidTaskError('missing field `type`');
  const known = typeof type === 'number' ? TASK_TYPES[type] : TASK_TYPES.find((candidate) => candidate === type);
  if (known) return known;
  if (typeof type !== 'string') {
    throw new InvalidTaskError(`invalid type: ${described(type)}, expected variant identifier`);
  }
  const expected = TASK_TYPES.map((candidate) => `\`${candidate}\``).join(', ');
  throw new InvalidTaskError(`unknown variant \`${type}\`, expected one of ${expected}`);
}

function readField(value: unknown, type: FieldType): unknown {
  switch (type) {
    case 'optional string':
      return value === undefined || value === null ? undefined : readString(value);
    case 'string':
      return readString(value);
    case 'u64':
      return readUnsigned(value, 'u64', Number.MAX_SAFE_INTEGER);
    case 'retry':
      return readRetry(value);
    case 'tasks':
      if (!Array.isArray(value)) throw new InvalidTaskError(`invalid type: ${described(value)}, expected a sequence`);
      return Array.from(value, (task: unknown) => readTaskObject(jsonView(task) ?? null));
  }
}

function readRetry(value: unknown): ReadRetryPolicy {
  if (typeof value !== 'object' || value === null) {
    throw new InvalidTaskError(`invalid type: ${described(value)}, expected struct RetryPolicyConfig`);
  }
  const object = value as Readonly<Record<string, unknown>>;
  const optional = <T>(field: string, read: (given: unknown) => T): T | undefined => {
    const given = jsonView(object[field]);
    return given === undefined || given === null ? undefined : read(given);
  };
  const readMs = (given: unknown): number => readUnsigned(given, 'u64', Number.MAX_SAFE_INTEGER);
  const backoff = optional('backoff', readString);
  const timeoutMs = optional('timeoutMs', readMs);
  const totalTimeoutMs = optional('totalTimeoutMs', readMs);
  const maxAttempts = jsonView(object['maxAttempts']);
  if (maxAttempts === undefined) throw new InvalidTaskError('missing field `maxAttempts`');
  return {
    maxAttempts: readUnsigned(maxAttempts, 'u32', 2 ** 32 - 1),
    backoff,
    timeoutMs: totalTimeoutMs ?? timeoutMs,
  };
}

function readString(value: unknown): string {
  if (typeof value !== 'string') throw new InvalidTaskError(`invalid type: ${described(value)}, expected a string`);
  return value;
}

function readUnsigned(value: unknown, type: string, max: number): number {
  if (typeof value !== 'number' || !isIntegerText(value)) {
    throw new InvalidTaskError(`invalid type: ${described(value)}, expected ${type}`);
  }
  if (value < 0 || (type === 'u32' && value > max)) {
    throw new InvalidTaskError(`invalid value: ${described(value)}, expected ${type}`);
  }
  return Math.min(value, max);
}

/** How a value is seen after `JSON.stringify`; absent values are `undefined`. */
function jsonView(value: unknown): unknown {
  switch (typeof value) {
    case 'function':
    case 'symbol':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'bigint':
      throw new TypeError('Do not know how to serialize a BigInt');
    case 'object': {
      const toJson: unknown = value === null ? undefined : (value as { toJSON?: unknown }).toJSON;
      return typeof toJson === 'function' ? (toJson.call(value, '') as unknown) : value;
    }
    default:
      return value;
  }
}

/** Whether the number is written without fraction and exponent, and is an integer to native. */
function isIntegerText(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 64;
}

function described(value: unknown): string {
  switch (typeof value) {
    case 'number':
      return isIntegerText(value) ? `integer \`${value}\`` : `floating point \`${value}\``;
    case 'string':
      return `string ${JSON.stringify(value)}`;
    case 'boolean':
      return `boolean \`${value}\``;
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? 'sequence' : 'map';
    default:
      return 'null'; // absent elements of arrays
  }
}
