import { type SQL, sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { Executor } from '../executor.js';
import { type Cell, integerCell, type Statement, textCell } from '../statement.js';
import { moment } from './moment.js';
import type { Candidate } from './peek-instances.js';

/** A queue row that a claim took. */
export interface ClaimedMessage {
  readonly rowId: number;
  readonly instance: string;
  /** Stored text of the work item. */
  readonly text: string;
  /** This fetch included. */
  readonly attemptCount: number;
}

/** How instances are locked. */
export interface Locking {
  readonly nowMs: Ms;
  readonly lockTimeoutMs: Ms;
  /** `tokenPrefix || instance` becomes the token of an instance. */
  readonly tokenPrefix: string;
}

export interface Claim {
  /** Of the won instances, by queue id. */
  readonly messages: ReadonlyMap<string, readonly ClaimedMessage[]>;
  /** Candidates that went to somebody else. */
  readonly lost: readonly string[];
}

/**
 * Takes those of the candidates that nobody else takes at this moment.
 * @param foreign instances that this transaction holds rows of without having won them
 */
export async function claimInstances(
  ctx: ProviderContext,
  tx: Executor,
  candidates: readonly Candidate[],
  { nowMs, lockTimeoutMs, tokenPrefix, foreign }: Locking & { readonly foreign: readonly string[] },
): Promise<Claim> {
  const instances = candidates.map(({ instance }) => instance);
  const rows = await tx.run(claimStatement(ctx), {
    instances,
    takeovers: candidates.filter(({ takesOver }) => takesOver).map(({ instance }) => instance),
    rowIds: candidates.flatMap(({ rowIds }) => rowIds),
    foreign,
    nowMs,
    nowAt: moment(nowMs),
    untilMs: nowMs + lockTimeoutMs,
    tokenPrefix,
  });
  const { messages } = claimFrom(rows);
  return { messages, lost: instances.filter((instance) => !messages.has(instance)) };
}

/** The messages of a claim by instance: those of an instance by queue id, instances by their first message. */
export function claimFrom(rows: readonly ClaimedMessage[]): Pick<Claim, 'messages'> {
  const messages = new Map<string, ClaimedMessage[]>();
  for (const row of rows.toSorted((a, b) => a.rowId - b.rowId)) {
    const others = messages.get(row.instance);
    if (others) others.push(row);
    else messages.set(row.instance, [row]);
  }
  return { messages };
}

const value = (name: string) => sql.placeholder(name);
const token = sql`${value('tokenPrefix')}::text || instance_id`;
const isClaimable = sql`visible_at <= ${value('nowAt')} and (lock_token is null or locked_until <= ${value('nowMs')})`;

/**
 * One statement, and one snapshot (P:T-31): right, because neither the advisory lock nor
 * the row locks are waited for, and the upsert sees past the snapshot.
 *
 * - `takeable`: expired lock rows that nobody is working on. An acknowledgement locks
 *   them before queue rows; to wait for one of them with queue rows in hand is how the
 *   two would deadlock.
 * - `tried`: native's advisory key, so that native waits for us instead of spinning.
 * - `verified`: the peeked rows once more, under the same conditions.
 */
function claimStatement(ctx: ProviderContext): Statement<ClaimedMessage> {
  const { orchestratorQueue, instanceLocks } = ctx.tables;
  return ctx.statement(
    'fetch: claim',
    () => sql`with takeable as (
        select instance_id from ${instanceLocks} where instance_id = any(${value('takeovers')}::text[]) for update skip locked
      ), tried as (
        select u.instance_id from unnest(${value('instances')}::text[]) as u(instance_id)
        where (u.instance_id <> all(${value('takeovers')}::text[]) or u.instance_id in (select instance_id from takeable))
          and pg_try_advisory_xact_lock(hashtext(u.instance_id))
      ), verified as (
        select id, instance_id from ${orchestratorQueue}
        where id = any(${value('rowIds')}::bigint[]) and ${isClaimable} and instance_id in (select instance_id from tried)
        for update skip locked
      ), ${safePart(ctx, 'verified', sql`unnest(${value('foreign')}::text[])`)}, ${lockedPart(ctx)}, ${claimedPart(ctx)}
      select id, instance_id, work_item, attempt_count from claimed`,
    ([rowId, instance, text, attemptCount]: readonly Cell[]) => ({
      rowId: integerCell(rowId),
      instance: textCell(instance),
      text: textCell(text),
      attemptCount: integerCell(attemptCount),
    }),
  );
}

/**
 * `safe`: those of `source` whose messages may be waited for. Two fetchers whose windows
 * have split the messages of two instances would wait for each other, each with rows of
 * the instance that the other one won. So nobody waits for a message of an instance while
 * it holds one of an earlier instance that it did not win: whoever waits does so for a
 * holder that waits for nothing but earlier instances, and nobody in a circle does that.
 *
 * - `contested`: what may not be waited for; hardly ever any.
 * - `at_hand`: its messages that can be had at once. If those are all, no wait is needed.
 * @param foreign a list of instances, as it stands in FROM
 */
export function safePart({ tables }: ProviderContext, source: 'tried' | 'verified', foreign: SQL): SQL {
  const won = sql.raw(source);
  const messages = sql`${tables.orchestratorQueue} where instance_id in (select instance_id from contested) and ${isClaimable}`;
  return sql`contested as (
      select instance_id from ${won}
      where instance_id collate "C" >= (select min(f.instance_id collate "C") from ${foreign} f(instance_id))
    ), at_hand as (
      select instance_id from ${messages} for update skip locked
    ), safe as (
      select instance_id from ${won} where instance_id not in (select instance_id from contested)
      union all
      select h.instance_id from (select instance_id, count(*) as n from at_hand group by instance_id) h
      join (select instance_id, count(*) as n from ${messages} group by instance_id) a on a.instance_id = h.instance_id
      where a.n = h.n
    )`;
}

/**
 * `locked`: the fence. Inserts the lock row, or takes over an expired one, as the newest
 * committed row decides; in the order of the ids, like every lock on this table (P:T-17).
 */
export function lockedPart({ tables }: ProviderContext): SQL {
  return sql`locked as (
      insert into ${tables.instanceLocks} as l (instance_id, lock_token, locked_until, locked_at)
      select instance_id, ${token}, ${value('untilMs')}::bigint, ${value('nowMs')}::bigint from safe
      group by instance_id order by instance_id collate "C"
      on conflict (instance_id) do update
        set lock_token = excluded.lock_token, locked_until = excluded.locked_until, locked_at = excluded.locked_at
        where l.locked_until <= ${value('nowMs')}
      returning l.instance_id, l.lock_token
    )`;
}

/**
 * `claimed`: all visible messages of the locked instances, not only those that were
 * seen. The one part that waits, for somebody who holds one of the others. The token
 * is compared, because pg-mem returns the row that it did not update, too.
 */
export function claimedPart({ tables }: ProviderContext): SQL {
  return sql`claimed as (
      update ${tables.orchestratorQueue}
      set lock_token = ${token}, locked_until = ${value('untilMs')}, attempt_count = attempt_count + 1
      where instance_id in (select instance_id from locked where lock_token = ${token}) and ${isClaimable}
      returning id, instance_id, work_item, attempt_count
    )`;
}
