import { isStorable, utf8Length } from '../base/text.js';
import { MAX_DERIVED_CHILD_ID_BYTES, MAX_INSTANCE_ID_BYTES, MAX_NAME_BYTES } from './limits.js';

/** What the ids of children without a name of their own begin with, and no root id may (runtime.md 5). */
const CHILD_MARKER = 'sub::';

/** Whether a root instance may not be called so: the runtime makes such ids for children. */
export function usesReservedMarker(instance: string): boolean {
  return instance.startsWith(CHILD_MARKER) || instance.includes(`::${CHILD_MARKER}`);
}

/** Why `instance` cannot be the id of a new root instance, or `undefined`. */
export function problemOfRootId(instance: string): string | undefined {
  // The length first: the other message names the id.
  const problem = problemOfText('instance id', instance, MAX_INSTANCE_ID_BYTES);
  if (problem !== undefined || !usesReservedMarker(instance)) return problem;
  return `instance id '${instance}' uses the reserved sub-orchestration marker '${CHILD_MARKER}'`;
}

/** Why `instance` cannot be the id of any instance, a child included, or `undefined`. */
export function problemOfInstanceId(instance: string): string | undefined {
  return problemOfText('instance id', instance, MAX_DERIVED_CHILD_ID_BYTES);
}

/** Why `name` cannot name an orchestration, activity, event or queue, or `undefined`. */
export function problemOfName(what: string, name: string): string | undefined {
  return name === '' ? undefined : problemOfText(what, name, MAX_NAME_BYTES);
}

function problemOfText(what: string, text: string, maxBytes: number): string | undefined {
  if (text === '') return `${what} must not be empty`;
  const bytes = utf8Length(text);
  if (bytes > maxBytes) return `${what} (${bytes} bytes) exceeds limit (${maxBytes} bytes)`;
  if (!isStorable(text)) return `${what} must not contain NUL or unpaired surrogates`;
  return undefined;
}
