import { COMPAT_VERSION_TEXT, parseSemVer } from '../../wire/compat-version.js';
import type { ErrorDetails } from '../../wire/error-details.js';
import { displayErrorDetails } from '../../wire/error-details.js';
import type { HistoryEvent } from '../../wire/event.js';
import { UNREADABLE_HISTORY_EVENT_ID } from '../../wire/limits.js';
import type { WorkItem } from '../../wire/work-item.js';
import { encodeWorkItem } from '../../wire/work-item.js';
import { parentOfHistory, startedBody } from './batch.js';
import { HistoryLedger } from './ledger.js';
import type { ParentLink, StartRecord, TurnOutcome } from './turn.js';
import { TurnWriter } from './turn-writer.js';

/** An instance that is ended without running its code. */
export interface EndedInstance {
  readonly instance: string;
  /** The execution that the failure is appended to. */
  readonly executionId: number;
  readonly history: readonly HistoryEvent[];
  /** Makes the first event of an instance that never ran; used only when `history` is empty. */
  readonly start?: StartRecord | undefined;
  readonly details: ErrorDetails;
  readonly now: () => number;
  /** @defaultValue `COMPAT_VERSION_TEXT` */
  readonly duroxideVersion?: string | undefined;
  /** The parent's current execution, for a record that names none. */
  readonly parentExecutionId?: number | undefined;
}

/** Details of a batch that was fetched too often; the messages are kept in it as JSON. */
export function poisonedBatch(params: {
  readonly instance: string;
  readonly executionId: number;
  readonly attemptCount: number;
  readonly maxAttempts: number;
  readonly messages: readonly WorkItem[];
}): ErrorDetails {
  const { instance, executionId, attemptCount, maxAttempts, messages } = params;
  return {
    kind: 'Poison',
    attemptCount,
    maxAttempts,
    messageType: { kind: 'Orchestration', instance, executionId },
    message: `[${messages.map(encodeWorkItem).join(',')}]`,
  };
}

/** Details of an instance whose history could not be read for too long. */
export function poisonedHistory(params: {
  readonly instance: string;
  readonly executionId: number;
  readonly attemptCount: number;
  readonly maxAttempts: number;
  readonly error: string;
}): ErrorDetails {
  const { instance, executionId, attemptCount, maxAttempts, error } = params;
  return {
    kind: 'Poison',
    attemptCount,
    maxAttempts,
    messageType: { kind: 'FailedDeserialization', instance, executionId, error },
    message: error,
  };
}

/**
 * Ends an instance with the given failure (runtime.md 1.9): appends it to the history,
 * with a start event before it where nothing ran yet, and tells the parent. Works on a
 * history that has ended in continue-as-new, whose execution becomes a failed one.
 */
export function endWithFailure(ended: EndedInstance): TurnOutcome {
  const { instance, executionId, history, start, details, now } = ended;
  const ledger = new HistoryLedger();
  for (const event of history) ledger.record(event);
  const persisted = ledger.count;
  const duroxideVersion = ended.duroxideVersion ?? COMPAT_VERSION_TEXT;
  const writer = new TurnWriter(ledger, { instance, executionId, duroxideVersion }, now);
  if (persisted === 0 && start) writer.append(startedBody(start));
  writer.closeGap();
  writer.append({ kind: 'OrchestrationFailed', details });
  const parent = persisted === 0 ? start?.parent : parentOfHistory(history);
  return outcomeOf(ended, {
    delta: writer.delta,
    eventCount: ledger.count,
    parent,
    started: persisted === 0 ? start : undefined,
  });
}

/**
 * Ends an instance whose stored history cannot be read: one failure under a fixed event
 * id, appended blindly. The parent is not told, because nobody can read who it is.
 */
export function endUnreadable(ended: Omit<EndedInstance, 'history' | 'start' | 'parentExecutionId'>): TurnOutcome {
  const { instance, executionId, details, now } = ended;
  const failure: HistoryEvent = {
    eventId: UNREADABLE_HISTORY_EVENT_ID,
    sourceEventId: null,
    instanceId: instance,
    executionId,
    timestampMs: now(),
    duroxideVersion: ended.duroxideVersion ?? COMPAT_VERSION_TEXT,
    kind: 'OrchestrationFailed',
    details,
  };
  return outcomeOf(
    { ...ended, history: [] },
    { delta: [failure], eventCount: 1, parent: undefined, started: undefined },
  );
}

function outcomeOf(
  { executionId, details, parentExecutionId, duroxideVersion }: EndedInstance,
  {
    delta,
    eventCount,
    parent,
    started,
  }: {
    delta: readonly HistoryEvent[];
    eventCount: number;
    parent: ParentLink | undefined;
    started: StartRecord | undefined;
  },
): TurnOutcome {
  return {
    result: { kind: 'failed', details },
    executionId,
    historyDelta: delta,
    workerItems: [],
    orchestratorItems: parent
      ? [
          {
            kind: 'SubOrchFailed',
            parentInstance: parent.instance,
            parentExecutionId: parent.executionId ?? parentExecutionId ?? 1,
            parentId: parent.id,
            details,
          },
        ]
      : [],
    cancelledActivities: [],
    metadata: {
      ...(started && {
        orchestrationName: started.name,
        orchestrationVersion: started.version,
        parentInstanceId: started.parent?.instance,
        pinnedDuroxideVersion: parseSemVer(duroxideVersion ?? COMPAT_VERSION_TEXT),
      }),
      status: 'Failed',
      output: displayErrorDetails(details),
    },
    lastEvent: delta.at(-1),
    eventCount,
    keepWarm: false,
    customStatus: null,
    warnings: [],
  };
}
