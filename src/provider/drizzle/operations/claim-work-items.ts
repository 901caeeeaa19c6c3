import { type SQL, sql } from 'drizzle-orm';
import type { Ms, SessionConfig, TagFilter } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { Executor, SqlValues } from '../executor.js';
import { type Cell, integerCell, type Statement, textCell } from '../statement.js';
import type { StoredMessage } from './decode-messages.js';
import { newTokenPrefix } from '../../lock-token.js';
import { moment } from './moment.js';
import { unindexed } from './unindexed.js';

/** A worker item that is ours now, not parsed yet. */
export interface ClaimedWork extends StoredMessage {
  readonly instance: string | null;
  readonly sessionId: string | null;
  readonly lockToken: string;
}

/**
 * Which rows a claim may take by their session: those without one, also those of
 * sessions that the owner holds, or also those of sessions that nobody holds.
 */
export type SessionReach = 'none' | 'owned' | 'owned and free';

export interface WorkClaimParams {
  readonly limit: number;
  readonly window: WorkWindow;
  readonly nowMs: Ms;
  readonly lockTimeoutMs: Ms;
  readonly tagFilter: Exclude<TagFilter, { kind: 'none' }>;
  readonly reach: SessionReach;
  readonly session: SessionConfig | undefined;
  /** How many free sessions the claim may take rows of; absent: any number. */
  readonly maxNewSessions: number | undefined;
}

/** Sizes of windows: constants in the texts, 10 times the rows that are wanted where that is possible. */
export const WORK_WINDOWS = [10, 100, 500] as const;
export type WorkWindow = (typeof WORK_WINDOWS)[number];

export interface WorkClaim {
  /** In queue order. */
  readonly claimed: readonly ClaimedWork[];
  /** Whether there may be more behind what this claim looked at. */
  readonly windowWasFull: boolean;
}

/** Claims rows of one window; rows that others hold are passed over, so that nothing waits. */
export async function claimWorkItems(ctx: ProviderContext, tx: Executor, params: WorkClaimParams): Promise<WorkClaim> {
  const tokenPrefix = newTokenPrefix();
  const rows = await tx.run(claimStatement(ctx, params), claimValues(params, tokenPrefix));
  const claimed: ClaimedWork[] = [];
  let seen = 0;
  for (const row of rows) {
    if ('seen' in row) seen = row.seen;
    else claimed.push({ ...row, lockToken: tokenPrefix + String(row.rowId) });
  }
  claimed.sort((a, b) => a.rowId - b.rowId);
  return { claimed, windowWasFull: seen >= params.window };
}

type ClaimRow = Omit<ClaimedWork, 'lockToken'> | { readonly seen: number };

function claimValues(params: WorkClaimParams, tokenPrefix: string): SqlValues {
  const { limit, nowMs, lockTimeoutMs, tagFilter, session, maxNewSessions } = params;
  return {
    limit,
    nowMs,
    nowAt: moment(nowMs),
    untilMs: nowMs + lockTimeoutMs,
    tokenPrefix,
    ...('tags' in tagFilter ? { tags: tagFilter.tags } : {}),
    ...(session === undefined ? {} : { ownerId: session.ownerId }),
    ...(maxNewSessions === undefined ? {} : { maxNewSessions }),
  };
}

const value = (name: string) => sql.placeholder(name);
const isVisible = sql`q.visible_at <= ${value('nowAt')}`;

/**
 * Looks and claims in one statement. The window is filled by both partial indexes in
 * their order, tags and sessions judged on the way; what is taken of it goes by id,
 * which is native's order. `picked` judges the row again, because SKIP LOCKED may lock
 * one that has changed since the window saw it.
 */
function claimStatement(ctx: ProviderContext, params: WorkClaimParams): Statement<ClaimRow> {
  const { window, tagFilter, reach, maxNewSessions } = params;
  const isBounded = reach === 'owned and free' && maxNewSessions !== undefined;
  const queue = ctx.tables.workerQueue;
  return ctx.statement(
    `fetch work: ${window} ${tagFilter.kind} ${reach}${isBounded ? ' bounded' : ''}`,
    () => sql`with seen as (${windowOf(ctx, params)}), ${isBounded ? newSessions(ctx) : sql``}picked as (
        select q.id from ${queue} q
        where q.id in (select id from seen) and ${unindexed(isVisible)}
          and (q.lock_token is null or q.locked_until <= ${value('nowMs')}) ${isBounded ? isOfPickedSession(ctx) : sql``}
        order by q.id limit ${value('limit')} for update skip locked
      ), claimed as (
        update ${queue}
        set lock_token = ${value('tokenPrefix')}::text || id::text, locked_until = ${value('untilMs')}, attempt_count = attempt_count + 1
        where id in (select id from picked)
        returning id, instance_id, session_id, work_item, attempt_count
      )
      select id, instance_id, session_id, work_item, attempt_count::bigint from claimed
      union all
      select null::bigint, null::text, null::text, null::text, count(*) from seen`,
    claimRow,
  );
}

function windowOf(ctx: ProviderContext, { window, tagFilter, reach }: WorkClaimParams): SQL {
  const queue = ctx.tables.workerQueue;
  const size = sql.raw(String(window));
  const fits = sql`${hasTag(tagFilter)} and ${isWithinReach(ctx, reach)}`;
  return sql`select r.* from (select q.id, q.session_id from ${queue} q
      where q.lock_token is null and ${isVisible} and ${fits}
      order by q.visible_at, q.id limit ${size}) r
    union all
    select x.* from (select q.id, q.session_id from ${queue} q
      where q.lock_token is not null and q.locked_until <= ${value('nowMs')} and ${unindexed(isVisible)} and ${fits}
      order by q.locked_until limit ${size}) x`;
}

function hasTag(filter: WorkClaimParams['tagFilter']): SQL {
  switch (filter.kind) {
    case 'any':
      return sql`true`;
    case 'defaultOnly':
      return sql`q.tag is null`;
    case 'tags':
      return sql`q.tag = any(${value('tags')}::text[])`;
    case 'defaultAnd':
      return sql`(q.tag is null or q.tag = any(${value('tags')}::text[]))`;
  }
}

/**
 * Sessions are looked up in a list that is made once for the statement, never by a join:
 * a join may cost the order of the index, and then the whole backlog is read and sorted.
 */
function isWithinReach(ctx: ProviderContext, reach: SessionReach): SQL {
  switch (reach) {
    case 'none':
      return sql`q.session_id is null`;
    case 'owned':
      return sql`(q.session_id is null or q.session_id in (${liveSessions(ctx, sql`=`)}))`;
    case 'owned and free':
      return sql`(q.session_id is null or q.session_id not in (${liveSessions(ctx, sql`<>`)}))`;
  }
}

function liveSessions(ctx: ProviderContext, comparison: SQL): SQL {
  return sql`select s.session_id from ${ctx.tables.sessions} s
    where s.locked_until > ${value('nowMs')} and s.worker_id ${comparison} ${value('ownerId')}`;
}

/** The first free sessions of the window, as many as may be taken. */
function newSessions(ctx: ProviderContext): SQL {
  return sql`new_sessions as (
      select session_id from seen
      where session_id is not null and session_id not in (${liveSessions(ctx, sql`=`)})
      group by session_id order by min(id) limit ${value('maxNewSessions')}
    ), `;
}

function isOfPickedSession(ctx: ProviderContext): SQL {
  return sql`and (q.session_id is null or q.session_id in (${liveSessions(ctx, sql`=`)})
    or q.session_id in (select session_id from new_sessions))`;
}

function claimRow([rowId, instance, sessionId, text, number]: readonly Cell[]): ClaimRow {
  if (rowId === null) return { seen: integerCell(number) };
  return {
    rowId: integerCell(rowId),
    instance: instance ?? null,
    sessionId: sessionId ?? null,
    text: textCell(text),
    attemptCount: integerCell(number),
  };
}
