import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';
import { booleanCell, type Cell, type Statement, textCell } from '../statement.js';
import { isEligible, isExpired, isFree, joinState, kindOf, type LookParams, type Window } from './ready-rows.js';

/** A row of the orchestrator queue as a look shows it. */
export interface PeekedRow {
  readonly id: string;
  readonly instance: string;
  readonly visibleAt: string;
  /** Unix ms at which the row's lock expired; null on a row without a lock. */
  readonly lockedUntil: string | null;
  /** Whether `instance_locks` has a row for the instance, live or expired. */
  readonly hasLockRow: boolean;
  readonly isEligible: boolean;
}

/** Behind which row each part of a window begins. */
export type WindowPosition = Readonly<Record<'readyAt' | 'readyId' | 'expiredUntil' | 'expiredId', string>>;

/** Before all rows. */
export const START: WindowPosition = {
  readyAt: '0001-01-01T00:00:00Z',
  readyId: '0',
  expiredUntil: '0',
  expiredId: '0',
};

/** A window of rows from a position on, oldest first. Locks nothing, and sees what others hold. */
export function peekStatement(ctx: ProviderContext, size: Window, range: LookParams['range']): Statement<PeekedRow> {
  const value = (name: string) => sql.placeholder(name);
  const queue = ctx.tables.orchestratorQueue;
  const limit = sql.raw(String(size));
  return ctx.statement(
    `fetch: peek ${size} ${kindOf(range)}`,
    // Not a comparison of rows, which pg-mem cannot plan; the first half is the condition of the index.
    () => sql`select w.id, w.instance_id, w.visible_at, w.locked_until, l.instance_id is not null as has_lock_row,
        ${isEligible(range)} as is_eligible
      from (
        select r.* from (select q.id, q.instance_id, q.visible_at, q.locked_until from ${queue} q
          where ${isFree} and q.visible_at >= ${value('readyAt')}
            and (q.visible_at > ${value('readyAt')} or q.id > ${value('readyId')})
          order by q.visible_at, q.id limit ${limit}) r
        union all
        select x.* from (select q.id, q.instance_id, q.visible_at, q.locked_until from ${queue} q
          where ${isExpired} and q.locked_until >= ${value('expiredUntil')}
            and (q.locked_until > ${value('expiredUntil')} or q.id > ${value('expiredId')})
          order by q.locked_until, q.id limit ${limit}) x
      ) w
      ${joinState(ctx, range)}
      order by w.visible_at, w.id`,
    ([id, instance, visibleAt, lockedUntil, hasLockRow, eligible]: readonly Cell[]) => ({
      id: textCell(id),
      instance: textCell(instance),
      visibleAt: textCell(visibleAt),
      lockedUntil: lockedUntil ?? null,
      hasLockRow: booleanCell(hasLockRow),
      isEligible: booleanCell(eligible),
    }),
  );
}
