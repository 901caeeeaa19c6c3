import { type SQL, sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { moment } from './moment.js';
import { unindexed } from './unindexed.js';
import { isWithinRange, rangeValues, type VersionRange } from './version-range.js';

/*
 * Which rows of the orchestrator queue are ready, in the parts that looks are made of.
 * A window is cut from the queue alone, in index order, before anything is joined:
 * filtering before the limit joins the whole backlog.
 */

/** What every look needs to know. */
export interface LookParams {
  readonly nowMs: Ms;
  readonly range: VersionRange | 'any';
  /** Instances whose rows are passed over. */
  readonly except: readonly string[];
}

/**
 * Sizes of windows: constants in the texts, because with a limit that is a parameter the
 * planner expects a tenth of the backlog. In small steps, because a grab locks all of its
 * window: a native fetcher spins while a row is locked whose advisory lock is free (P:T-5).
 */
export const WINDOWS = [1, 2, 5, 10, 20, 50, 100, 200, 500] as const;
export type Window = (typeof WINDOWS)[number];

const value = (name: string) => sql.placeholder(name);
const isVisible = sql`q.visible_at <= ${value('nowAt')}`;
const isWanted = sql`q.instance_id <> all(${value('except')}::text[])`;
// Each is the predicate of a partial index.
export const isFree: SQL = sql`q.lock_token is null and ${isVisible} and ${isWanted}`;
export const isExpired: SQL = sql`q.lock_token is not null and q.locked_until <= ${value('nowMs')} and ${unindexed(isVisible)} and ${isWanted}`;

/**
 * The tables that say whether the instance of a row of `w` may run. Lock rows are
 * joined on the id alone and judged afterwards: with the time in the join condition the
 * planner expects one live lock and compares every pair.
 */
export function joinState({ tables }: ProviderContext, range: VersionRange | 'any'): SQL {
  const locks = sql`left join ${tables.instanceLocks} l on l.instance_id = w.instance_id`;
  if (range === 'any') return locks;
  return sql`${locks} left join ${tables.instances} i on i.instance_id = w.instance_id
    left join ${tables.executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id`;
}

/** No live lock, and the version fits; over {@link joinState}. */
export function isEligible(range: VersionRange | 'any'): SQL {
  const isUnlocked = sql`(l.instance_id is null or l.locked_until <= ${value('nowMs')})`;
  return range === 'any' ? isUnlocked : sql`${isUnlocked} and ${isWithinRange()}`;
}

/** For the key of a statement. */
export function kindOf(range: VersionRange | 'any'): string {
  return range === 'any' ? 'of any version' : 'within a range';
}

/** The values of the placeholders of this file. */
export function lookValues({ nowMs, range, except }: LookParams): SqlValues {
  return { nowMs, nowAt: moment(nowMs), except, ...(range === 'any' ? {} : rangeValues(range)) };
}
