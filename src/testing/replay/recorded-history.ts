import type { Provider } from '../../provider/provider.js';
import type { HistoryEvent } from '../../wire/event.js';
import { decodeEvent, encodeEvent, eventFromJson } from '../../wire/event.js';

/**
 * The history of one execution as plain JSON, to be kept in a file beside the tests.
 * Made by {@link recordHistory}; it holds inputs and outputs as they were.
 */
export interface RecordedHistory {
  readonly instance: string;
  readonly executionId: number;
  /** The key-value store as earlier executions of the instance left it; absent: empty. */
  readonly values?: RecordedValues | undefined;
  /** The stored form of the events, in order: JSON values, or their texts. */
  readonly events: readonly unknown[];
}

/** Values by key, with the Unix ms at which they were set. */
export type RecordedValues = Readonly<Record<string, { readonly value: string; readonly lastUpdatedAtMs: number }>>;

/** What {@link recordHistory} reads from. */
export type HistorySource = Pick<Provider, 'asManagement' | 'readWithExecution'>;

/**
 * Reads the history of an execution for `replay`, today or years later.
 * @param executionId absent: the current execution
 * @throws Error when there is no such instance or execution; ProviderError
 */
export async function recordHistory(
  source: HistorySource,
  instance: string,
  executionId?: number,
): Promise<RecordedHistory> {
  const executions = await source.asManagement().listExecutions(instance);
  const wanted = executionId ?? Math.max(...executions);
  if (!executions.includes(wanted)) {
    const known = executions.length > 0 ? `it has ${executions.join(', ')}` : 'there is no such instance';
    throw new Error(
      `recordHistory: expected an execution of instance '${instance}', got ${String(executionId)}: ${known}`,
    );
  }
  for await (const recorded of recordHistories(source, instance, executions)) {
    if (recorded.executionId === wanted) return recorded.history();
  }
  throw new Error(`recordHistory: execution ${wanted} of instance '${instance}' is gone`);
}

/**
 * The executions of an instance in their order, each read once.
 * @param executions their ids, as `listExecutions` gives them
 * @internal
 */
export async function* recordHistories(
  source: HistorySource,
  instance: string,
  executions: readonly number[],
): AsyncGenerator<{ readonly executionId: number; readonly history: () => RecordedHistory }> {
  const values = new Map<string, RecordedValues[string]>();
  for (const executionId of [...executions].sort((a, b) => a - b)) {
    const events = await source.readWithExecution(instance, executionId);
    const before = values.size > 0 ? { values: Object.fromEntries(values) } : {};
    yield {
      executionId,
      history: () => ({
        instance,
        executionId,
        ...before,
        events: events.map((event) => JSON.parse(encodeEvent(event)) as unknown),
      }),
    };
    for (const event of events) applyValue(values, event);
  }
}

/**
 * The events of a recorded history, checked.
 * @throws TypeError for something else, naming what is wrong
 */
export function eventsOf(history: RecordedHistory | readonly HistoryEvent[] | string): {
  readonly events: readonly HistoryEvent[];
  readonly values: RecordedValues;
} {
  const given = typeof history === 'string' ? parsed(history) : history;
  const recorded = given as Partial<RecordedHistory>;
  const list: unknown = Array.isArray(given) ? given : recorded.events;
  if (!Array.isArray(list) || list.length === 0) {
    throw new TypeError('replay: expected a recorded history with events, as recordHistory(…) returns it');
  }
  const events = list.map((event: unknown, index) => eventOf(event, index));
  return { events, values: Array.isArray(given) ? {} : (recorded.values ?? {}) };
}

function parsed(text: string): RecordedHistory | readonly HistoryEvent[] {
  try {
    return JSON.parse(text) as RecordedHistory;
  } catch (cause) {
    throw new TypeError('replay: expected the JSON text of a recorded history, got a text that is no JSON', { cause });
  }
}

function eventOf(event: unknown, index: number): HistoryEvent {
  // Events as the provider reads them carry `kind`, stored ones `type`.
  if (typeof event === 'object' && event !== null && 'kind' in event && 'eventId' in event)
    return event as HistoryEvent;
  try {
    return typeof event === 'string' ? decodeEvent(event) : eventFromJson(event);
  } catch (cause) {
    throw new TypeError(`replay: element ${index} of the history is no event: ${(cause as Error).message}`, { cause });
  }
}

function applyValue(values: Map<string, RecordedValues[string]>, event: HistoryEvent): void {
  if (event.kind === 'KeyValueSet') {
    values.set(event.key, { value: event.value, lastUpdatedAtMs: event.lastUpdatedAtMs });
  } else if (event.kind === 'KeyValueCleared') {
    values.delete(event.key);
  } else if (event.kind === 'KeyValuesCleared') {
    values.clear();
  }
}
