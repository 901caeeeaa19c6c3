import { displayErrorDetails } from '../wire/error-details.js';
import type { EventKind, EventOf, HistoryEvent } from '../wire/event.js';

/** Where a failed instance can go on from, for `ProviderAdmin.resetInstance`. */
export type RetryPoint =
  | {
      readonly kind: 'step';
      /** The last event that stays. */
      readonly toEventId: number;
      /** The outcome that is taken back. */
      readonly failure: EventOf<'ActivityFailed'> | EventOf<'SubOrchestrationFailed'>;
      /** The event that scheduled the step. */
      readonly step: EventOf<'ActivityScheduled'> | EventOf<'SubOrchestrationScheduled'>;
    }
  /** No step failed, but the orchestration's own code: its last turn is taken back. */
  | { readonly kind: 'turn'; readonly toEventId: number }
  | { readonly kind: 'none'; readonly reason: string };

/**
 * The point before the step that failed an instance. The step is the latest failed
 * activity or child whose error the instance ended with; or, where the code put an error of
 * its own around it, the one whose failure was the last thing that happened.
 * @param history events of the current execution, in order
 */
export function findRetryPoint(history: readonly HistoryEvent[]): RetryPoint {
  const end = history.findLast(({ kind }) => !GIVEN_UP.has(kind));
  if (end?.kind !== 'OrchestrationFailed') {
    return { kind: 'none', reason: `it has not failed: its last event is ${end?.kind ?? 'missing'}` };
  }
  const { details } = end;
  if (details.kind === 'Application' && details.application.kind === 'Cancelled') {
    return { kind: 'none', reason: 'it was cancelled, no step of it failed' };
  }
  if (details.kind === 'Poison' && details.messageType.kind === 'FailedDeserialization') {
    return { kind: 'none', reason: 'its history could not be read, so that nothing can go on from it' };
  }
  if (history[0]?.kind !== 'OrchestrationStarted') {
    return { kind: 'none', reason: 'its history does not begin with its start' };
  }
  const failure = failedOutcome(history, displayErrorDetails(details));
  if (failure === undefined) {
    return { kind: 'turn', toEventId: history.findLast(({ kind }) => HAPPENED.has(kind))?.eventId ?? 1 };
  }
  const step = history.find((event): event is StepEvent => event.eventId === failure.sourceEventId && isStep(event));
  if (step === undefined) return { kind: 'none', reason: 'the event that scheduled the failed step is missing' };
  return { kind: 'step', toEventId: failure.eventId - 1, failure, step };
}

/** What an ending turn notes of steps that were open still; some of it stands behind the end. */
const GIVEN_UP: ReadonlySet<EventKind> = new Set<EventKind>([
  'ActivityCancelRequested',
  'SubOrchestrationCancelRequested',
  'ExternalSubscribedCancelled',
  'ExternalSubscribedPersistentCancelled',
]);

type FailureEvent = EventOf<'ActivityFailed'> | EventOf<'SubOrchestrationFailed'>;
type StepEvent = EventOf<'ActivityScheduled'> | EventOf<'SubOrchestrationScheduled'>;

/** Events that are no decisions of the code. */
const HAPPENED: ReadonlySet<EventKind> = new Set<EventKind>([
  'OrchestrationStarted',
  'ActivityCompleted',
  'ActivityFailed',
  'TimerFired',
  'ExternalEvent',
  'ExternalEventPersistent',
  'SubOrchestrationCompleted',
  'SubOrchestrationFailed',
]);

function isFailure(event: HistoryEvent): event is FailureEvent {
  return event.kind === 'ActivityFailed' || event.kind === 'SubOrchestrationFailed';
}

function isStep(event: HistoryEvent): event is StepEvent {
  return event.kind === 'ActivityScheduled' || event.kind === 'SubOrchestrationScheduled';
}

function failedOutcome(history: readonly HistoryEvent[], endText: string): FailureEvent | undefined {
  const same = history.findLast((event): event is FailureEvent => {
    return isFailure(event) && endText.includes(displayErrorDetails(event.details));
  });
  if (same !== undefined) return same;
  const last = history.findLast(({ kind }) => HAPPENED.has(kind));
  return last !== undefined && isFailure(last) ? last : undefined;
}
