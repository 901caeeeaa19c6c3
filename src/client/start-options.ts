import { randomUUID } from 'node:crypto';
import { checkAgainstNow } from '../wire/standard-schema.js';
import type { WorkItem } from '../wire/work-item.js';
import type { OrchestrationReference } from './definition.js';
import { InvalidInputError } from './errors.js';
import { startMessage } from './messages.js';

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
  const { name, options } = checkedReference(definition);
  if (ifExists !== undefined && ifExists !== 'use' && ifExists !== 'error') {
    throw new InvalidInputError(`ifExists must be 'use' or 'error', got '${String(ifExists)}'`);
  }
  checkAgainstNow(options.input, input, { definition: `orchestration '${name}'`, part: 'input' });
  return startMessage(
    { instance: id ?? randomUUID(), name, input, version: version ?? options.version ?? null },
    maxPayloadBytes,
  );
}

/** @throws TypeError for what is no orchestration */
export function checkedReference<Reference extends OrchestrationReference<unknown, unknown>>(
  definition: Reference,
): Reference {
  const { kind, name } = (definition as Partial<Reference> | null | undefined) ?? {};
  if (kind === 'orchestration' && typeof name === 'string') return definition;
  const got = kind === undefined ? typeof definition : `${String(kind)} '${String(name)}'`;
  throw new TypeError(`expected what orchestration(…) or declareOrchestration(…) returns, got ${got}`);
}
