import type { OrchestrationLock } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { abandonOrchestrationItems } from './abandon-orchestration-items.js';

/** Instances that a fetch locked and does not deliver: nothing was tried with them. Where this fails their locks run out. */
export async function giveBack(ctx: ProviderContext, locks: readonly OrchestrationLock[], why: string): Promise<void> {
  const elements = locks.map(({ instance, lockToken }) => ({ instance, lockToken, ignoreAttempt: true }));
  for (const result of await abandonOrchestrationItems(ctx, elements)) {
    if (!result.ok) ctx.logger.warn({ error: result.error }, `${why} stays locked for a while`);
  }
}
