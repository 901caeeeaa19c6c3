import type { ProviderContext } from '../context.js';
import type { Executor } from '../executor.js';
import { isClaimableId } from './claimable-id.js';
import { type PeekedRow, peekStatement, START, type WindowPosition } from './peek-statement.js';
import { type LookParams, lookValues, type Window, WINDOWS } from './ready-rows.js';

/** What a look without locks has shown. */
export interface Peek {
  readonly candidates: readonly Candidate[];
  /** Whether there may be more candidates behind the last window. */
  readonly windowWasFull: boolean;
}

/** An instance with messages that may be claimed now. */
export interface Candidate {
  readonly instance: string;
  /** Ids of the queue rows that were seen; there may be more. */
  readonly rowIds: readonly string[];
  /** Whether a lock row stands there, expired. */
  readonly takesOver: boolean;
}

export interface PeekParams extends LookParams {
  readonly limit: number;
  /** The size of the window that was looked at before. */
  readonly window: Window;
}

/** An instance with more than this part of a window is passed over by the looks that follow. */
export const CROWD = 0.2;

/**
 * Up to `limit` ready instances, those that waited longest first, seen without locks:
 * what stands behind a window of rows that are not eligible, and what somebody else
 * holds just now. It goes on until a window shows something, or has an end.
 */
export async function peekInstances(
  ctx: ProviderContext,
  tx: Executor,
  { limit, window: lastWindow, ...params }: PeekParams,
): Promise<Peek> {
  let window = lastWindow;
  let position = START;
  const crowds: string[] = [];
  for (;;) {
    window = largerWindow(window);
    const values = lookValues({ ...params, except: [...params.except, ...crowds] });
    const rows = await tx.run(peekStatement(ctx, window, params.range), { ...values, ...position });
    const candidates = candidatesOf(ctx, rows);
    const windowWasFull = isFull(rows, window);
    if (candidates.length > 0 || !windowWasFull) return { candidates: candidates.slice(0, limit), windowWasFull };
    position = endOf(rows, position);
    crowds.push(...crowdsOf(rows, window));
  }
}

/** Ten times as large where there is such a window. */
function largerWindow(window: Window): Window {
  return WINDOWS.find((size) => size >= 10 * window) ?? 500;
}

function candidatesOf(ctx: ProviderContext, rows: readonly PeekedRow[]): Candidate[] {
  const candidates = new Map<string, { instance: string; rowIds: string[]; takesOver: boolean }>();
  for (const { instance, id, hasLockRow, isEligible } of rows) {
    if (!isEligible || !isClaimableId(ctx, instance)) continue;
    const known = candidates.get(instance);
    if (known) known.rowIds.push(id);
    else candidates.set(instance, { instance, rowIds: [id], takesOver: hasLockRow });
  }
  return [...candidates.values()];
}

function isFull(rows: readonly PeekedRow[], window: Window): boolean {
  const expired = rows.filter(({ lockedUntil }) => lockedUntil !== null).length;
  return expired >= window || rows.length - expired >= window;
}

function crowdsOf(rows: readonly PeekedRow[], window: Window): string[] {
  const counts = new Map<string, number>();
  for (const { instance } of rows) counts.set(instance, (counts.get(instance) ?? 0) + 1);
  return [...counts].flatMap(([instance, count]) => (count > window * CROWD ? [instance] : []));
}

/** Where a window ended, in each of its two parts. */
function endOf(rows: readonly PeekedRow[], start: WindowPosition): WindowPosition {
  const lastReady = rows.findLast(({ lockedUntil }) => lockedUntil === null);
  let end = lastReady ? { ...start, readyAt: lastReady.visibleAt, readyId: lastReady.id } : start;
  for (const { lockedUntil, id } of rows) {
    if (lockedUntil === null) continue;
    const ahead = Number(lockedUntil) - Number(end.expiredUntil) || Number(id) - Number(end.expiredId);
    if (ahead > 0) end = { ...end, expiredUntil: lockedUntil, expiredId: id };
  }
  return end;
}
