import type { EventKind, HistoryEvent } from '../../wire/event.js';
import { UNREADABLE_HISTORY_EVENT_ID } from '../../wire/limits.js';
import type { BeginExecutionCheck } from '../invariant.js';

/** What may follow the end of an execution: what it leaves behind, and a failure that overrides it (runtime.md 2.9). */
const AFTER_THE_END: ReadonlySet<EventKind> = new Set([
  'ActivityCancelRequested',
  'SubOrchestrationCancelRequested',
  'ExternalSubscribedCancelled',
  'ExternalSubscribedPersistentCancelled',
  'OrchestrationFailed',
]);
const TERMINAL: ReadonlySet<EventKind> = new Set([
  'OrchestrationCompleted',
  'OrchestrationFailed',
  'OrchestrationContinuedAsNew',
]);

/** Event ids count from 1 without gaps, rows and events name the same place, and nothing is decided after the end. */
export const historyComplete: BeginExecutionCheck = ({ view, executionId, status }, { findings }) => {
  const { instance } = view;
  let last = 0;
  let ended: EventKind | undefined;
  const report = (problem: string, eventId?: number) =>
    findings.report('history-complete', { instance, executionId, eventId, problem });

  return {
    see({ rowEventId, event }) {
      if (rowEventId !== last + 1 && rowEventId !== UNREADABLE_HISTORY_EVENT_ID) {
        report(`event ${rowEventId} follows event ${last}`, rowEventId);
      }
      last = rowEventId;
      if (!standsWhereItSays(event, { instance, executionId, rowEventId })) {
        report('the event names another instance, execution or id than its row', rowEventId);
      }
      if (rowEventId === 1 && event.kind !== 'OrchestrationStarted') {
        report(`the first event is ${event.kind}, expected OrchestrationStarted`, rowEventId);
      }
      if (ended && !AFTER_THE_END.has(event.kind)) report(`${event.kind} follows ${ended}`, rowEventId);
      if (TERMINAL.has(event.kind)) ended = event.kind;
    },
    end() {
      if (last === 0 && status !== null) report('the execution has no events');
    },
  };
};

interface Place {
  readonly instance: string;
  readonly executionId: number;
  readonly rowEventId: number;
}

function standsWhereItSays(event: HistoryEvent, { instance, executionId, rowEventId }: Place): boolean {
  // Old natives left the envelope of a failure empty (runtime.md 0).
  if (event.kind === 'OrchestrationFailed' && event.instanceId === '' && event.executionId === 0) return true;
  return event.eventId === rowEventId && event.instanceId === instance && event.executionId === executionId;
}
