import type { ErrorDetails } from '../../wire/error-details.js';
import type { EventBody } from '../../wire/event.js';
import type { WorkItem } from '../../wire/work-item.js';
import { isSystemFailure, nondeterminism } from './failures.js';
import type { HistoryLedger, ScheduleKind } from './ledger.js';
import type { TurnWarning } from './turn.js';
import type { TurnWriter } from './turn-writer.js';

type OutcomeMessage = Extract<
  WorkItem,
  { kind: 'ActivityCompleted' | 'ActivityFailed' | 'TimerFired' | 'SubOrchCompleted' | 'SubOrchFailed' }
>;

/**
 * Turns the messages of a batch into events (runtime.md 2.3). Answers with the failure
 * that aborts the turn before any user code runs, if there is one.
 */
export function recordMessages(
  messages: readonly WorkItem[],
  { executionId, ledger, writer }: { executionId: number; ledger: HistoryLedger; writer: TurnWriter },
  warn: (warning: TurnWarning) => void,
): ErrorDetails | undefined {
  let abort: ErrorDetails | undefined;
  for (const message of messages) {
    switch (message.kind) {
      case 'ExternalRaised':
        writer.append({ kind: 'ExternalEvent', name: message.name, data: message.data });
        break;
      case 'QueueMessage':
        writer.append({ kind: 'ExternalEventPersistent', name: message.name, data: message.data });
        break;
      case 'CancelInstance':
        if (!ledger.isTerminal && ledger.cancelReason === undefined) {
          writer.append({ kind: 'OrchestrationCancelRequested', reason: message.reason });
        }
        break;
      case 'StartOrchestration':
      case 'ContinueAsNew':
      case 'ActivityExecute':
        break; // no business of a running execution: the dispatcher has dealt with them
      default: {
        const { id, execution, expected } = target(message);
        if (execution !== undefined && execution !== executionId) {
          warn({ kind: 'messageOfOtherExecution', message: message.kind });
          break;
        }
        const kind = ledger.scheduleKind(id);
        if (kind !== undefined && kind !== expected) {
          abort = nondeterminism(`completion kind mismatch for id=${id}, expected '${kind}', got '${expected}'`);
          break;
        }
        // Any second outcome is dropped: a recorded one would break every later replay (D-10).
        if (ledger.hasOutcome(id)) {
          warn({ kind: 'duplicateOutcome', message: message.kind, scheduleId: id });
          break;
        }
        if (kind === undefined) {
          abort = nondeterminism(`no matching schedule for ${UNKNOWN[expected]} id=${id}`);
          break;
        }
        writer.append(outcomeEvent(message), id);
        if ('details' in message && isSystemFailure(message.details)) abort ??= message.details;
      }
    }
  }
  return abort;
}

const UNKNOWN: Readonly<Record<ScheduleKind, string>> = {
  activity: 'completion',
  timer: 'timer',
  suborchestration: 'sub-orchestration',
};

/** The schedule that an outcome belongs to; without an execution id the current one is meant. */
function target(message: OutcomeMessage): { id: number; execution: number | undefined; expected: ScheduleKind } {
  switch (message.kind) {
    case 'ActivityCompleted':
    case 'ActivityFailed':
      return { id: message.id, execution: message.executionId, expected: 'activity' };
    case 'TimerFired':
      return { id: message.id, execution: message.executionId, expected: 'timer' };
    case 'SubOrchCompleted':
    case 'SubOrchFailed':
      return { id: message.parentId, execution: message.parentExecutionId, expected: 'suborchestration' };
  }
}

function outcomeEvent(message: OutcomeMessage): EventBody {
  switch (message.kind) {
    case 'ActivityCompleted':
      return { kind: 'ActivityCompleted', result: message.result };
    case 'ActivityFailed':
      return { kind: 'ActivityFailed', details: message.details };
    case 'TimerFired':
      return { kind: 'TimerFired', fireAtMs: message.fireAtMs };
    case 'SubOrchCompleted':
      return { kind: 'SubOrchestrationCompleted', result: message.result };
    case 'SubOrchFailed':
      return { kind: 'SubOrchestrationFailed', details: message.details };
  }
}
