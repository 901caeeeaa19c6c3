import { COMPAT_VERSION_TEXT } from '../../src/wire/compat-version.js';
import { encodeEvent, EVENT_TYPE_COLUMN, type HistoryEvent } from '../../src/wire/event.js';
import { encodeWorkItem, type WorkItem } from '../../src/wire/work-item.js';

/** What every contestant acknowledges: the activity completed, the next one is scheduled. */
export interface Step {
  readonly historyDelta: readonly HistoryEvent[];
  readonly workItems: readonly WorkItem[];
  /** The same in the form that the stored function takes. */
  readonly events: readonly { event_id: number; event_type: string; event_data: string }[];
  readonly workerItems: readonly unknown[];
}

export function nextStep(instance: string): Step {
  const envelope = {
    instanceId: instance,
    executionId: 1,
    timestampMs: Date.now(),
    duroxideVersion: COMPAT_VERSION_TEXT,
  };
  const historyDelta: HistoryEvent[] = [
    { ...envelope, eventId: 3, sourceEventId: 2, kind: 'ActivityCompleted', result: '"done"' },
    { ...envelope, eventId: 4, sourceEventId: null, kind: 'ActivityScheduled', name: 'Next', input: '{"step":2}' },
  ];
  const item: WorkItem = {
    kind: 'ActivityExecute',
    instance,
    executionId: 1,
    id: 4,
    name: 'Next',
    input: '{"step":2}',
  };
  return {
    historyDelta,
    workItems: [item],
    events: historyDelta.map((event) => ({
      event_id: event.eventId,
      event_type: EVENT_TYPE_COLUMN,
      event_data: encodeEvent(event),
    })),
    workerItems: [JSON.parse(encodeWorkItem(item))],
  };
}
