import { sql } from 'drizzle-orm';
import type { FetchOrchestrationItems, HeldInstance, Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { noRow } from '../statement.js';
import { type Claim, claimInstances, type ClaimedMessage, type Locking } from './claim-instances.js';
import { grabInstances } from './grab-instances.js';
import { loadStatement, loadValues, type StoredInstance, storedInstances } from './load-instances.js';
import { newTokenPrefix } from '../../lock-token.js';
import { peekInstances } from './peek-instances.js';
import type { VersionRange } from './version-range.js';

export interface RoundParams {
  readonly limit: number;
  readonly lockTimeoutMs: Ms;
  readonly range: VersionRange | 'any';
  readonly held: FetchOrchestrationItems['held'];
  /** Instances that this round leaves alone. */
  readonly except: readonly string[];
  readonly nowMs: Ms;
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

/** One round of a fetch, which is one transaction: look and claim, then load (provider.md 3.4.3). */
export async function fetchRound(ctx: ProviderContext, tx: Transaction, params: RoundParams): Promise<Round> {
  const tokenPrefix = newTokenPrefix();
  const claim = await claimReady(ctx, tx, { ...params, tokenPrefix });
  const { lost, mayHoldMore } = claim;
  if (claim.messages.size === 0) return { won: [], lost, orphans: 0, mayHoldMore };

  const loaded = await loadWon(ctx, tx, claim, { ...params, tokenPrefix });
  const orphans = loaded.filter(isOrphan);
  if (orphans.length > 0) await removeOrphans(ctx, tx, orphans);
  return { won: loaded.filter((won) => !isOrphan(won)), lost, orphans: orphans.length, mayHoldMore };
}

type ClaimParams = RoundParams & Locking;
type ReadyClaim = Claim & Pick<Round, 'mayHoldMore'>;

/**
 * Grabs what can be had at once. A second look, without locks, follows where the first
 * one found too few in a full window, or nothing at all: what others hold at this moment
 * is lost, which is not the same as an empty queue (P:T-18).
 */
async function claimReady(ctx: ProviderContext, tx: Transaction, params: ClaimParams): Promise<ReadyClaim> {
  const grab = await grabInstances(ctx, tx, params);
  const foundNothing = grab.messages.size + grab.lost.length === 0;
  const wanted = params.limit - grab.messages.size;
  if (wanted <= 0 || !(grab.windowWasFull || foundNothing)) return { ...grab, mayHoldMore: false };

  const except = [...params.except, ...grab.lost, ...grab.crowds];
  const { candidates, windowWasFull } = await peekInstances(ctx, tx, { ...params, except, limit: wanted, window: grab.window });
  if (candidates.length === 0) return { ...grab, mayHoldMore: false };
  const behind = await claimInstances(ctx, tx, candidates, { ...params, foreign: grab.foreign });
  return {
    messages: new Map([...grab.messages, ...behind.messages]),
    lost: [...grab.lost, ...behind.lost],
    mayHoldMore: windowWasFull,
  };
}

async function loadWon(
  ctx: ProviderContext,
  tx: Transaction,
  claim: Claim,
  { range, held: heldOf, tokenPrefix }: ClaimParams,
): Promise<WonInstance[]> {
  const instances = [...claim.messages.keys()];
  const held = new Map<string, HeldInstance>();
  for (const instance of instances) {
    const known = heldOf?.(instance);
    if (known) held.set(instance, known);
  }
  const params = { instances, range, held };
  const statement = loadStatement(ctx, params);
  // COMMIT travels with the load, unless there may be something left to do.
  const mayHaveOrphans = [...claim.messages.values()].some((messages) => messages.every(looksLikeMailbox));
  const rows = await (mayHaveOrphans ? tx.run(statement, loadValues(params)) : tx.runLast(statement, loadValues(params)));
  const stored = storedInstances(instances, rows);
  return instances.map((instance) => ({
    instance,
    lockToken: tokenPrefix + instance,
    messages: claim.messages.get(instance) ?? [],
    stored: stored.get(instance) ?? { events: [], kv: new Map() },
    held: held.get(instance),
  }));
}

/** By the first bytes, which are the same in both layouts (provider.md 2.1). */
function looksLikeMailbox({ text }: ClaimedMessage): boolean {
  return text.startsWith('{"QueueMessage"');
}

/**
 * Mailbox messages of an instance that nobody started: dropped, as native does, but
 * without the execution row that native leaves behind (P:T-10).
 */
function isOrphan({ messages, stored }: WonInstance): boolean {
  return stored.row === undefined && stored.events.length === 0 && messages.every(looksLikeMailbox);
}

async function removeOrphans(ctx: ProviderContext, tx: Transaction, orphans: readonly WonInstance[]): Promise<void> {
  const { orchestratorQueue, instanceLocks } = ctx.tables;
  const value = (name: string) => sql.placeholder(name);
  const remove = ctx.statement(
    'fetch: remove orphans',
    () => sql`with messages as (delete from ${orchestratorQueue} where lock_token = any(${value('lockTokens')}::text[]) returning id),
      locks as (
        delete from ${instanceLocks}
        where instance_id = any(${value('instances')}::text[]) and lock_token = any(${value('lockTokens')}::text[]) returning instance_id
      )
      select instance_id from locks`,
    noRow,
  );
  await tx.runLast(remove, {
    instances: orphans.map(({ instance }) => instance),
    lockTokens: orphans.map(({ lockToken }) => lockToken),
  });
}
