import type { HistoryEvent } from '../../../wire/event.js';

/** A value as an execution left it. */
export interface KvWritten {
  readonly value: string;
  readonly atMs: number;
  readonly executionId: number;
}

/** Values by key, as the events of some executions leave them, in order. */
export function kvAfter(events: readonly HistoryEvent[]): Map<string, KvWritten> {
  const values = new Map<string, KvWritten>();
  for (const event of events) {
    if (event.kind === 'KeyValueSet') {
      values.set(event.key, { value: event.value, atMs: event.lastUpdatedAtMs, executionId: event.executionId });
    } else if (event.kind === 'KeyValueCleared') values.delete(event.key);
    else if (event.kind === 'KeyValuesCleared') values.clear();
  }
  return values;
}

/** Whether these events change any key. */
export function changesKv(events: readonly HistoryEvent[]): boolean {
  return events.some(({ kind }) => kind === 'KeyValueSet' || kind === 'KeyValueCleared' || kind === 'KeyValuesCleared');
}

/** A row of `kv_delta`; null is a tombstone. */
export interface KvChange {
  readonly key: string;
  readonly value: string | null;
  readonly atMs: number;
}

/** What the events of an execution change of what was stored before it. */
export function kvDeltaOf(stored: ReadonlyMap<string, KvWritten>, events: readonly HistoryEvent[]): KvChange[] {
  const changes = new Map<string, KvChange>();
  for (const event of events) {
    if (event.kind === 'KeyValueSet') {
      changes.set(event.key, { key: event.key, value: event.value, atMs: event.lastUpdatedAtMs });
    } else if (event.kind === 'KeyValueCleared') {
      changes.set(event.key, { key: event.key, value: null, atMs: event.timestampMs });
    } else if (event.kind === 'KeyValuesCleared') {
      for (const key of [...stored.keys(), ...changes.keys()]) {
        changes.set(key, { key, value: null, atMs: event.timestampMs });
      }
    }
  }
  return [...changes.values()];
}
