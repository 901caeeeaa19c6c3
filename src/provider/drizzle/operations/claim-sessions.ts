import { sql } from 'drizzle-orm';
import type { Ms, SessionConfig } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { Executor } from '../executor.js';
import { noRow, type Statement, textCell } from '../statement.js';
import type { ClaimedWork } from './claim-work-items.js';

/**
 * Takes or extends the sessions of claimed rows. A session that another worker won at
 * the same moment is lost, and its rows go back as if they had never been claimed
 * (P:T-19).
 * @returns the rows that stay claimed
 */
export async function claimSessions(
  ctx: ProviderContext,
  tx: Executor,
  claimed: readonly ClaimedWork[],
  { session, nowMs }: { readonly session: SessionConfig; readonly nowMs: Ms },
): Promise<readonly ClaimedWork[]> {
  const sessions = [...new Set(claimed.flatMap(({ sessionId }) => sessionId ?? []))];
  if (sessions.length === 0) return claimed;
  const rows = await tx.run(upsertSessions(ctx), {
    sessions,
    ownerId: session.ownerId,
    untilMs: nowMs + session.lockTimeoutMs,
    nowMs,
  });
  const ours = new Set(rows.filter(({ ownerId }) => ownerId === session.ownerId).map(({ sessionId }) => sessionId));
  const isOurs = ({ sessionId }: ClaimedWork) => sessionId === null || ours.has(sessionId);
  const lost = claimed.filter((row) => !isOurs(row));
  if (lost.length > 0) await tx.run(takeBack(ctx), { rowIds: lost.map(({ rowId }) => rowId) });
  return claimed.filter(isOurs);
}

const value = (name: string) => sql.placeholder(name);

/** In order of the ids: two fetches that claim the same sessions meet at the first one. */
function upsertSessions(ctx: ProviderContext): Statement<{ sessionId: string; ownerId: string }> {
  return ctx.statement(
    'fetch work: sessions',
    () => sql`with claimed as (
        insert into ${ctx.tables.sessions} as s (session_id, worker_id, locked_until, last_activity_at)
        select u.session_id, ${value('ownerId')}::text, ${value('untilMs')}::bigint, ${value('nowMs')}::bigint
        from unnest(${value('sessions')}::text[]) as u(session_id)
        order by u.session_id collate "C"
        on conflict (session_id) do update set worker_id = excluded.worker_id, locked_until = excluded.locked_until,
          last_activity_at = excluded.last_activity_at
          where s.locked_until <= ${value('nowMs')} or s.worker_id = excluded.worker_id
        returning s.session_id, s.worker_id
      )
      select session_id, worker_id from claimed`,
    ([sessionId, ownerId]) => ({ sessionId: textCell(sessionId), ownerId: textCell(ownerId) }),
  );
}

function takeBack(ctx: ProviderContext): Statement<undefined> {
  return ctx.statement(
    'fetch work: take back',
    () => sql`update ${ctx.tables.workerQueue}
      set lock_token = null, locked_until = null, attempt_count = greatest(attempt_count - 1, 0)
      where id = any(${value('rowIds')}::bigint[])`,
    noRow,
  );
}
