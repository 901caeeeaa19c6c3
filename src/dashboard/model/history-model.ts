import { showStored } from '../../wire/encoded-payload.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { HistoryView } from '../views.js';
import { eventView } from './event-view.js';
import { timelineOf } from './timeline.js';

/** Which events of a history to show: those after `after`, at most `limit`; or the last `limit` before `before`. */
export interface EventWindow {
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
}

/** What the history of one execution says; empty for one without events. */
export function historyView(executionId: number, events: readonly HistoryEvent[], window: EventWindow): HistoryView {
  return {
    executionId: events[0]?.executionId ?? executionId,
    total: events.length,
    status: statusOf(events),
    customStatus: shown(customStatusOf(events)),
    timeline: timelineOf(events),
    events: windowOf(events, window).map(eventView),
  };
}

function windowOf(events: readonly HistoryEvent[], { after, before, limit }: EventWindow): readonly HistoryEvent[] {
  if (before !== undefined) return events.filter(({ eventId }) => eventId < before).slice(-limit);
  return events.filter(({ eventId }) => eventId > (after ?? 0)).slice(0, limit);
}

/** The status of the execution by its terminal event, which is its last but for breadcrumbs. */
export function statusOf(events: readonly HistoryEvent[]): string {
  for (const { kind } of events.toReversed()) {
    if (kind === 'OrchestrationCompleted') return 'Completed';
    if (kind === 'OrchestrationFailed') return 'Failed';
    if (kind === 'OrchestrationContinuedAsNew') return 'ContinuedAsNew';
  }
  return 'Running';
}

function customStatusOf(events: readonly HistoryEvent[]): string | null {
  const last = events.findLast((event) => event.kind === 'CustomStatusUpdated');
  if (last?.kind === 'CustomStatusUpdated') return last.status;
  const [first] = events;
  return first?.kind === 'OrchestrationStarted' ? (first.initialCustomStatus ?? null) : null;
}

function shown(text: string | null): string | null {
  return text === null ? null : showStored(text);
}
