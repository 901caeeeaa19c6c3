import { toStorable } from '../../../base/text.js';
import type { HistoryEvent } from '../../../wire/event.js';
import type { Ms } from '../../provider.js';

/** What a turn did to a key; the last change wins. */
export interface KvChange {
  /** Null deletes the key. */
  readonly value: string | null;
  /** Absent: the moment of the acknowledgement. */
  readonly atMs?: Ms | undefined;
}

export interface KvChanges {
  /** All keys that were stored before the turn are deleted, before `changes` apply. */
  readonly clearsAll: boolean;
  readonly changes: ReadonlyMap<string, KvChange>;
}

/** The key-value changes of a turn, each key once: an upsert refuses a repeated key (21000). */
export function kvChangesOf(events: readonly HistoryEvent[]): KvChanges {
  const changes = new Map<string, KvChange>();
  let clearsAll = false;
  for (const event of events) {
    if (event.kind === 'KeyValueSet') {
      changes.set(toStorable(event.key), { value: toStorable(event.value), atMs: event.lastUpdatedAtMs });
    } else if (event.kind === 'KeyValueCleared') {
      changes.set(toStorable(event.key), { value: null });
    } else if (event.kind === 'KeyValuesCleared') {
      clearsAll = true;
      // Those set before in this turn are not stored yet, but readers of the delta must not see them.
      for (const key of changes.keys()) changes.set(key, { value: null });
    }
  }
  return { clearsAll, changes };
}
