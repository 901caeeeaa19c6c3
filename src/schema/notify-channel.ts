import { fnv1a64Hex } from '../base/fnv1a.js';

/**
 * The channel on which wake-ups for `schema` travel (provider.md 3.4.10). Hashed,
 * because a channel's name has at most 63 bytes and a schema's name may have as many.
 */
export function notifyChannel(schema: string): string {
  return `ddz_${fnv1a64Hex(schema)}`;
}
