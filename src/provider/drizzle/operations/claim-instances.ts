import { sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { Executor } from '../executor.js';
import { type Cell, integerCell, type Statement, textCell } from '../statement.js';
import { newTokenPrefix } from './lock-token.js';
import { moment } from './moment.js';
import type { Candidate } from './peek-instances.js';

/** A queue row that the claim took. */
export interface ClaimedMessage {
  readonly rowId: number;
  readonly instance: string;
  /** Stored text of the work item. */
  readonly text: string;
  /** This fetch included. */
  readonly attemptCount: number;
}

export interface Claim {
  /** `tokenPrefix || instance` is the lock token of an instance. */
  readonly tokenPrefix: string;
  /** Of the won instances, by queue id. */
  readonly messages: ReadonlyMap<string, readonly ClaimedMessage[]>;
  readonly lost: readonly string[];
}

/**
 * Takes the instances that nobody else takes at this moment. The upsert on
 * `instance_locks` is the fence: it is decided by the newest committed row, whatever
 * the peek saw.
 */
export async function claimInstances(
  ctx: ProviderContext,
  tx: Executor,
  candidates: readonly Candidate[],
  { nowMs, lockTimeoutMs }: { readonly nowMs: Ms; readonly lockTimeoutMs: Ms },
): Promise<Claim> {
  const tokenPrefix = newTokenPrefix();
  const instances = candidates.map(({ instance }) => instance).sort();
  const rows = await tx.run(claimStatement(ctx), {
    instances,
    takeovers: candidates.filter(({ takesOver }) => takesOver).map(({ instance }) => instance),
    rowIds: candidates.flatMap(({ rowIds }) => [...rowIds]),
    nowMs,
    nowAt: moment(nowMs),
    untilMs: nowMs + lockTimeoutMs,
    tokenPrefix,
  });
  const messages = new Map<string, ClaimedMessage[]>();
  for (const row of rows) {
    const others = messages.get(row.instance);
    if (others) others.push(row);
    else messages.set(row.instance, [row]);
  }
  for (const ofInstance of messages.values()) ofInstance.sort((a, b) => a.rowId - b.rowId);
  return { tokenPrefix, messages, lost: instances.filter((instance) => !messages.has(instance)) };
}

/**
 * One statement, and one snapshot (P:T-31): right, because neither the advisory lock nor
 * the row locks are waited for, and the upsert sees past the snapshot.
 *
 * - `takeable`: expired lock rows that nobody is working on. An acknowledgement locks
 *   them before queue rows; waiting for one of them below, with queue rows in hand, is
 *   how the two would deadlock.
 * - `tried`: native's advisory key, so that native waits for us instead of spinning.
 * - `verified`: the peeked rows once more, under the same conditions.
 * - `locked`: insert or take over; in the order of the ids, like every lock (P:T-17).
 * - `claimed`: all visible messages, not only the peeked ones. The one part that waits,
 *   for a stranger that holds one of the others.
 */
function claimStatement(ctx: ProviderContext): Statement<ClaimedMessage> {
  const value = (name: string) => sql.placeholder(name);
  const { orchestratorQueue, instanceLocks } = ctx.tables;
  const isClaimable = sql`visible_at <= ${value('nowAt')} and (lock_token is null or locked_until <= ${value('nowMs')})`;
  const token = sql`${value('tokenPrefix')}::text || instance_id`;
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
      ), locked as (
        insert into ${instanceLocks} as l (instance_id, lock_token, locked_until, locked_at)
        select instance_id, ${token}, ${value('untilMs')}::bigint, ${value('nowMs')}::bigint from verified
        group by instance_id order by instance_id collate "C"
        on conflict (instance_id) do update
          set lock_token = excluded.lock_token, locked_until = excluded.locked_until, locked_at = excluded.locked_at
          where l.locked_until <= ${value('nowMs')}
        returning l.instance_id, l.lock_token
      ), claimed as (
        update ${orchestratorQueue}
        set lock_token = ${token}, locked_until = ${value('untilMs')}, attempt_count = attempt_count + 1
        where instance_id in (select instance_id from locked where lock_token = ${token}) and ${isClaimable}
        returning id, instance_id, work_item, attempt_count
      )
      select id, instance_id, work_item, attempt_count from claimed`,
    claimedMessage,
  );
}

function claimedMessage([rowId, instance, text, attemptCount]: readonly Cell[]): ClaimedMessage {
  return {
    rowId: integerCell(rowId),
    instance: textCell(instance),
    text: textCell(text),
    attemptCount: integerCell(attemptCount),
  };
}
