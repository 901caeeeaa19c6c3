import type { CustomStatus, KeyValueStore } from '../runtime/replay/driver.js';
import { decodePayload, encodePayload } from '../wire/payload.js';

/** The instance's key-value store with JSON values; the store itself holds texts (limits: runtime.md 2.12). */
export class DurableKv {
  /** @internal */
  constructor(private readonly store: () => KeyValueStore) {}

  /** The value, or `undefined`; a text that is no JSON, as the string methods store it, is itself. */
  get<T = unknown>(key: string): T | undefined {
    const text = this.store().get(key);
    return text === null ? undefined : (decodePayload(text) as T);
  }

  set(key: string, value: unknown): void {
    this.store().set(key, encodePayload(value, `value of key '${key}'`));
  }

  /** The text as it is stored, which need not be JSON; `undefined` when there is none. */
  getText(key: string): string | undefined {
    return this.store().get(key) ?? undefined;
  }

  /** Stores a text as it is, as the drop-in API and other SDKs do. */
  setText(key: string, text: string): void {
    this.store().set(key, text);
  }

  delete(key: string): void {
    this.store().clear(key);
  }

  clear(): void {
    this.store().clearAll();
  }

  keys(): string[] {
    return [...this.store().entries().keys()].sort();
  }

  get size(): number {
    return this.store().size;
  }

  /** Deletes the entries last set before `cutoffMs` (Unix ms) and says how many. */
  pruneUpdatedBefore(cutoffMs: number): number {
    return this.store().pruneUpdatedBefore(cutoffMs);
  }
}

/** The custom status with JSON values. */
export class DurableStatus {
  /** @internal */
  constructor(private readonly status: () => CustomStatus) {}

  /** The last value set, also right after continue-as-new (D-12); `undefined` when there is none. */
  get<T = unknown>(): T | undefined {
    const text = this.status().latest();
    return text === null ? undefined : (decodePayload(text) as T);
  }

  set(value: unknown): void {
    this.status().set(encodePayload(value, 'the custom status'));
  }

  /** The text as it is stored, which need not be JSON; `undefined` when there is none. */
  getText(): string | undefined {
    return this.status().latest() ?? undefined;
  }

  /** Stores a text as it is, as the drop-in API and other SDKs do. */
  setText(text: string): void {
    this.status().set(text);
  }

  reset(): void {
    this.status().set(null);
  }
}
