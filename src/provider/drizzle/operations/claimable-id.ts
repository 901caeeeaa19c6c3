import { utf8Length } from '../../../base/text.js';
import type { ProviderContext } from '../context.js';

/**
 * The longest id that a claim can take, in bytes of UTF-8: the token holds it beside 42
 * of its own, and an entry of a B-tree holds 2,704. Left alone, because the claim would
 * fail with all that stands beside it. We write no such ids; native may.
 */
export const MAX_CLAIMABLE_ID_BYTES = 2_600;

/** Whether an instance can be claimed; says so in the log where it cannot. */
export function isClaimableId(ctx: ProviderContext, instance: string): boolean {
  // A unit of UTF-16 takes at most three bytes: most ids need not be measured.
  if (instance.length * 3 <= MAX_CLAIMABLE_ID_BYTES) return true;
  const bytes = utf8Length(instance);
  if (bytes <= MAX_CLAIMABLE_ID_BYTES) return true;
  ctx.logger.error({ instance: instance.slice(0, 100), bytes }, 'an instance with an id of this length cannot be run');
  return false;
}
