import { isDeepStrictEqual } from 'node:util';
import { isFailureOfCode } from '../../runtime/replay/limits.js';
import type { TurnOutcome } from '../../runtime/replay/turn.js';
import { displayErrorDetails, type ErrorDetails } from '../../wire/error-details.js';
import type { EventOf, HistoryEvent } from '../../wire/event.js';
import { decodePayload } from '../../wire/payload.js';
import { recordedDecision, shown } from './decision.js';
import { ReplayMismatchError } from './replay-mismatch-error.js';

/** The event that ended an execution. */
export type EndEvent = EventOf<'OrchestrationCompleted' | 'OrchestrationFailed' | 'OrchestrationContinuedAsNew'>;

const AT_THE_END = 'orchestration_terminal';

/**
 * A history without the way it ended: the end itself, the notes that follow it, and those
 * that were written because of it right before.
 */
export function splitEnd(events: readonly HistoryEvent[]): {
  readonly body: readonly HistoryEvent[];
  readonly end: EndEvent | undefined;
} {
  const at = events.findIndex(
    ({ kind }) =>
      kind === 'OrchestrationCompleted' || kind === 'OrchestrationFailed' || kind === 'OrchestrationContinuedAsNew',
  );
  if (at < 0) return { body: events, end: undefined };
  let length = at;
  while (length > 0 && isNoteOfTheEnd(events[length - 1])) length--;
  return { body: events.slice(0, length), end: events[at] as EndEvent };
}

function isNoteOfTheEnd(event: HistoryEvent | undefined): boolean {
  const isNote =
    event?.kind === 'ExternalSubscribedCancelled' || event?.kind === 'ExternalSubscribedPersistentCancelled';
  return isNote && event.reason === AT_THE_END;
}

/** Given up by the system and not by its code: whatever the code does then is right. */
export function isEndedByOthers(end: EndEvent): boolean {
  return end.kind === 'OrchestrationFailed' && !isFailureOfCode(end.details);
}

/** @throws ReplayMismatchError when the code ends in another way than the history */
export function compareEnd({ result }: TurnOutcome, end: EndEvent, orchestration: string): void {
  if (isEndedByOthers(end) || isSameEnd(result, end)) return;
  throw new ReplayMismatchError({
    orchestration,
    position: end.eventId,
    expected: expectedEnd(end),
    actual: actualEnd(result),
    event: end,
  });
}

function isSameEnd(result: TurnOutcome['result'], end: EndEvent): boolean {
  switch (end.kind) {
    case 'OrchestrationCompleted':
      return result.kind === 'completed' && sameValue(result.output, end.output);
    case 'OrchestrationContinuedAsNew':
      return result.kind === 'continuedAsNew' && sameValue(result.input, end.input);
    case 'OrchestrationFailed':
      if (result.kind === 'cancelled') return isCancelled(end.details);
      return result.kind === 'failed' && withoutStack(result.details) === withoutStack(end.details);
  }
}

function sameValue(a: string, b: string): boolean {
  return a === b || isDeepStrictEqual(decodePayload(a), decodePayload(b));
}

function isCancelled(details: ErrorDetails): boolean {
  return details.kind === 'Application' && details.application.kind === 'Cancelled';
}

/** Lines of a stack name files and lines, which every edit moves. */
function withoutStack(details: ErrorDetails): string {
  return displayErrorDetails(details).replace(/\n\s+at [^]*$/, '');
}

function expectedEnd(end: EndEvent): string {
  return end.kind === 'OrchestrationFailed' ? `fail: ${shown(withoutStack(end.details))}` : recordedDecision(end);
}

/** How the code ends, or that it does not. */
export function actualEnd(result: TurnOutcome['result']): string {
  switch (result.kind) {
    case 'completed':
      return `return ${shown(result.output)}`;
    case 'failed':
      return `fail: ${shown(withoutStack(result.details))}`;
    case 'continuedAsNew':
      return `continue as new with ${shown(result.input)}`;
    case 'cancelled':
      return 'end as cancelled';
    case 'continued':
    case 'alreadyTerminal':
      return 'go on waiting';
  }
}
