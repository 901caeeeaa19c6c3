import type { Abandon, OrchestrationLock, Renewal, Result } from '../provider.js';
import { errorTexts, ProviderError } from '../provider-error.js';
import type { ProviderContext } from '../drizzle/context.js';
import { abandonValues, callFunction, renewValues } from './call.js';
import { settleEachToken } from './each.js';

/** Gives instances back undone, also after their lock expired, as long as nobody took them (P:T-27). */
export async function abandonOrchestrationItems(
  ctx: ProviderContext,
  elements: readonly (OrchestrationLock & Abandon)[],
): Promise<Result[]> {
  const name = 'abandon_orchestration_item';
  const results = await settleEachToken({
    elements,
    lost: () => ProviderError.permanent(name, errorTexts.invalidLockToken),
    run: ({ lockToken, ...abandon }) => callFunction(ctx, { name, values: abandonValues(lockToken, abandon) }),
  });
  if (elements.some(({ delayMs = 0 }, index) => delayMs <= 0 && results[index]?.ok)) ctx.wake('orchestrator');
  return results;
}

export function renewOrchestrationItemLocks(
  ctx: ProviderContext,
  elements: readonly (OrchestrationLock & Renewal)[],
): Promise<Result[]> {
  const name = 'renew_orchestration_item_lock';
  return settleEachToken({
    elements,
    lost: () => ProviderError.permanent(name, errorTexts.orchestrationLockLost),
    run: ({ lockToken, extendMs }) =>
      callFunction(ctx, { name, values: renewValues(lockToken, extendMs) }, { withinMs: extendMs }),
  });
}
