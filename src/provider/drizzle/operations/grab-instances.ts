import { type SQL, sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';
import type { Executor } from '../executor.js';
import { type Cell, integerCell, type Statement, textCell } from '../statement.js';
import { type Claim, claimFrom, type ClaimedMessage, claimedPart, isClaimable, lockedPart, type Locking } from './claim-instances.js';
import { MAX_CLAIMABLE_ID_BYTES } from './claimable-id.js';
import { CROWD } from './peek-instances.js';
import {
  isEligible,
  isExpired,
  isFree,
  joinState,
  kindOf,
  type LookParams,
  lookValues,
  type Window,
  WINDOWS,
} from './ready-rows.js';

export interface Grab extends Claim {
  readonly window: Window;
  /** Whether there may be more behind the window. */
  readonly windowWasFull: boolean;
  /** Instances that took much of the window and were not won. */
  readonly crowds: readonly string[];
}

/**
 * Takes up to `limit` of the instances that waited longest, in one statement: it looks
 * and claims at once. Right although the snapshot is one (P:T-31), because nothing in
 * it waits but the update of other messages, and the upsert sees past the snapshot.
 *
 * The window is locked with SKIP LOCKED, so that fetchers see different rows instead of
 * running for the same ones: with 16 fetchers that was 2 to 10 times faster than to
 * look without locks and to claim what is still there. It has hardly more rows than
 * instances are wanted, because a locked row is hidden from the others.
 *
 * Nothing grabbed does not mean that nothing is there: others may hold it.
 */
export async function grabInstances(
  ctx: ProviderContext,
  tx: Executor,
  params: LookParams & Locking & { readonly limit: number },
): Promise<Grab> {
  const { limit, tokenPrefix, nowMs, lockTimeoutMs } = params;
  const window = WINDOWS.find((size) => size >= limit) ?? 500;
  const rows = await tx.run(grabStatement(ctx, window, params.range), {
    ...lookValues(params),
    limit,
    tokenPrefix,
    untilMs: nowMs + lockTimeoutMs,
  });
  const messages: ClaimedMessage[] = [];
  const others: NotWon[] = [];
  let seen = 0;
  for (const row of rows) {
    if ('rowId' in row) messages.push(row);
    else if ('instance' in row) others.push(row);
    else seen = row.seen;
  }
  return {
    ...claimFrom(messages),
    lost: others.flatMap(({ instance, wasCandidate }) => (wasCandidate ? [instance] : [])),
    window,
    windowWasFull: seen >= window,
    crowds: others.flatMap(({ instance, rows }) => (rows > window * CROWD ? [instance] : [])),
  };
}

interface NotWon {
  readonly instance: string;
  readonly rows: number;
  /** It was eligible, and went to somebody else. */
  readonly wasCandidate: boolean;
}

const value = (name: string) => sql.placeholder(name);

type GrabRow = ClaimedMessage | NotWon | { readonly seen: number };

/**
 * - `seen`: the window, locked.
 * - `candidates`: the eligible instances in it, up to the limit.
 * - the rest: as in the claim by row ids; the rows need no second look, because they are locked.
 *
 * Beside the messages it answers with the instances of the window that were not won and
 * the number of rows in it.
 */
function grabStatement(ctx: ProviderContext, size: Window, range: LookParams['range']): Statement<GrabRow> {
  return ctx.statement(
    `fetch: grab ${size} ${kindOf(range)}`,
    () => sql`with seen as (${windowOf(ctx, size)}), candidates as (
        select w.instance_id, max(case when l.instance_id is null then 0 else 1 end) as takes_over
        from seen w ${joinState(ctx, range)}
        where ${isEligible(range)} and octet_length(w.instance_id) <= ${sql.raw(String(MAX_CLAIMABLE_ID_BYTES))}
        group by w.instance_id order by min(w.visible_at), (array_agg(w.id order by w.visible_at, w.id))[1] limit ${value('limit')}
      ), takeable as (
        select instance_id from ${ctx.tables.instanceLocks}
        where instance_id in (select instance_id from candidates where takes_over = 1) for update skip locked
      ), tried as (
        select instance_id from candidates
        where (takes_over = 0 or instance_id in (select instance_id from takeable))
          and pg_try_advisory_xact_lock(hashtext(instance_id))
      ), ${safePart(ctx)}, ${lockedPart(ctx, sql`safe`)}, ${claimedPart(ctx)}
      select id, instance_id, work_item, attempt_count from claimed
      union all
      select null::bigint, w.instance_id,
        case when w.instance_id in (select instance_id from candidates) then 'candidate' end, count(*)::int
      from seen w
      where w.instance_id not in (select instance_id from claimed)
      group by w.instance_id
      union all
      select null::bigint, null::text, null::text, count(*)::int from seen`,
    grabRow,
  );
}

/**
 * `safe`: those of `tried` whose messages may be waited for. Two fetchers whose windows
 * have split the messages of two instances would wait for each other, each with rows of
 * the instance that the other one won. So nobody waits for a message of an instance while
 * it holds one of an earlier instance that it did not win: whoever waits does so for a
 * holder that waits for nothing but earlier instances, and nobody in a circle does that.
 * Whoever we have the key of is waited for by nobody, also when the fence refuses him to us.
 *
 * - `contested`: what may not be waited for; hardly ever any.
 * - `at_hand`: its messages that can be had at once. If those are all, no wait is needed.
 */
function safePart({ tables }: ProviderContext): SQL {
  const messages = sql`${tables.orchestratorQueue} where instance_id in (select instance_id from contested) and ${isClaimable}`;
  return sql`contested as (
      select instance_id from tried
      where instance_id collate "C" >= (
        select min(w.instance_id collate "C") from seen w where w.instance_id not in (select instance_id from tried))
    ), at_hand as (
      select instance_id from ${messages} for update skip locked
    ), safe as (
      select instance_id from tried where instance_id not in (select instance_id from contested)
      union all
      select h.instance_id from (select instance_id, count(*) as n from at_hand group by instance_id) h
      join (select instance_id, count(*) as n from ${messages} group by instance_id) a on a.instance_id = h.instance_id
      where a.n = h.n
    )`;
}

/** The oldest rows, locked; those that others hold are passed over. */
function windowOf({ tables }: ProviderContext, size: Window): SQL {
  const queue = tables.orchestratorQueue;
  const limit = sql.raw(String(size));
  return sql`select r.* from (select q.id, q.instance_id, q.visible_at from ${queue} q
      where ${isFree} order by q.visible_at, q.id limit ${limit} for update skip locked) r
    union all
    select x.* from (select q.id, q.instance_id, q.visible_at from ${queue} q
      where ${isExpired} order by q.locked_until limit ${limit} for update skip locked) x`;
}

function grabRow([rowId, instance, text, number]: readonly Cell[]): GrabRow {
  if (rowId !== null && rowId !== undefined) {
    return {
      rowId: integerCell(rowId),
      instance: textCell(instance),
      text: textCell(text),
      attemptCount: integerCell(number),
    };
  }
  if (instance === null || instance === undefined) return { seen: integerCell(number) };
  return { instance, rows: integerCell(number), wasCandidate: text !== null };
}
