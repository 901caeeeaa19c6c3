import type { HeldInstance, ItemHistory } from '../provider/provider.js';
import type { HistoryEvent } from '../wire/event.js';
import { encodeEvent } from '../wire/event.js';
import type { LiveExecution, ParentLink } from './replay/turn.js';

/** A live execution between two turns, with what tells whether it still fits the store. */
export interface WarmEntry {
  readonly execution: LiveExecution;
  readonly lastEvent: HistoryEvent;
  readonly eventCount: number;
  readonly parent: ParentLink | undefined;
  /** For the log. */
  readonly name: string;
  readonly version: string;
}

interface Stored extends WarmEntry {
  readonly bytes: number;
}

/** What an entry costs beside what the engine reports: the suspended code and the map. */
const BASE_BYTES = 2_048;

/**
 * Live executions kept after an acknowledged turn, so that the next turn need not replay
 * (design 5.3). Least recently used ones leave first; bounded in number and bytes.
 */
export class WarmCache {
  /** In order of use. */
  private readonly entries = new Map<string, Stored>();
  private bytes = 0;

  constructor(private readonly limits: { readonly entries: number; readonly bytes: number }) {}

  get size(): number {
    return this.entries.size;
  }

  /** What a fetch may ask the tail for. */
  held(instance: string): HeldInstance | undefined {
    const entry = this.entries.get(instance);
    return entry && { executionId: entry.execution.executionId, lastEventId: entry.lastEvent.eventId };
  }

  put(instance: string, entry: WarmEntry): void {
    const bytes = BASE_BYTES + entry.execution.approximateBytes();
    if (this.limits.entries === 0 || bytes > this.limits.bytes) return;
    this.drop(instance);
    this.entries.set(instance, { ...entry, bytes });
    this.bytes += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.limits.entries && this.bytes <= this.limits.bytes) break;
      this.drop(oldest);
    }
  }

  /** Takes the entry out: a turn begins, and only its acknowledgement may put it back. */
  take(instance: string): WarmEntry | undefined {
    const entry = this.entries.get(instance);
    this.drop(instance);
    return entry;
  }

  drop(instance: string): void {
    const entry = this.entries.get(instance);
    if (!entry) return;
    this.entries.delete(instance);
    this.bytes -= entry.bytes;
  }

  clear(): void {
    this.entries.clear();
    this.bytes = 0;
  }
}

/**
 * Whether the store still stands where the live execution stopped: the text of its last
 * event is byte-equal and nothing follows. Ids alone would not do: an instance that was
 * deleted and created again has the same ones.
 */
export function fits(entry: WarmEntry, executionId: number, history: ItemHistory): boolean {
  if (entry.execution.executionId !== executionId) return false;
  const heldText = encodeEvent(entry.lastEvent);
  if (history.kind === 'tail') return history.events.length === 0 && history.heldText === heldText;
  const last = history.events.at(-1);
  return last !== undefined && history.events.length === entry.eventCount && encodeEvent(last) === heldText;
}
