import type { FetchOrchestrationItems, HeldInstance, Ms } from '../../provider.js';
import { newTokenPrefix } from '../../lock-token.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { inTransaction } from '../transaction.js';
import { type Claim, claimInstances, type ClaimedMessage, type Locking } from './claim-instances.js';
import { giveBack } from './give-back.js';
import { type Grab, grabInstances } from './grab-instances.js';
import { endsStatement, endsValues, fromEnd } from './load-ends.js';
import { loadStatement, loadValues, type StoredInstance, storedInstances } from './load-instances.js';
import { peekInstances } from './peek-instances.js';
import { isOrphan, removeOrphans } from './remove-orphans.js';
import type { VersionRange } from './version-range.js';

export interface RoundParams {
  readonly operation: string;
  readonly limit: number;
  readonly lockTimeoutMs: Ms;
  readonly range: VersionRange | 'any';
  readonly held: FetchOrchestrationItems['held'];
  /** Instances that this round leaves alone. */
  readonly except: readonly string[];
}

/** An instance that is ours now, not parsed yet. */
export interface WonInstance {
  readonly instance: string;
  readonly lockToken: string;
  readonly messages: readonly ClaimedMessage[];
  readonly stored: StoredInstance;
  readonly held: HeldInstance | undefined;
}

export interface Round {
  readonly won: readonly WonInstance[];
  /** Candidates that went to somebody else. */
  readonly lost: readonly string[];
  /** Batches for instances that never existed; removed. */
  readonly orphans: number;
  /** The look ended where it had seen something, and not where the queue ends: there may be more. */
  readonly mayHoldMore: boolean;
}

/** What a transaction has claimed, and as much as it has read of it. */
interface Taken extends Claim {
  readonly tokenPrefix: string;
  readonly stored: ReadonlyMap<string, StoredInstance>;
  readonly held: ReadonlyMap<string, HeldInstance>;
}

/**
 * One round of a fetch (provider.md 3.4.3): grabs what can be had at once, in one round trip with
 * what is most often enough of its histories. A second look, without locks, follows where the
 * first one found too few in a full window, or nothing at all: what others hold at this moment
 * is lost, which is not the same as an empty queue (P:T-18).
 *
 * Each is a transaction of its own: the second one may wait for messages of what it has won, and
 * holds nothing of the first one's window meanwhile.
 */
export async function fetchRound(ctx: ProviderContext, params: RoundParams): Promise<Round> {
  const grab = await inClaim(ctx, params, (tx, locking) => grabReady(ctx, tx, { ...params, ...locking }));
  const first = await finish(ctx, params, grab);
  const foundNothing = grab.messages.size + grab.lost.length === 0;
  const wanted = params.limit - grab.messages.size;
  if (wanted <= 0 || !(grab.windowWasFull || foundNothing)) return { ...first, mayHoldMore: false };

  const except = [...params.except, ...grab.messages.keys(), ...grab.lost, ...grab.crowds];
  const look = { ...params, except, limit: wanted, window: grab.window };
  try {
    const behind = await inClaim(ctx, params, (tx, locking) => takeBehind(ctx, tx, { ...look, ...locking }));
    const second = await finish(ctx, params, behind);
    return {
      won: [...first.won, ...second.won],
      lost: [...first.lost, ...second.lost],
      orphans: first.orphans + second.orphans,
      mayHoldMore: behind.mayHoldMore,
    };
  } catch (error) {
    if (grab.messages.size === 0) throw error;
    // What was grabbed is the caller's; the next round meets the same failure.
    ctx.logger.warn({ error }, 'the second look of a fetch failed');
    return { ...first, mayHoldMore: true };
  }
}

/** One transaction that locks instances under a token prefix of its own. */
function inClaim<T>(
  ctx: ProviderContext,
  { operation, limit, lockTimeoutMs }: RoundParams,
  use: (tx: Transaction, locking: Locking) => Promise<T>,
): Promise<T> {
  return inTransaction(ctx, operation, (tx, nowMs) => use(tx, { nowMs, lockTimeoutMs, tokenPrefix: newTokenPrefix() }), {
    withinMs: lockTimeoutMs,
    mayBeLost: true,
    admission: limit > 1 ? ctx.batchFetches : undefined,
  });
}

type ClaimParams = RoundParams & Locking;

async function grabReady(ctx: ProviderContext, tx: Transaction, params: ClaimParams): Promise<Grab & Taken> {
  const grabbing = grabInstances(ctx, tx, params);
  if (!ctx.driver.sendsBatches) {
    const grab = await grabbing;
    return { ...grab, ...(await loadTaken(ctx, tx, grab, params)) };
  }
  const { tokenPrefix, range } = params;
  const mark = { tokenPrefix, range, untilMs: params.nowMs + params.lockTimeoutMs };
  const ends = tx.runLast(endsStatement(ctx, range), endsValues(mark));
  const [grab, rows] = await Promise.all([grabbing, ends]);
  const instances = [...grab.messages.keys()];
  const held = heldOf(params, instances);
  const stored = new Map<string, StoredInstance>();
  for (const [instance, end] of storedInstances(instances, rows)) {
    const enough = fromEnd(end, held.get(instance));
    if (enough) stored.set(instance, enough);
  }
  return { ...grab, tokenPrefix, held, stored };
}

type LookBehind = ClaimParams & Pick<Grab, 'window'>;

async function takeBehind(
  ctx: ProviderContext,
  tx: Transaction,
  params: LookBehind,
): Promise<Taken & Pick<Round, 'mayHoldMore'>> {
  const { candidates, windowWasFull } = await peekInstances(ctx, tx, params);
  const nothing: Claim = { messages: new Map(), lost: [] };
  const claim = candidates.length > 0 ? await claimInstances(ctx, tx, candidates, params) : nothing;
  const mayHoldMore = windowWasFull && candidates.length > 0;
  return { ...claim, ...(await loadTaken(ctx, tx, claim, params)), mayHoldMore };
}

/** In the transaction of the claim; COMMIT travels with the load. */
async function loadTaken(
  ctx: ProviderContext,
  tx: Transaction,
  { messages }: Claim,
  params: ClaimParams,
): Promise<Omit<Taken, keyof Claim>> {
  const { range, tokenPrefix } = params;
  const instances = [...messages.keys()];
  const held = heldOf(params, instances);
  if (instances.length === 0) return { tokenPrefix, held, stored: new Map() };
  const load = { instances, range, held };
  const rows = await tx.runLast(loadStatement(ctx, load), loadValues(load));
  return { tokenPrefix, held, stored: storedInstances(instances, rows) };
}

/** What the caller holds of these instances. */
function heldOf({ held }: RoundParams, instances: readonly string[]): Map<string, HeldInstance> {
  const known = new Map<string, HeldInstance>();
  for (const instance of instances) {
    const one = held?.(instance);
    if (one) known.set(instance, one);
  }
  return known;
}

/**
 * Reads what is still missing of what was claimed, and removes what belongs to nobody. Where one
 * of them fails, all of it is given back.
 */
async function finish(ctx: ProviderContext, params: RoundParams, taken: Taken): Promise<Omit<Round, 'mayHoldMore'>> {
  const locks = [...taken.messages.keys()].map((instance) => ({ instance, lockToken: taken.tokenPrefix + instance }));
  try {
    const missing = await loadMissing(ctx, params, taken);
    const all = locks.map(({ instance, lockToken }): WonInstance => {
      return {
        instance,
        lockToken,
        messages: taken.messages.get(instance) ?? [],
        stored: taken.stored.get(instance) ?? missing.get(instance) ?? { events: [], kv: new Map() },
        held: taken.held.get(instance),
      };
    });
    const orphans = all.filter(isOrphan);
    if (orphans.length > 0) await removeOrphans(ctx, params.operation, orphans);
    return { won: all.filter((won) => !isOrphan(won)), lost: taken.lost, orphans: orphans.length };
  } catch (error) {
    await giveBack(ctx, locks, 'an instance that could not be loaded');
    throw error;
  }
}

/** Histories of which the end was not enough: of instances that are not warm here, and not new. */
async function loadMissing(
  ctx: ProviderContext,
  { operation, range, lockTimeoutMs }: RoundParams,
  { messages, stored, held }: Taken,
): Promise<ReadonlyMap<string, StoredInstance>> {
  const instances = [...messages.keys()].filter((instance) => !stored.has(instance));
  if (instances.length === 0) return new Map();
  const load = { instances, range, held };
  const rows = await inTransaction(ctx, operation, (tx) => tx.runLast(loadStatement(ctx, load), loadValues(load)), {
    withinMs: lockTimeoutMs,
    repeatable: true,
  });
  return storedInstances(instances, rows);
}
