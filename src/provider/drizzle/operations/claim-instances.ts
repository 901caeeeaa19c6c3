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
 * Takes those of the candidates that nobody else takes at this moment. In a transaction that holds
 * no messages of others: it may wait for those of an instance that it has won.
 */
export async function claimInstances(
  ctx: ProviderContext,
  tx: Executor,
  candidates: readonly Candidate[],
  { nowMs, lockTimeoutMs, tokenPrefix }: Locking,
): Promise<Claim> {
  const instances = candidates.map(({ instance }) => instance);
  const rows = await tx.run(claimStatement(ctx), {
    instances,
    takeovers: candidates.filter(({ takesOver }) => takesOver).map(({ instance }) => instance),
    rowIds: candidates.flatMap(({ rowIds }) => rowIds),
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
/** A message that is visible and locked by nobody. */
export const isClaimable = sql`visible_at <= ${value('nowAt')} and (lock_token is null or locked_until <= ${value('nowMs')})`;

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
      ), ${lockedPart(ctx, sql`verified`)}, ${claimedPart(ctx)}
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
 * `locked`: the fence. Inserts the lock row, or takes over an expired one, as the newest
 * committed row decides; in the order of the ids, like every lock on this table (P:T-17).
 */
export function lockedPart({ tables }: ProviderContext, won: SQL): SQL {
  return sql`locked as (
      insert into ${tables.instanceLocks} as l (instance_id, lock_token, locked_until, locked_at)
      select instance_id, ${token}, ${value('untilMs')}::bigint, ${value('nowMs')}::bigint from ${won}
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
