import { sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { newTokenPrefix } from '../../lock-token.js';
import { noRow } from '../statement.js';

const value = (name: string) => sql.placeholder(name);

/** The locks live inside the transaction only; their end is for a server that lost our rollback. */
const LOCK_MS: Ms = 60_000;
/** Advisory keys that one deletion takes at most: the server has room for some thousands, of all sessions. */
const MAX_KEYS = 1_000;

/**
 * Takes the instances that somebody may be about to take, or has taken: those that run, that
 * have a message or a lock row. Whoever has claimed one without having committed is waited
 * for, and his token is void from then on; later claims leave it alone until the transaction ends.
 *
 * As a claim does it, and in its order: native's advisory keys first, so that nobody waits
 * for our lock rows with queue rows in hand, which we want next; then the lock rows by id.
 * Beyond {@link MAX_KEYS} the server has to untie what is tied in a circle.
 */
export function fenceOff(
  ctx: ProviderContext,
  tx: Transaction,
  { ids, nowMs }: { readonly ids: readonly string[]; readonly nowMs: Ms },
): Promise<unknown> {
  const { instances, executions, instanceLocks, orchestratorQueue } = ctx.tables;
  const own = sql`instance_id = any(${value('ids')}::text[])`;
  const wanted = sql`select u.instance_id from unnest(${value('ids')}::text[]) as u(instance_id)
    left join ${instances} i on i.instance_id = u.instance_id
    left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
    where coalesce(e.status, 'Running') not in ('Completed', 'Failed')
      or u.instance_id in (select instance_id from ${instanceLocks} where ${own})
      or u.instance_id in (select instance_id from ${orchestratorQueue} where ${own})`;
  const keys = ctx.statement(
    'fence: keys',
    () => sql`select pg_advisory_xact_lock(k.key) from (
        select distinct hashtext(w.instance_id) as key from (${wanted}) w order by 1 limit ${sql.raw(String(MAX_KEYS))}
      ) k`,
    noRow,
  );
  const rows = ctx.statement(
    'fence: lock rows',
    () => sql`insert into ${instanceLocks} as l (instance_id, lock_token, locked_until, locked_at)
      select w.instance_id, ${value('tokenPrefix')}::text || w.instance_id, ${value('untilMs')}::bigint, ${value('nowMs')}::bigint
      from (${wanted}) w order by w.instance_id collate "C"
      on conflict (instance_id) do update
        set lock_token = excluded.lock_token, locked_until = excluded.locked_until, locked_at = excluded.locked_at`,
    noRow,
  );
  return Promise.all([
    tx.run(keys, { ids }),
    tx.run(rows, { ids, nowMs, untilMs: nowMs + LOCK_MS, tokenPrefix: newTokenPrefix() }),
  ]);
}
