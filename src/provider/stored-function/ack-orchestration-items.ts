import { toStorable } from '../../base/text.js';
import { EVENT_TYPE_COLUMN } from '../../wire/event.js';
import type { ProviderContext } from '../drizzle/context.js';
import { type PreparedTurn, prepareTurn, refuseTurn } from '../drizzle/operations/prepared-turn.js';
import { visibleAtMs } from '../drizzle/operations/queue-rows.js';
import { tokensOnce } from '../drizzle/operations/settle-batch.js';
import type { AckOrchestrationItem, Result } from '../provider.js';
import { errorTexts, ProviderError } from '../provider-error.js';
import { callFunction } from './call.js';
import { settleEach } from './each.js';

const OPERATION = 'ack_orchestration_item';

/** A turn that decides nothing: its messages are consumed. */
export const emptyTurn = {
  historyDelta: [],
  workerItems: [],
  orchestratorItems: [],
  metadata: {},
  cancelledActivities: [],
} as const;

/** Commits what turns decided, each in a call and a transaction of its own. */
export function ackOrchestrationItems(ctx: ProviderContext, turns: readonly AckOrchestrationItem[]): Promise<Result[]> {
  const isFirst = tokensOnce();
  return settleEach<AckOrchestrationItem, PreparedTurn>({
    elements: turns,
    accept: (turn) => {
      if (!isFirst(turn)) return { error: ProviderError.permanent(OPERATION, errorTexts.invalidLockToken) };
      const refusal = refuseTurn(OPERATION, turn);
      return refusal ? { error: refusal } : { accepted: prepareTurn(turn) };
    },
    sizeOf: ({ bytes }) => bytes,
    run: (prepared) => ackPrepared(ctx, prepared),
  });
}

/** @throws ProviderError */
export function ackTurn(ctx: ProviderContext, turn: AckOrchestrationItem): Promise<void> {
  return ackPrepared(ctx, prepareTurn(turn));
}

async function ackPrepared(ctx: ProviderContext, prepared: PreparedTurn): Promise<void> {
  const { turn, events, workerRows, orchestratorRows, cancelled } = prepared;
  await callFunction(ctx, {
    name: OPERATION,
    values: (nowMs) => ({
      p_lock_token: turn.lockToken,
      p_now_ms: nowMs,
      p_execution_id: turn.executionId,
      p_history_delta: JSON.stringify(
        events.map(({ eventId, text }) => ({ event_id: eventId, event_type: EVENT_TYPE_COLUMN, event_data: text })),
      ),
      p_worker_items: jsonArray(workerRows),
      p_orchestrator_items: jsonArray(orchestratorRows),
      p_metadata: JSON.stringify(metadataOf(prepared)),
      p_cancelled_activities: JSON.stringify(
        cancelled.map(({ instance, executionId, activityId }) => ({
          instance,
          execution_id: executionId,
          activity_id: activityId,
        })),
      ),
    }),
  });
  const nowMs = ctx.clock.nowMs();
  if (orchestratorRows.some((row) => visibleAtMs(row, nowMs) <= nowMs)) ctx.wake('orchestrator');
  if (workerRows.length > 0) ctx.wake('worker');
}

/** Items are encoded already: their texts are put together, not encoded again. */
function jsonArray(rows: readonly { readonly text: string }[]): string {
  return `[${rows.map(({ text }) => text).join(',')}]`;
}

function metadataOf({ turn: { metadata }, customStatus, kv }: PreparedTurn): Record<string, unknown> {
  const text = (value: string | undefined) => (value === undefined ? undefined : toStorable(value));
  const changes = [...kv.changes].map(([key, { value, atMs }]) =>
    value === null ? { action: 'clear_key', key } : { action: 'set', key, value, last_updated_at_ms: atMs },
  );
  return {
    orchestration_name: text(metadata.orchestrationName),
    orchestration_version: text(metadata.orchestrationVersion),
    parent_instance_id: text(metadata.parentInstanceId),
    status: metadata.status,
    output: text(metadata.output),
    pinned_duroxide_version: metadata.pinnedDuroxideVersion,
    custom_status_action: customStatus === undefined ? undefined : customStatus === null ? 'clear' : 'set',
    custom_status_value: customStatus ?? undefined,
    kv_mutations: [...(kv.clearsAll ? [{ action: 'clear_all' }] : []), ...changes],
  };
}
