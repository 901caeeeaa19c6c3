import type { FetchWorkItems, LockedWorkItem } from '../../provider.js';
import { ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { inTransaction } from '../transaction.js';
import { claimSessions } from './claim-sessions.js';
import { type ClaimedWork, claimWorkItems, type SessionReach, WORK_WINDOWS, type WorkWindow } from './claim-work-items.js';
import { decodeMessages } from './decode-messages.js';
import { setAsideWorkItems } from './set-aside-work-items.js';

const OPERATION = 'fetch_work_item';
/** A window may be full of rows that others hold or of sessions that are lost; at some time it is enough. */
const MAX_ROUNDS = 5;

/**
 * Locks up to `limit` worker items in queue order.
 * @throws ProviderError when nothing could be fetched
 */
export async function fetchWorkItems(ctx: ProviderContext, params: FetchWorkItems): Promise<LockedWorkItem[]> {
  const { limit, lockTimeoutMs, session, tagFilter } = params;
  if (tagFilter.kind === 'none' || limit <= 0) return [];
  const items: LockedWorkItem[] = [];
  let window: WorkWindow = WORK_WINDOWS.find((size) => size >= 10 * limit) ?? 500;
  let reach = firstReach(params);
  for (let round = 1; round <= MAX_ROUNDS && items.length < limit; round++) {
    const claimParams = {
      limit: limit - items.length,
      window,
      lockTimeoutMs,
      tagFilter,
      reach,
      session,
      maxNewSessions: params.maxNewSessions,
    };
    try {
      const { won, mayHoldMore } = await inTransaction(
        ctx,
        OPERATION,
        async (tx, nowMs) => {
          const claim = await claimWorkItems(ctx, tx, { ...claimParams, nowMs });
          const won = session ? await claimSessions(ctx, tx, claim.claimed, { session, nowMs }) : claim.claimed;
          return { won, mayHoldMore: claim.windowWasFull || won.length < claim.claimed.length };
        },
        { withinMs: lockTimeoutMs, mayBeLost: true },
      );
      const readable = await readItems(ctx, won);
      items.push(...readable);
      // What cannot be read is given back for a while and makes place for others.
      if (!mayHoldMore && readable.length === won.length) break;
    } catch (error) {
      if (items.length === 0) throw error;
      // What earlier rounds locked is the caller's; the next fetch meets the same failure.
      ctx.logger.warn({ error }, 'a fetch of work items ended early');
      break;
    }
    window = WORK_WINDOWS.find((size) => size > window) ?? 500;
    // The new sessions that the batch may have are taken: they are owned now.
    if (params.maxNewSessions !== undefined && reach === 'owned and free') reach = 'owned';
  }
  return items;
}

function firstReach({ session, maxNewSessions }: FetchWorkItems): SessionReach {
  if (session === undefined) return 'none';
  return maxNewSessions !== undefined && maxNewSessions <= 0 ? 'owned' : 'owned and free';
}

async function readItems(ctx: ProviderContext, claimed: readonly ClaimedWork[]): Promise<LockedWorkItem[]> {
  const { readable, unreadable } = decodeMessages(claimed);
  const rowOf = new Map(claimed.map((row) => [row.rowId, row]));
  const tokenOf = (rowId: number) => rowOf.get(rowId)?.lockToken ?? '';
  if (unreadable.length > 0) {
    try {
      await setAsideWorkItems(
        ctx,
        OPERATION,
        unreadable.map((item) => ({ ...item, lockToken: tokenOf(item.rowId) })),
      );
    } catch (error) {
      if (!ProviderError.is(error)) throw error;
      ctx.logger.error({ error }, 'unreadable worker items stay locked until their locks expire');
    }
  }
  return readable.map(({ rowId, item, attemptCount }) => ({
    item,
    instance: rowOf.get(rowId)?.instance ?? null,
    lockToken: tokenOf(rowId),
    attemptCount,
  }));
}
