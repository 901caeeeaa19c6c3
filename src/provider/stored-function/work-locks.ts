import { utf8Length } from '../../base/text.js';
import type { ProviderContext } from '../drizzle/context.js';
import type { SqlValues } from '../drizzle/executor.js';
import {
  type PreparedWorkAck,
  prepareWorkAck,
  refuseWorkAck,
  type WorkAck,
} from '../drizzle/operations/ack-work-statement.js';
import { tokensOnce } from '../drizzle/operations/settle-batch.js';
import type { Abandon, Ms, Renewal, Result, WorkItemLock } from '../provider.js';
import { errorTexts, ProviderError } from '../provider-error.js';
import { abandonValues, callFunction, renewValues } from './call.js';
import { settleEach, settleEachToken } from './each.js';

const ACK = 'ack_worker';

/** Removes worker items whose lock is live and puts their completions into the queues of their instances. */
export async function ackWorkItems(ctx: ProviderContext, elements: readonly WorkAck[]): Promise<Result[]> {
  const isFirst = tokensOnce();
  const results = await settleEach<WorkAck, PreparedWorkAck>({
    elements,
    accept: (element) => {
      const refusal = refuseWorkAck(ACK, element);
      if (refusal) return { error: refusal };
      if (!isFirst(element)) return { error: ProviderError.permanent(ACK, errorTexts.workItemNotFound) };
      return { accepted: prepareWorkAck(element) };
    },
    sizeOf: ({ completion }) => utf8Length(completion?.text ?? ''),
    run: (ack) => callFunction(ctx, { name: ACK, values: (nowMs) => ackWorkValues(ack, nowMs) }),
  });
  if (elements.some(({ completion }, index) => completion && results[index]?.ok)) ctx.wake('orchestrator');
  return results;
}

/** The arguments of `ack_worker`. */
export function ackWorkValues({ lockToken, completion }: PreparedWorkAck, nowMs: Ms): SqlValues {
  return {
    p_lock_token: lockToken,
    p_instance_id: completion?.instance ?? null,
    p_completion_json: completion?.text ?? null,
    p_now_ms: nowMs,
  };
}

/** Gives worker items back undone, also after their lock expired, as long as nobody took them (P:T-27). */
export async function abandonWorkItems(
  ctx: ProviderContext,
  elements: readonly (WorkItemLock & Abandon)[],
): Promise<Result[]> {
  const name = 'abandon_work_item';
  const results = await settleEachToken({
    elements,
    lost: () => ProviderError.permanent(name, errorTexts.abandonedWorkItemNotFound),
    run: ({ lockToken, ...abandon }) => callFunction(ctx, { name, values: abandonValues(lockToken, abandon) }),
  });
  if (elements.some(({ delayMs = 0 }, index) => delayMs <= 0 && results[index]?.ok)) ctx.wake('worker');
  return results;
}

export function renewWorkItemLocks(
  ctx: ProviderContext,
  elements: readonly (WorkItemLock & Renewal)[],
): Promise<Result[]> {
  const name = 'renew_work_item_lock';
  return settleEachToken({
    elements,
    lost: () => ProviderError.permanent(name, errorTexts.workItemLockLost),
    run: ({ lockToken, extendMs }) =>
      callFunction(ctx, { name, values: renewValues(lockToken, extendMs) }, { withinMs: extendMs }),
  });
}
