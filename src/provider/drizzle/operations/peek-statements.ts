import { type SQL, sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { booleanCell, type Cell, type Statement, textCell } from '../statement.js';
import { moment } from './moment.js';
import { isWithinRange, rangeValues, type VersionRange } from './version-range.js';

/** A row of the orchestrator queue as a look shows it. */
export interface PeekedRow {
  readonly id: string;
  readonly instance: string;
  readonly visibleAt: string;
  /** Unix ms at which the row's lock expired; null on a row without a lock. */
  readonly lockedUntil: string | null;
  /** Whether `instance_locks` has a row for the instance, live or expired. */
  readonly hasLockRow: boolean;
  /** No live lock on the instance, and its version fits. */
  readonly isEligible: boolean;
}

/** What both looks need to know. */
export interface LookParams {
  readonly nowMs: Ms;
  readonly range: VersionRange | 'any';
  /** Instances whose rows are passed over. */
  readonly except: readonly string[];
}

/** Behind which row each part of a window begins. */
export interface WindowPosition {
  readonly readyAt: string;
  readonly readyId: string;
  readonly expiredUntil: string;
  readonly expiredId: string;
}

/** Before all rows. */
export const START: WindowPosition = {
  readyAt: '0001-01-01T00:00:00Z',
  readyId: '0',
  expiredUntil: '0',
  expiredId: '0',
};

const value = (name: string) => sql.placeholder(name);
const isVisible = sql`q.visible_at <= ${value('nowAt')}`;
const isPassedOver = sql`q.instance_id <> all(${value('except')}::text[])`;
// Each is the predicate of a partial index, and in the order of that index.
const isFree = sql`q.lock_token is null and ${isVisible}`;
const isExpired = sql`q.lock_token is not null and q.locked_until <= ${value('nowMs')} and ${isVisible}`;

/** The oldest rows, locked; rows that others hold are passed over. */
export function firstLook(ctx: ProviderContext, size: number, range: VersionRange | 'any'): Statement<PeekedRow> {
  return ctx.statement(
    `fetch: first look ${size} ${kindOf(range)}`,
    () => {
      const queue = ctx.tables.orchestratorQueue;
      return look(ctx, range, {
        ready: sql`select q.id, q.instance_id, q.visible_at, q.locked_until from ${queue} q
          where ${isFree} and ${isPassedOver}
          order by q.visible_at, q.id limit ${sql.raw(String(size))} for update skip locked`,
        expired: sql`select q.id, q.instance_id, q.visible_at, q.locked_until from ${queue} q
          where ${isExpired} and ${isPassedOver}
          order by q.locked_until limit ${sql.raw(String(size))} for update skip locked`,
      });
    },
    peekedRow,
  );
}

/** A window of rows from a position on. Locks nothing and sees what others hold. */
export function nextLook(ctx: ProviderContext, size: number, range: VersionRange | 'any'): Statement<PeekedRow> {
  return ctx.statement(
    `fetch: next look ${size} ${kindOf(range)}`,
    () => {
      const queue = ctx.tables.orchestratorQueue;
      return look(ctx, range, {
        // Not a comparison of rows, which pg-mem cannot plan; the first half is the condition of the index.
        ready: sql`select q.id, q.instance_id, q.visible_at, q.locked_until from ${queue} q
          where ${isFree} and ${isPassedOver} and q.visible_at >= ${value('readyAt')}
            and (q.visible_at > ${value('readyAt')} or q.id > ${value('readyId')})
          order by q.visible_at, q.id limit ${sql.raw(String(size))}`,
        expired: sql`select q.id, q.instance_id, q.visible_at, q.locked_until from ${queue} q
          where ${isExpired} and ${isPassedOver} and q.locked_until >= ${value('expiredUntil')}
            and (q.locked_until > ${value('expiredUntil')} or q.id > ${value('expiredId')})
          order by q.locked_until, q.id limit ${sql.raw(String(size))}`,
      });
    },
    peekedRow,
  );
}

/**
 * The window is cut from the queue alone, in index order, before anything is joined:
 * filtering before the limit joins the whole backlog. The lock rows are joined on the
 * id alone, with the time in the result: with the time in the join condition the
 * planner expects one live lock and compares every pair.
 */
function look(ctx: ProviderContext, range: VersionRange | 'any', parts: { ready: SQL; expired: SQL }): SQL {
  const { instanceLocks, instances, executions } = ctx.tables;
  const isUnlocked = sql`(l.instance_id is null or l.locked_until <= ${value('nowMs')})`;
  const versions = sql`left join ${instances} i on i.instance_id = w.instance_id
    left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id`;
  return sql`select w.id, w.instance_id, w.visible_at, w.locked_until, l.instance_id is not null as has_lock_row,
      ${range === 'any' ? isUnlocked : sql`${isUnlocked} and ${isWithinRange()}`} as is_eligible
    from (select r.* from (${parts.ready}) r union all select x.* from (${parts.expired}) x) w
    left join ${instanceLocks} l on l.instance_id = w.instance_id
    ${range === 'any' ? sql`` : versions}
    order by w.visible_at, w.id`;
}

export function lookValues({ nowMs, range, except }: LookParams): SqlValues {
  return { nowMs, nowAt: moment(nowMs), except, ...(range === 'any' ? {} : rangeValues(range)) };
}

function kindOf(range: VersionRange | 'any'): string {
  return range === 'any' ? 'of any version' : 'within a range';
}

function peekedRow([id, instance, visibleAt, lockedUntil, hasLockRow, isEligible]: readonly Cell[]): PeekedRow {
  return {
    id: textCell(id),
    instance: textCell(instance),
    visibleAt: textCell(visibleAt),
    lockedUntil: lockedUntil ?? null,
    hasLockRow: booleanCell(hasLockRow),
    isEligible: booleanCell(isEligible),
  };
}
