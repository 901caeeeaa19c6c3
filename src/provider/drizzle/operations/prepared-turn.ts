import { toStorable, utf8Length } from '../../../base/text.js';
import { encodeEvent } from '../../../wire/event.js';
import type { WorkItem } from '../../../wire/work-item.js';
import type { AckOrchestrationItem, ActivityRef } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import { type KvChanges, kvChangesOf } from './kv-changes.js';
import { type OrchestratorRow, orchestratorRow, type WorkerRow, workerRow } from './queue-rows.js';
import { refuseKvKey, refuseOrchestratorItem, refuseWorkerItem } from './refusal.js';

/** A turn as it will be stored: everything encoded, once, before the transaction. */
export interface PreparedTurn {
  readonly turn: AckOrchestrationItem;
  readonly events: readonly { readonly eventId: number; readonly text: string }[];
  /** `undefined`: the turn did not touch it; null clears it. */
  readonly customStatus: string | null | undefined;
  readonly kv: KvChanges;
  readonly workerRows: readonly WorkerRow[];
  readonly orchestratorRows: readonly OrchestratorRow[];
  readonly cancelled: readonly ActivityRef[];
  /** Bytes of text that it sends. */
  readonly bytes: number;
}

/** Why a turn cannot be stored; checked before any SQL. */
export function refuseTurn(operation: string, turn: AckOrchestrationItem): ProviderError | undefined {
  // Also what JavaScript makes of a missing id.
  if (turn.historyDelta.some(({ eventId }) => !(eventId > 0))) {
    return ProviderError.permanent(operation, errorTexts.eventIdMissing);
  }
  // Only its activities show that the instance is still the one that the turn began with.
  if (turn.direct?.workTokens.length === 0) return ProviderError.permanent(operation, errorTexts.directTurnRefused);
  for (const event of turn.historyDelta) {
    if (event.kind !== 'KeyValueSet' && event.kind !== 'KeyValueCleared') continue;
    const refusal = refuseKvKey(operation, event.key);
    if (refusal) return refusal;
  }
  for (const item of turn.workerItems) {
    const refusal = refuseWorkerItem(operation, item);
    if (refusal) return refusal;
  }
  for (const item of turn.orchestratorItems) {
    const refusal = refuseOrchestratorItem(operation, item);
    if (refusal) return refusal;
  }
  return undefined;
}

export function prepareTurn(turn: AckOrchestrationItem): PreparedTurn {
  const events = turn.historyDelta.map((event) => ({ eventId: event.eventId, text: encodeEvent(event) }));
  const workerRows = withoutCancelled(turn.workerItems.map(lockedAsWanted(turn)), turn.cancelledActivities);
  const orchestratorRows = turn.orchestratorItems.map((item) => orchestratorRow(item));
  const status = turn.historyDelta.findLast((event) => event.kind === 'CustomStatusUpdated');
  const texts = [...events, ...workerRows, ...orchestratorRows];
  return {
    turn,
    events,
    customStatus: status?.kind === 'CustomStatusUpdated' ? storableOrNull(status.status) : undefined,
    kv: kvChangesOf(turn.historyDelta),
    workerRows,
    orchestratorRows,
    cancelled: turn.cancelledActivities,
    bytes: texts.reduce((sum, { text }) => sum + utf8Length(text), utf8Length(turn.metadata.output ?? '')),
  };
}

function lockedAsWanted({ workerLocks }: AckOrchestrationItem): (item: WorkItem, index: number) => WorkerRow {
  if (!workerLocks) return workerRow;
  return (item, index) => ({ ...workerRow(item), lockToken: workerLocks.tokens[index] ?? undefined });
}

function storableOrNull(text: string | null): string | null {
  return text === null ? null : toStorable(text);
}

/**
 * An activity that is scheduled and cancelled in one turn never reaches the queue
 * (P:CA-15). The cancellation stays: it is also for what is queued already.
 */
function withoutCancelled(rows: readonly WorkerRow[], cancelled: readonly ActivityRef[]): readonly WorkerRow[] {
  if (cancelled.length === 0 || rows.length === 0) return rows;
  const keyOf = (...key: (string | number | null)[]) => JSON.stringify(key);
  const cancelledKeys = new Set(cancelled.map((ref) => keyOf(ref.instance, ref.executionId, ref.activityId)));
  return rows.filter((row) => !cancelledKeys.has(keyOf(row.instance, row.executionId, row.activityId)));
}
