import { jitterMs } from '../../../base/backoff.js';
import { sleepReal } from '../../../base/clock.js';
import type { FetchedOrchestrationItems, FetchOrchestrationItems, LockedOrchestrationItem } from '../../provider.js';
import { ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { decodeMessages } from './decode-messages.js';
import { fetchRound, type Round, type WonInstance } from './fetch-round.js';
import { giveBack } from './give-back.js';
import { orchestrationItem } from './orchestration-item.js';
import { setAsideMessages } from './set-aside-messages.js';
import { rangeOf } from './version-range.js';

const OPERATION = 'fetch_orchestration_item';
/** However many candidates there are: a row that a stranger keeps locked must not make a fetcher spin (P:T-5). */
const MAX_ROUNDS = 50;

/**
 * Locks up to `limit` ready instances and returns them with their messages. `lost`
 * counts instances that were ready but went to somebody else: the queue is empty only
 * when there are no items and nothing was lost.
 * @throws ProviderError when nothing could be fetched
 */
export async function fetchOrchestrationItems(
  ctx: ProviderContext,
  { limit, lockTimeoutMs, filter, held }: FetchOrchestrationItems,
): Promise<FetchedOrchestrationItems> {
  const range = rangeOf(filter);
  if (range === undefined || limit <= 0) return { items: [], lost: 0 };
  const items: LockedOrchestrationItem[] = [];
  const progress = new Progress();
  while (items.length < limit && progress.mayGoOn) {
    if (progress.mustPause) await sleepReal(jitterMs(2, 20, ctx.random));
    let round: Round;
    try {
      round = await fetchRound(ctx, {
        operation: OPERATION,
        limit: limit - items.length,
        lockTimeoutMs,
        range,
        held,
        except: progress.beginRound(),
      });
    } catch (error) {
      if (items.length === 0) throw error;
      // What earlier rounds locked is the caller's; the next fetch meets the same failure.
      ctx.logger.warn({ error }, 'a fetch ended early');
      break;
    }
    const found = await deliverable(ctx, round.won);
    items.push(...found);
    progress.note(round, found.length, items.length > 0);
  }
  return { items, lost: progress.lost.size };
}

/** What the rounds of one call have shown, and whether there should be another one. */
class Progress {
  /** Candidates that went to somebody else and did not come back. */
  readonly lost = new Set<string>();
  /** What the next round leaves alone. */
  private readonly except = new Set<string>();
  private readonly seen = new Set<string>();
  /** Orphan batches that were removed: candidates, too, although they left no trace. */
  private removed = 0;
  /** Rounds that had candidates. */
  private rounds = 0;
  private looksAgain: 'no' | 'next' | 'done' = 'no';
  private isOver = false;

  get mayGoOn(): boolean {
    return !this.isOver && (this.rounds === 0 || this.rounds < Math.min(MAX_ROUNDS, 2 * (this.seen.size + this.removed)));
  }

  /** Before the last look at what was lost, so that its holders may finish. */
  get mustPause(): boolean {
    return this.looksAgain === 'next';
  }

  beginRound(): string[] {
    if (this.looksAgain === 'next') this.except.clear();
    return [...this.except];
  }

  note({ won, lost, orphans, mayHoldMore }: Round, delivered: number, hasItems: boolean): void {
    const candidates = won.length + lost.length + orphans;
    if (candidates > 0) this.rounds++;
    this.removed += orphans;
    if (this.looksAgain === 'next') this.looksAgain = 'done';
    for (const { instance } of won) {
      this.seen.add(instance);
      this.lost.delete(instance);
    }
    for (const instance of lost) {
      this.seen.add(instance);
      this.lost.add(instance);
      this.except.add(instance);
    }
    if (lost.length > 0) return;
    if (candidates > 0) {
      // Fewer than wanted, and none lost: those were all, unless some were taken and not
      // delivered, or rows of instances that cannot run now fill what was looked at.
      this.isOver = delivered === candidates && !mayHoldMore;
    } else if (this.except.size > 0 && !hasItems && this.looksAgain === 'no') {
      this.looksAgain = 'next';
    } else {
      this.isOver = true;
    }
  }
}

/** What the caller gets of the instances that a round won; the others are unlocked again. */
async function deliverable(ctx: ProviderContext, won: readonly WonInstance[]): Promise<LockedOrchestrationItem[]> {
  const misfits = won.filter(({ stored }) => stored.row?.isWithinRange === false);
  // Pinned outside of our range between the look and the claim.
  if (misfits.length > 0) await giveBack(ctx, misfits, 'an instance of another version');
  const items: LockedOrchestrationItem[] = [];
  for (const instance of won) {
    const item = misfits.includes(instance) ? undefined : await readItem(ctx, instance);
    if (item) items.push(item);
  }
  return items;
}

/** `undefined` when a message of the instance cannot be read and the instance was given back. */
async function readItem(ctx: ProviderContext, won: WonInstance): Promise<LockedOrchestrationItem | undefined> {
  const { instance, lockToken } = won;
  const { readable, unreadable } = decodeMessages(won.messages);
  if (unreadable.length > 0) {
    try {
      const goesOn = await setAsideMessages(ctx, { operation: OPERATION, instance, lockToken, readable, unreadable });
      if (!goesOn) return undefined;
    } catch (error) {
      if (!ProviderError.is(error)) throw error;
      ctx.logger.error({ instance, error }, 'an instance with an unreadable message stays locked until its lock expires');
      return undefined;
    }
  }
  return orchestrationItem({ ...won, messages: readable });
}
