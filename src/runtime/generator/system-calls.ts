import type { EmittedAction } from '../replay/action.js';
import { SYSTEM_ACTIVITY_PREFIX } from '../registry.js';

/** The activities of the runtime behind deterministic helpers (runtime.md 3.10). */
export const NEW_GUID = systemCall('new_guid', '');
export const UTC_NOW = systemCall('utc_now_ms', '');

/** Reads a value of an instance; key order and spacing of the input are compared on replay. */
export function getKvValue(instance: string, key: string): EmittedAction {
  return systemCall('get_kv_value', JSON.stringify({ instance_id: instance, key }));
}

function systemCall(name: string, input: string): EmittedAction {
  return { kind: 'scheduleActivity', name: `${SYSTEM_ACTIVITY_PREFIX}${name}`, input };
}
