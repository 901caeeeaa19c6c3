import type { VersionFilter } from '../provider/provider.js';
import { COMPAT_VERSION_TEXT, parseSemVer } from '../wire/compat-version.js';
import type { SemVer } from '../wire/compat-version.js';
import type { EventBody, EventOf, HistoryEvent } from '../wire/event.js';
import type { WorkItem, WorkItemOf } from '../wire/work-item.js';

/** What a test instance is started with unless a check says otherwise. */
export const ORCHESTRATION = 'TestOrch';
export const VERSION = '1.0.0';

/** Stamp of all test events; nothing compares it with a clock. */
const STAMP_MS = 1_800_000_000_000;

type Fields<T> = Partial<Omit<T, 'kind'>>;

export function startItem(
  instance: string,
  fields: Fields<WorkItemOf<'StartOrchestration'>> = {},
): WorkItemOf<'StartOrchestration'> {
  return {
    kind: 'StartOrchestration',
    instance,
    orchestration: ORCHESTRATION,
    input: '{}',
    version: VERSION,
    parentInstance: null,
    parentId: null,
    executionId: 1,
    ...fields,
  };
}

export function activityItem(
  instance: string,
  id: number,
  fields: Fields<WorkItemOf<'ActivityExecute'>> = {},
): WorkItemOf<'ActivityExecute'> {
  return { kind: 'ActivityExecute', instance, executionId: 1, id, name: 'Work', input: '{}', ...fields };
}

export function activityCompleted(instance: string, id: number, result = '"done"'): WorkItem {
  return { kind: 'ActivityCompleted', instance, executionId: 1, id, result };
}

export function externalRaised(instance: string, name = 'poke', data = '{}'): WorkItem {
  return { kind: 'ExternalRaised', instance, name, data };
}

export function queueMessage(instance: string, data = '{}'): WorkItem {
  return { kind: 'QueueMessage', instance, name: 'mailbox', data };
}

export function timerFired(instance: string, id: number, fireAtMs: number): WorkItem {
  return { kind: 'TimerFired', instance, executionId: 1, id, fireAtMs };
}

export function continueAsNewItem(instance: string, fields: Fields<WorkItemOf<'ContinueAsNew'>> = {}): WorkItem {
  return {
    kind: 'ContinueAsNew',
    instance,
    orchestration: ORCHESTRATION,
    input: '{}',
    version: VERSION,
    carryForwardEvents: [],
    ...fields,
  };
}

/** An event at a place in an execution. */
export function event(instance: string, eventId: number, body: EventBody, executionId = 1): HistoryEvent {
  return {
    eventId,
    sourceEventId: null,
    instanceId: instance,
    executionId,
    timestampMs: STAMP_MS,
    duroxideVersion: COMPAT_VERSION_TEXT,
    ...body,
  };
}

/** Body of the first event of an execution. */
export function started(
  fields: Fields<Extract<EventBody, { kind: 'OrchestrationStarted' }>> = {},
): Extract<EventBody, { kind: 'OrchestrationStarted' }> {
  return {
    kind: 'OrchestrationStarted',
    name: ORCHESTRATION,
    version: VERSION,
    input: '{}',
    parentInstance: null,
    parentId: null,
    ...fields,
  };
}

/** The first event of an execution. */
export function startedEvent(instance: string, executionId = 1): EventOf<'OrchestrationStarted'> {
  return event(instance, 1, started(), executionId) as EventOf<'OrchestrationStarted'>;
}

export function raisedEvent(name: string): EventBody {
  return { kind: 'ExternalEvent', name, data: '{}' };
}

export function completedEvent(output = '"done"'): EventBody {
  return { kind: 'OrchestrationCompleted', output };
}

export function failedEvent(message = 'failed'): EventBody {
  return {
    kind: 'OrchestrationFailed',
    details: { kind: 'Application', application: { kind: 'OrchestrationFailed' }, message, retryable: false },
  };
}

export function kvSet(key: string, value: string, lastUpdatedAtMs = STAMP_MS): EventBody {
  return { kind: 'KeyValueSet', key, value, lastUpdatedAtMs };
}

export function kvCleared(key: string): EventBody {
  return { kind: 'KeyValueCleared', key };
}

export const kvAllCleared: EventBody = { kind: 'KeyValuesCleared' };

export function statusEvent(status: string | null): EventBody {
  return { kind: 'CustomStatusUpdated', status };
}

/** `'1.2.3'` as numbers. */
export function semVer(text: string): SemVer {
  const version = parseSemVer(text);
  if (!version) throw new TypeError(`no version: ${text}`);
  return version;
}

/** A filter of inclusive ranges `[min, max]`. */
export function versions(...ranges: readonly (readonly [min: string, max: string])[]): VersionFilter {
  return { ranges: ranges.map(([min, max]) => ({ min: semVer(min), max: semVer(max) })) };
}

/** `prefix-0` … `prefix-(count-1)`. */
export function ids(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

/** Numbers bodies as events of an execution, from `firstId`. */
export function numbered(
  instance: string,
  executionId: number,
  firstId: number,
  bodies: readonly EventBody[],
): HistoryEvent[] {
  return bodies.map((body, index) => event(instance, firstId + index, body, executionId));
}
