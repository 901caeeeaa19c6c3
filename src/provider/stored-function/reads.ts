import { decodeEvent, encodeEvent, EVENT_TYPE_COLUMN, type HistoryEvent } from '../../wire/event.js';
import { WireError } from '../../wire/wire-error.js';
import type { ProviderContext } from '../drizzle/context.js';
import type { CustomStatus } from '../drizzle/operations/get-custom-status.js';
import type { RenewSessionLock } from '../drizzle/operations/sessions.js';
import { booleanCell, integerCell, textCell } from '../drizzle/statement.js';
import type { InstanceStats } from '../provider.js';
import { errorTexts, ProviderError } from '../provider-error.js';
import { callFunction, readFunction } from './call.js';

/** Events of the highest execution in `executions`; empty for an unknown instance. */
export function read(ctx: ProviderContext, instance: string): Promise<HistoryEvent[]> {
  return readEvents(ctx, { operation: 'read', name: 'fetch_history', values: { p_instance_id: instance } });
}

/** Events of one execution; empty when it is unknown. */
export function readWithExecution(
  ctx: ProviderContext,
  instance: string,
  executionId: number,
  operation = 'read_with_execution',
): Promise<HistoryEvent[]> {
  const values = { p_instance_id: instance, p_execution_id: executionId };
  return readEvents(ctx, { operation, name: 'fetch_history_with_execution', values });
}

async function readEvents(
  ctx: ProviderContext,
  call: { readonly operation: string; readonly name: string; readonly values: Record<string, string | number> },
): Promise<HistoryEvent[]> {
  const texts = await readFunction(ctx, { ...call, decode: ([text]) => textCell(text) });
  try {
    // All or nothing: a history with a gap would mean something else.
    return texts.map(decodeEvent);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw ProviderError.permanent(call.operation, `Failed to deserialize event: ${error.message}`, { cause: error });
  }
}

/** For tests of histories: adds events. Native's function fails at it (P:T-11). */
export async function appendWithExecution(
  ctx: ProviderContext,
  instance: string,
  executionId: number,
  events: readonly HistoryEvent[],
): Promise<void> {
  const operation = 'append_with_execution';
  if (events.length === 0) return;
  if (events.some(({ eventId }) => eventId === 0)) throw ProviderError.permanent(operation, errorTexts.eventIdMissing);
  const rows = events.map((event) => ({
    event_id: event.eventId,
    event_type: EVENT_TYPE_COLUMN,
    event_data: encodeEvent(event),
  }));
  const values = { p_instance_id: instance, p_execution_id: executionId, p_events: JSON.stringify(rows) };
  await callFunction(ctx, { operation, name: 'append_history', values });
}

/** The custom status if its version is above `lastSeenVersion`, otherwise `null`. */
export async function getCustomStatus(
  ctx: ProviderContext,
  instance: string,
  lastSeenVersion: number,
): Promise<CustomStatus | null> {
  const [row] = await readFunction(ctx, {
    name: 'get_custom_status',
    values: { p_instance_id: instance, p_last_seen_version: lastSeenVersion },
    decode: ([status, version]): CustomStatus => ({ status: status ?? null, version: integerCell(version) }),
  });
  return row ?? null;
}

/** The value as readers see it, changes of the running execution included. */
export async function getKvValue(ctx: ProviderContext, instance: string, key: string): Promise<string | null> {
  const [value] = await readFunction(ctx, {
    name: 'get_kv_value',
    values: { p_instance: instance, p_key: key },
    decode: ([value, found]) => (booleanCell(found) ? (value ?? null) : null),
  });
  return value ?? null;
}

/** All keys with a value, as readers see them. */
export async function getKvAllValues(ctx: ProviderContext, instance: string): Promise<Map<string, string>> {
  const entries = await readFunction(ctx, {
    name: 'get_kv_all_values',
    values: { p_instance: instance },
    decode: ([key, value]) => [textCell(key), textCell(value)] as const,
  });
  return new Map(entries);
}

/** Sizes of the current execution; `null` for an unknown instance. */
export async function getInstanceStats(ctx: ProviderContext, instance: string): Promise<InstanceStats | null> {
  const [stats] = await readFunction(ctx, {
    name: 'get_instance_stats',
    values: { p_instance: instance },
    decode: ([found, events, bytes, pending, keys, valueBytes]): InstanceStats | null =>
      booleanCell(found)
        ? {
            historyEventCount: integerCell(events),
            historySizeBytes: integerCell(bytes),
            queuePendingCount: integerCell(pending),
            kvUserKeyCount: integerCell(keys),
            kvTotalValueBytes: integerCell(valueBytes),
          }
        : null,
  });
  return stats ?? null;
}

/** Prolongs the live sessions of these owners. @returns how many */
export async function renewSessionLock(
  ctx: ProviderContext,
  { ownerIds, extendMs, idleTimeoutMs }: RenewSessionLock,
): Promise<number> {
  if (ownerIds.length === 0) return 0;
  const [renewed] = await callFunction(
    ctx,
    {
      name: 'renew_session_lock',
      values: (nowMs) => ({
        p_owner_ids: ownerIds,
        p_now_ms: nowMs,
        p_extend_ms: Math.ceil(extendMs),
        p_idle_timeout_ms: Math.ceil(idleTimeoutMs),
      }),
      decode: ([count]) => integerCell(count),
    },
    { withinMs: extendMs },
  );
  return renewed ?? 0;
}

/** Removes expired sessions that no queued activity refers to, whoever owned them. @returns how many */
export async function cleanupOrphanedSessions(ctx: ProviderContext): Promise<number> {
  const [removed] = await callFunction(ctx, {
    name: 'cleanup_orphaned_sessions',
    values: (nowMs) => ({ p_now_ms: nowMs }),
    decode: ([count]) => integerCell(count),
  });
  return removed ?? 0;
}
