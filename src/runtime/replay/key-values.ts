import { toStorable } from '../../base/text.js';
import type { Action } from './action.js';
import type { KeyValueStore } from './driver.js';
import type { KvSeed } from './turn.js';

type KvAction = Extract<Action, { kind: 'setKeyValue' | 'clearKeyValue' | 'clearKeyValues' }>;

/** What the store asks of the turn that runs. */
export interface KeyValueHost {
  /** Records the decision; `stampMs` is the time of a write. */
  record(action: KvAction, stampMs: number): void;
  /** The clock, for writes. */
  nowMs(): number;
  /** When this turn began: a key of this execution counts as written in this turn, as replay in native does. */
  turnStartMs(): number;
  /**
   * While the code goes again through earlier turns: the clears that history holds at this
   * place, in recorded order, and the time before which the call cannot have been made.
   */
  recordedClears(): { readonly keys: readonly string[]; readonly notBeforeMs: number } | undefined;
  /** A prune removed a key of this execution: a rule that replay shows differently. */
  prunedOwnKey(): void;
}

interface Entry {
  value: string;
  stampMs: number;
  /** Written by this execution; its stamp in memory is not the stored one after a replay. */
  own: boolean;
}

/** The key-value store as the code sees it: earlier executions' values plus its own changes. */
export class KeyValueMemory implements KeyValueStore {
  private readonly values = new Map<string, Entry>();
  /** Keys of earlier executions: what the key limit counts from (D-13). */
  readonly seedKeys: ReadonlySet<string>;

  constructor(
    seed: KvSeed | undefined,
    private readonly host: KeyValueHost,
  ) {
    this.seedKeys = new Set(seed?.keys());
    for (const [key, { value, lastUpdatedAtMs }] of seed ?? []) {
      this.values.set(key, { value, stampMs: lastUpdatedAtMs, own: false });
    }
  }

  get size(): number {
    return this.values.size;
  }

  get(key: string): string | null {
    return this.values.get(toStorable(key))?.value ?? null;
  }

  entries(): Map<string, string> {
    return new Map(Array.from(this.values, ([key, { value }]) => [key, value]));
  }

  set(rawKey: string, rawValue: string): void {
    const key = toStorable(rawKey);
    const value = toStorable(rawValue);
    const stampMs = this.host.nowMs();
    this.host.record({ kind: 'setKeyValue', key, value }, stampMs);
    this.values.set(key, { value, stampMs, own: true });
  }

  clear(rawKey: string): void {
    const key = toStorable(rawKey);
    this.host.record({ kind: 'clearKeyValue', key }, 0);
    this.values.delete(key);
  }

  clearAll(): void {
    this.host.record({ kind: 'clearKeyValues' }, 0);
    this.values.clear();
  }

  pruneUpdatedBefore(cutoffMs: number): number {
    const recorded = this.host.recordedClears();
    const keys = recorded
      ? this.keysPrunedThen(cutoffMs, recorded.keys, recorded.notBeforeMs)
      : this.keysOlderThan(cutoffMs);
    for (const key of keys) {
      if (this.values.get(key)?.own) this.host.prunedOwnKey();
      this.clear(key);
    }
    return keys.length;
  }

  private keysOlderThan(cutoffMs: number): string[] {
    const turnStartMs = this.host.turnStartMs();
    const keys: string[] = [];
    for (const [key, { stampMs, own }] of this.values) {
      if ((own ? Math.max(stampMs, turnStartMs) : stampMs) < cutoffMs) keys.push(key);
    }
    return keys;
  }

  /**
   * What the call cleared when it was made: the recorded run of clears, as far as a prune
   * can have made them. Explicit clears may follow in the same run, so a key that could
   * not have been old enough ends it.
   */
  private keysPrunedThen(cutoffMs: number, recorded: readonly string[], notBeforeMs: number): string[] {
    const keys: string[] = [];
    for (const key of recorded) {
      const entry = this.values.get(key);
      const possible = entry && !keys.includes(key) && (entry.own ? notBeforeMs : entry.stampMs) < cutoffMs;
      if (!possible) break;
      keys.push(key);
    }
    return keys;
  }

  /** Rough size in memory, in bytes. */
  get retainedBytes(): number {
    let bytes = 0;
    for (const [key, { value }] of this.values) bytes += (key.length + value.length) * 2 + 96;
    return bytes;
  }
}
