import type { ProviderContext } from '../context.js';
import type { Executor } from '../executor.js';
import type { LookParams, PeekedRow, WindowPosition } from './peek-statements.js';
import { firstLook, lookValues, nextLook, START } from './peek-statements.js';

/** An instance with messages that may be claimed now. */
export interface Candidate {
  readonly instance: string;
  /** Ids of the queue rows that were seen; there may be more. */
  readonly rowIds: ReadonlySet<string>;
  /** Whether a lock row stands there, expired. */
  readonly takesOver: boolean;
}

/**
 * Sizes of windows, constants in the texts: `LIMIT $n` never gets a generic plan. The
 * first look takes the smallest that holds as many rows as instances are wanted.
 */
export const WINDOWS = [1, 10, 50, 100, 500] as const;
type Window = (typeof WINDOWS)[number];
/** The looks that follow one of this size. */
const NEXT_WINDOW: Record<Window, Window> = { 1: 10, 10: 100, 50: 500, 100: 500, 500: 500 };

/** An instance with more than this part of a window is passed over by the looks that follow. */
const CROWD = 0.2;

/**
 * The longest id that a claim can take, in bytes of UTF-8: the token holds it beside 42
 * of its own, and an entry of a B-tree holds 2,704. Left alone, because the claim would
 * fail with all that stands beside it. We write no such ids; native may.
 */
const MAX_CLAIMABLE_INSTANCE_BYTES = 2_600;

/**
 * Up to `limit` ready instances, those that waited longest first.
 *
 * The first look locks the queue rows of its window with SKIP LOCKED, so that fetchers
 * see different rows instead of running for the same ones. Nothing waits, and with 16
 * fetchers it was 2 to 10 times faster than a look without locks. Its window has as
 * many rows as instances are wanted: more would hide work from the others.
 *
 * The looks behind it lock nothing. They find what stands behind a window of rows that
 * are not eligible, and show the rows that somebody else holds: the claim will lose
 * those, and "lost" is not "empty" (P:T-18).
 */
export async function peekInstances(
  ctx: ProviderContext,
  tx: Executor,
  { limit, ...params }: LookParams & { readonly limit: number },
): Promise<Candidate[]> {
  const found = new Found(ctx, limit);
  let window: Window = WINDOWS.find((size) => size >= limit) ?? 500;
  found.add(await tx.run(firstLook(ctx, window, params.range), lookValues(params)), window);
  // Without locks, from the start once more: the first look passed over what others hold.
  let position = START;
  while (found.mayHoldMore) {
    window = NEXT_WINDOW[window];
    const except = [...params.except, ...found.crowds];
    const rows = await tx.run(nextLook(ctx, window, params.range), { ...lookValues({ ...params, except }), ...position });
    found.add(rows, window);
    position = endOf(rows, position);
  }
  return found.candidates;
}

/** What the looks of one peek have shown so far. */
class Found {
  readonly crowds = new Set<string>();
  private readonly eligible = new Map<string, { takesOver: boolean; rowIds: Set<string> }>();
  private looks = 0;
  private lastWasFull = false;

  constructor(
    private readonly ctx: ProviderContext,
    private readonly limit: number,
  ) {}

  add(rows: readonly PeekedRow[], window: Window): void {
    this.looks++;
    const counts = new Map<string, number>();
    for (const row of rows) {
      counts.set(row.instance, (counts.get(row.instance) ?? 0) + 1);
      if (row.isEligible && !this.isTooLong(row.instance)) this.addCandidate(row);
    }
    for (const [instance, count] of counts) if (count > window * CROWD) this.crowds.add(instance);
    const expired = rows.filter(isExpired).length;
    this.lastWasFull = expired >= window || rows.length - expired >= window;
  }

  private addCandidate({ instance, id, hasLockRow }: PeekedRow): void {
    const known = this.eligible.get(instance);
    if (known) known.rowIds.add(id);
    else this.eligible.set(instance, { takesOver: hasLockRow, rowIds: new Set([id]) });
  }

  private isTooLong(instance: string): boolean {
    // A unit of UTF-16 takes at most three bytes: most ids need not be measured.
    if (instance.length * 3 <= MAX_CLAIMABLE_INSTANCE_BYTES) return false;
    const bytes = Buffer.byteLength(instance);
    if (bytes <= MAX_CLAIMABLE_INSTANCE_BYTES) return false;
    this.ctx.logger.error({ instance: instance.slice(0, 100), bytes }, 'an instance with an id of this length cannot be run');
    return true;
  }

  /** Another look is worth it behind a full window, and after a first one that showed nothing; with something to return, only once. */
  get mayHoldMore(): boolean {
    if (this.eligible.size >= this.limit) return false;
    if (this.looks === 1) return this.lastWasFull || this.eligible.size === 0;
    return this.lastWasFull && this.eligible.size === 0;
  }

  get candidates(): Candidate[] {
    return Array.from(this.eligible, ([instance, { takesOver, rowIds }]) => ({ instance, takesOver, rowIds })).slice(
      0,
      this.limit,
    );
  }
}

function isExpired({ lockedUntil }: PeekedRow): boolean {
  return lockedUntil !== null;
}

/** Where a window ended, in each of its two parts. */
function endOf(rows: readonly PeekedRow[], start: WindowPosition): WindowPosition {
  const lastReady = rows.findLast((row) => !isExpired(row));
  let end = start;
  if (lastReady) end = { ...end, readyAt: lastReady.visibleAt, readyId: lastReady.id };
  for (const { lockedUntil, id } of rows) {
    if (lockedUntil === null) continue;
    const ahead = Number(lockedUntil) - Number(end.expiredUntil) || Number(id) - Number(end.expiredId);
    if (ahead > 0) end = { ...end, expiredUntil: lockedUntil, expiredId: id };
  }
  return end;
}
