import { isStorable, utf8Length } from '../../../base/text.js';
import {
  MAX_DERIVED_CHILD_ID_BYTES,
  MAX_KV_KEY_BYTES,
  MAX_SESSION_ID_BYTES,
  MAX_TAG_BYTES,
} from '../../../wire/limits.js';
import { targetInstance, type WorkItem } from '../../../wire/work-item.js';
import { ProviderError } from '../../provider-error.js';

/**
 * Why a text cannot stand in an index, or `undefined`. Never replaced by something that
 * can: two ids would become one.
 */
function keyProblem(text: string, what: string, maxBytes: number): string | undefined {
  if (typeof text !== 'string') return `${what} must be a string`;
  if (text === '') return `${what} must not be empty`;
  if (!isStorable(text)) return `${what} must not contain U+0000 or an unpaired surrogate`;
  const bytes = utf8Length(text);
  if (bytes > maxBytes) return `${what} has ${bytes} bytes of UTF-8, the limit is ${maxBytes}`;
  return undefined;
}

/** The larger limit: whether an id was derived from a parent's is for callers to know. */
function instanceProblem(instance: string): string | undefined {
  return keyProblem(instance, 'the instance id', MAX_DERIVED_CHILD_ID_BYTES);
}

function refused(operation: string, problem: string | undefined): ProviderError | undefined {
  return problem === undefined ? undefined : ProviderError.permanent(operation, problem);
}

/** Why an item cannot go to the orchestrator queue; checked before any SQL. */
export function refuseOrchestratorItem(operation: string, item: WorkItem): ProviderError | undefined {
  if (item.kind === 'ActivityExecute') {
    return refused(operation, 'ActivityExecute belongs to the worker queue');
  }
  return refused(operation, instanceProblem(targetInstance(item)));
}

/** Why an item cannot go to the worker queue; checked before any SQL. */
export function refuseWorkerItem(operation: string, item: WorkItem): ProviderError | undefined {
  if (item.kind !== 'ActivityExecute') return undefined;
  const { instance, sessionId, tag } = item;
  return refused(
    operation,
    instanceProblem(instance) ??
      (sessionId === undefined ? undefined : keyProblem(sessionId, 'the session id', MAX_SESSION_ID_BYTES)) ??
      (tag === undefined ? undefined : keyProblem(tag, 'the tag', MAX_TAG_BYTES)),
  );
}

/** Why a key cannot be stored. The empty key is one like any other. */
export function refuseKvKey(operation: string, key: string): ProviderError | undefined {
  const bytes = utf8Length(key);
  if (bytes <= MAX_KV_KEY_BYTES) return undefined;
  return refused(operation, `a key of the key-value store has ${bytes} bytes of UTF-8, the limit is ${MAX_KV_KEY_BYTES}`);
}
