import { randomUUID } from 'node:crypto';
import { errorText } from '../base/error-text.js';
import type { Provider } from '../provider/provider.js';
import { SYSTEM_ACTIVITY_PREFIX } from './registry.js';

/** A failure whose text is stored as it is. */
export class SystemActivityError extends Error {
  override readonly name = 'SystemActivityError';
}

/** An activity of the runtime itself: payload text in, payload text out. */
export type SystemActivity = (input: string) => string | Promise<string>;

/** The built-in activities behind `newGuid`, `utcNow` and `getValueFromInstance` (runtime.md 3.10). */
export function systemActivities(provider: Provider): ReadonlyMap<string, SystemActivity> {
  return new Map<string, SystemActivity>([
    // Both results are bare: they are not JSON.
    [`${SYSTEM_ACTIVITY_PREFIX}new_guid`, () => randomUUID()],
    [`${SYSTEM_ACTIVITY_PREFIX}utc_now_ms`, () => String(provider.nowMs())],
    [`${SYSTEM_ACTIVITY_PREFIX}get_kv_value`, (input) => kvValueOf(provider, input)],
  ]);
}

async function kvValueOf(provider: Provider, input: string): Promise<string> {
  const { instance, key } = readInput(input);
  try {
    return JSON.stringify(await provider.getKvValue(instance, key));
  } catch (error) {
    throw new SystemActivityError(`get_kv_value client error: ${errorText(error)}`);
  }
}

function readInput(input: string): { instance: string; key: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(input);
  } catch (error) {
    throw new SystemActivityError(`get_kv_value: invalid input: ${errorText(error)}`);
  }
  const { instance_id: instance, key } = (parsed ?? {}) as { instance_id?: unknown; key?: unknown };
  if (typeof instance !== 'string') throw new SystemActivityError('get_kv_value: missing instance_id');
  if (typeof key !== 'string') throw new SystemActivityError('get_kv_value: missing key');
  return { instance, key };
}
