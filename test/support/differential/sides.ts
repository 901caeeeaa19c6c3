import type pg from 'pg';
import type { FakeClock } from '../../../src/base/clock.js';
import { ProviderError } from '../../../src/provider/provider-error.js';
import type { LockedOrchestrationItem, LockedWorkItem, Provider } from '../../../src/provider/provider.js';
import type { NativeFunctions } from '../native-functions.js';
import type { Reconciler } from './reconciler.js';

/** What an operation answers, in a form that both sides share. */
export type Outcome = { readonly value: unknown } | { readonly error: { retryable: boolean; sqlState: unknown } };

/** Both sides of the comparison, on one clock. */
export interface Sides {
  readonly clock: FakeClock;
  readonly ours: Provider;
  readonly native: NativeFunctions;
  readonly reconcile: Reconciler;
  readonly schemas: { readonly ours: string; readonly native: string };
  readonly client: pg.Client;
}

/** Locks that both sides handed out for the same thing, as pairs. */
export class TokenPairs {
  private readonly nativeOf = new Map<string, string>();
  private readonly names = new Map<string, string>();

  pair(ours: string, native: string): void {
    this.nativeOf.set(ours, native);
    const name = `lock ${this.nativeOf.size}`;
    this.names.set(ours, name);
    this.names.set(native, name);
  }

  /** Native's token for one of ours; one that nobody handed out stays itself. */
  native(ours: string): string {
    return this.nativeOf.get(ours) ?? ours;
  }

  /** A name that both sides' tokens share. */
  readonly name = (token: string): string => this.names.get(token) ?? `unpaired ${token}`;
}

/** Runs an operation; errors become values. Texts are left out, codes are not. */
export async function outcomeOf(run: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { value: comparable(await run()) };
  } catch (error) {
    if (!ProviderError.is(error)) throw error;
    // A condition raised by native's functions has a code of its own, ours has none.
    const sqlState = error.sqlState === 'P0001' ? undefined : error.sqlState;
    return { error: { retryable: error.retryable, sqlState } };
  }
}

/** Values without what is compared elsewhere, maps as sorted entries. */
function comparable(value: unknown): unknown {
  if (value instanceof Map) return [...(value as Map<string, unknown>)].sort(([a], [b]) => (a < b ? -1 : 1));
  return value;
}

/**
 * Fetched instances without their tokens. Which ones were locked must be the same; the
 * order inside a batch has no counterpart in native, which returns one at a time.
 */
export function comparableItems(items: readonly LockedOrchestrationItem[]) {
  return items
    .map((item) => ({ ...item, lockToken: undefined, kvSnapshot: comparable(item.kvSnapshot) }))
    .sort((a, b) => (a.instance < b.instance ? -1 : 1));
}

/** A fetched worker item without its token. */
export function comparableWork(work: LockedWorkItem) {
  return { ...work, lockToken: undefined };
}
