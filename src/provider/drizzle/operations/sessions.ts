import { sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { textCell } from '../statement.js';
import { runStatement } from '../transaction.js';

const value = (name: string) => sql.placeholder(name);

export interface RenewSessionLock {
  readonly ownerIds: readonly string[];
  readonly extendMs: Ms;
  /** Sessions without activity for so long are not renewed; 0 renews none. */
  readonly idleTimeoutMs: Ms;
}

/** Prolongs the live sessions of these owners. @returns how many */
export async function renewSessionLock(
  ctx: ProviderContext,
  { ownerIds, extendMs, idleTimeoutMs }: RenewSessionLock,
): Promise<number> {
  if (ownerIds.length === 0) return 0;
  const statement = ctx.statement(
    'renew session lock',
    () => sql`update ${ctx.tables.sessions} set locked_until = ${value('lockedUntil')}::bigint
      where worker_id = any(${value('ownerIds')}::text[]) and locked_until > ${value('now')}::bigint
        and last_activity_at > ${value('activeAfter')}::bigint
      returning session_id`,
    ([id]) => textCell(id),
  );
  const renewed = await runStatement(
    ctx,
    'renew_session_lock',
    statement,
    (nowMs) => ({ ownerIds, now: nowMs, lockedUntil: Math.ceil(nowMs + extendMs), activeAfter: Math.floor(nowMs - idleTimeoutMs) }),
    { withinMs: extendMs, repeatable: true },
  );
  return renewed.length;
}

/** Removes expired sessions that no queued activity refers to, whoever owned them. @returns how many */
export async function cleanupOrphanedSessions(ctx: ProviderContext): Promise<number> {
  const { sessions, workerQueue } = ctx.tables;
  const statement = ctx.statement(
    'clean up orphaned sessions',
    () => sql`delete from ${sessions} where locked_until < ${value('now')}::bigint and session_id not in
        (select session_id from ${workerQueue} where session_id is not null)
      returning session_id`,
    ([id]) => textCell(id),
  );
  const removed = await runStatement(ctx, 'cleanup_orphaned_sessions', statement, (nowMs) => ({ now: nowMs }));
  return removed.length;
}
