import { assertNever } from '../../base/assert-never.js';
import { parseSemVer } from '../../wire/compat-version.js';
import type { ErrorDetails } from '../../wire/error-details.js';
import { displayErrorDetails } from '../../wire/error-details.js';
import type { EventBody } from '../../wire/event.js';
import { MAX_CARRIED_MESSAGES } from '../../wire/limits.js';
import type { WorkItem } from '../../wire/work-item.js';
import type { Action } from './action.js';
import { parentOfStarted } from './batch.js';
import { cancelled, orchestrationFailed } from './failures.js';
import { fullChildId } from './instance-ids.js';
import type { HistoryLedger } from './ledger.js';
import { findLimitViolation } from './limits.js';
import type { CancelledActivity, TurnMetadata, TurnOutcome, TurnResult, TurnWarning } from './turn.js';
import type { TurnWriter } from './turn-writer.js';

/** An action of this turn that has its event. */
export interface PendingAction {
  readonly action: Action;
  readonly eventId: number;
  readonly fireAtMs: number;
  /** Children: the id that history holds. */
  readonly childId: string | undefined;
}

/** What a turn has decided when its code rests. */
export interface FinishedTurn {
  readonly instance: string;
  readonly executionId: number;
  readonly ledger: HistoryLedger;
  readonly writer: TurnWriter;
  readonly pending: readonly PendingAction[];
  /** Activities and children dropped in this turn, whose breadcrumbs are written. */
  readonly droppedActivities: readonly number[];
  readonly droppedChildren: readonly string[];
  /** Mailbox messages that the code has not received, in order of arrival. */
  readonly unreceived: () => readonly (readonly [string, string])[];
  readonly seedKeys: ReadonlySet<string>;
  readonly maxPayloadBytes: number;
  /** For a child whose record does not name the parent's execution. */
  readonly parentExecutionId: number | undefined;
  readonly warn: (warning: TurnWarning) => void;
}

/** Of many open activities a warning names so many. */
const MAX_NAMED_ACTIVITIES = 20;

/** The parts of the acknowledgement that depend on how the turn ended. */
type Acknowledgement = Pick<
  TurnOutcome,
  'result' | 'historyDelta' | 'workerItems' | 'orchestratorItems' | 'cancelledActivities' | 'metadata'
>;

/** Writes the last events of the turn and works out what is to be committed (runtime.md 2.9, 2.10, 2.12). */
export function finishTurn(turn: FinishedTurn, decided: TurnResult): Acknowledgement {
  const { ledger, writer } = turn;
  if (decided.kind === 'alreadyTerminal') return NOTHING;
  // Before the breadcrumbs: one of them would look like a subscriber that took nothing.
  const carried = decided.kind === 'continuedAsNew' ? carryForward(turn) : [];
  const terminal = terminalEvent(decided);
  if (terminal) {
    writer.closeGap();
    for (const id of ledger.outstandingPositional()) {
      writer.append({ kind: 'ExternalSubscribedCancelled', reason: 'orchestration_terminal' }, id);
    }
    for (const id of ledger.outstandingMailbox()) {
      writer.append({ kind: 'ExternalSubscribedPersistentCancelled', reason: 'orchestration_terminal' }, id);
    }
    writer.append(terminal);
  }

  const violation = findLimitViolation(writer.delta, turn);
  let result = decided;
  // What was decided after an event that cannot be stored goes with it: histories have no gaps.
  const storedBefore = violation?.unstorable?.eventId ?? Infinity;
  if (violation) {
    const details = orchestrationFailed(violation.message);
    result = { kind: 'failed', details };
    if (violation.unstorable) writer.dropFrom(violation.unstorable);
    writer.append({ kind: 'OrchestrationFailed', details });
  }

  if (result.kind === 'completed' || result.kind === 'continuedAsNew') warnOfOpenActivities(turn);
  const cancelledIds = [...turn.droppedActivities];
  const reason = terminalReason(result);
  if (reason !== undefined) {
    for (const id of [...ledger.openActivities]) {
      if (id >= storedBefore) continue;
      writer.append({ kind: 'ActivityCancelRequested', reason }, id);
      cancelledIds.push(id);
    }
  }

  const detached = detachedStarts(turn.pending.filter(({ eventId }) => eventId < storedBefore));
  return {
    result,
    historyDelta: writer.delta,
    workerItems: result.kind === 'continued' ? activityItems(turn) : [],
    orchestratorItems: violation
      ? [...detached, ...parentItems(turn, result)]
      : orchestratorItems(turn, result, { detached, carried }),
    cancelledActivities: cancelledIds.map((activityId): CancelledActivity => {
      return { instance: turn.instance, executionId: turn.executionId, activityId };
    }),
    metadata: metadataOf(turn, result),
  };
}

const NOTHING: Acknowledgement = {
  result: { kind: 'alreadyTerminal' },
  historyDelta: [],
  workerItems: [],
  orchestratorItems: [],
  cancelledActivities: [],
  metadata: {},
};

function terminalEvent(result: TurnResult): EventBody | undefined {
  switch (result.kind) {
    case 'completed':
      return { kind: 'OrchestrationCompleted', output: result.output };
    case 'failed':
      return { kind: 'OrchestrationFailed', details: result.details };
    case 'cancelled':
      return { kind: 'OrchestrationFailed', details: cancelled(result.reason) };
    case 'continuedAsNew':
      return { kind: 'OrchestrationContinuedAsNew', input: result.input };
    case 'continued':
    case 'alreadyTerminal':
      return undefined;
    default:
      return assertNever(result, 'turn result');
  }
}

function terminalReason(result: TurnResult): string | undefined {
  switch (result.kind) {
    case 'completed':
      return 'orchestration_terminal_completed';
    case 'failed':
    case 'cancelled':
      return 'orchestration_terminal_failed';
    case 'continuedAsNew':
      return 'orchestration_terminal_continued_as_new';
    case 'continued':
    case 'alreadyTerminal':
      return undefined;
    default:
      return assertNever(result, 'turn result');
  }
}

function warnOfOpenActivities({ ledger: { openActivities }, warn }: FinishedTurn): void {
  if (openActivities.size === 0) return;
  warn({ kind: 'endedWithOpenActivities', eventIds: [...openActivities].slice(0, MAX_NAMED_ACTIVITIES) });
}

function carryForward({ unreceived, warn }: FinishedTurn): readonly (readonly [string, string])[] {
  const messages = unreceived();
  if (messages.length <= MAX_CARRIED_MESSAGES) return messages;
  const dropped = messages.length - MAX_CARRIED_MESSAGES;
  warn({ kind: 'carryForwardTruncated', kept: MAX_CARRIED_MESSAGES, dropped });
  return messages.slice(0, MAX_CARRIED_MESSAGES);
}

function activityItems({ instance, executionId, pending }: FinishedTurn): WorkItem[] {
  return pending.flatMap(({ action, eventId }): WorkItem[] => {
    if (action.kind !== 'scheduleActivity') return [];
    const { name, input, sessionId, tag } = action;
    return [{ kind: 'ActivityExecute', instance, executionId, id: eventId, name, input, sessionId, tag }];
  });
}

function orchestratorItems(
  turn: FinishedTurn,
  result: TurnResult,
  { detached, carried }: { detached: WorkItem[]; carried: readonly (readonly [string, string])[] },
): WorkItem[] {
  const childCancels = turn.droppedChildren.map((child) => {
    return cancelChild(turn, child, 'parent dropped sub-orchestration future');
  });
  switch (result.kind) {
    case 'continued':
      return [...turn.pending.flatMap((pending) => startedWork(turn, pending)), ...childCancels];
    case 'completed':
    case 'failed':
      return [...detached, ...parentItems(turn, result), ...childCancels];
    case 'continuedAsNew':
      return [continueAsNewItem(turn, result, carried), ...detached, ...childCancels];
    case 'cancelled': {
      const orphans = [...turn.ledger.openChildren.values()].map((child) =>
        cancelChild(turn, child, 'parent canceled'),
      );
      return [...detached, ...orphans, ...parentItems(turn, result)];
    }
    case 'alreadyTerminal':
      return [];
    default:
      return assertNever(result, 'turn result');
  }
}

function startedWork(turn: FinishedTurn, { action, eventId, fireAtMs, childId }: PendingAction): WorkItem[] {
  const { instance, executionId } = turn;
  switch (action.kind) {
    case 'createTimer':
      return [{ kind: 'TimerFired', instance, executionId, id: eventId, fireAtMs }];
    case 'startSubOrchestration':
      return [
        {
          kind: 'StartOrchestration',
          instance: fullChildId(instance, childId ?? ''),
          orchestration: action.name,
          input: action.input,
          version: action.version,
          parentInstance: instance,
          parentId: eventId,
          parentExecutionId: executionId,
          executionId: 1,
        },
      ];
    case 'startDetached':
      return [detachedStart(action)];
    default:
      return [];
  }
}

function detachedStarts(pending: readonly PendingAction[]): WorkItem[] {
  return pending.flatMap(({ action }) => (action.kind === 'startDetached' ? [detachedStart(action)] : []));
}

function detachedStart(action: Extract<Action, { kind: 'startDetached' }>): WorkItem {
  return {
    kind: 'StartOrchestration',
    instance: action.instance,
    orchestration: action.name,
    input: action.input,
    version: action.version,
    parentInstance: null,
    parentId: null,
    executionId: 1,
  };
}

function cancelChild({ instance }: FinishedTurn, child: string, reason: string): WorkItem {
  return { kind: 'CancelInstance', instance: fullChildId(instance, child), reason };
}

/** The result for whoever waits for this instance. */
function parentItems(turn: FinishedTurn, result: TurnResult): WorkItem[] {
  const parent = turn.ledger.started && parentOfStarted(turn.ledger.started);
  if (!parent) return [];
  const address = {
    parentInstance: parent.instance,
    parentExecutionId: parent.executionId ?? turn.parentExecutionId ?? 1,
    parentId: parent.id,
  };
  if (result.kind === 'completed') return [{ kind: 'SubOrchCompleted', ...address, result: result.output }];
  const details = failureOf(result);
  return details ? [{ kind: 'SubOrchFailed', ...address, details }] : [];
}

function continueAsNewItem(
  { instance, ledger }: FinishedTurn,
  { input, version }: Extract<TurnResult, { kind: 'continuedAsNew' }>,
  carried: readonly (readonly [string, string])[],
): WorkItem {
  const { started, customStatus } = ledger;
  return {
    kind: 'ContinueAsNew',
    instance,
    orchestration: started?.name ?? '',
    input,
    version,
    carryForwardEvents: carried,
    // What is stored, not what the code would read (T-12).
    initialCustomStatus: customStatus ?? undefined,
    parentInstance: started?.parentInstance ?? undefined,
    parentId: started?.parentId ?? undefined,
    parentExecutionId: started?.parentExecutionId,
  };
}

function metadataOf({ writer }: FinishedTurn, result: TurnResult): TurnMetadata {
  const started = writer.delta.find((event) => event.kind === 'OrchestrationStarted');
  return {
    ...(started && {
      orchestrationName: started.name,
      orchestrationVersion: started.version,
      parentInstanceId: started.parentInstance ?? undefined,
      pinnedDuroxideVersion: parseSemVer(started.duroxideVersion),
    }),
    ...statusOf(result),
  };
}

function statusOf(result: TurnResult): Pick<TurnMetadata, 'status' | 'output'> {
  switch (result.kind) {
    case 'completed':
      return { status: 'Completed', output: result.output };
    case 'continuedAsNew':
      return { status: 'ContinuedAsNew', output: result.input };
    default: {
      const details = failureOf(result);
      return details ? { status: 'Failed', output: displayErrorDetails(details) } : {};
    }
  }
}

function failureOf(result: TurnResult): ErrorDetails | undefined {
  if (result.kind === 'failed') return result.details;
  return result.kind === 'cancelled' ? cancelled(result.reason) : undefined;
}
