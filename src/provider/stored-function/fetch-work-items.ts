import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../drizzle/context.js';
import type { SqlValues } from '../drizzle/executor.js';
import { decodeMessages } from '../drizzle/operations/decode-messages.js';
import { fetchWorkItems as fetchByQueries } from '../drizzle/operations/fetch-work-items.js';
import { setAsideWorkItems } from '../drizzle/operations/set-aside-work-items.js';
import { integerCell, textCell } from '../drizzle/statement.js';
import { readStatement } from '../drizzle/transaction.js';
import type { FetchWorkItems, LockedWorkItem, SessionConfig, TagFilter } from '../provider.js';
import { ProviderError } from '../provider-error.js';
import { callFunction } from './call.js';

const OPERATION = 'fetch_work_item';

/**
 * Locks up to `limit` worker items in queue order, one call each.
 * @throws ProviderError when nothing could be fetched
 */
export async function fetchWorkItems(ctx: ProviderContext, params: FetchWorkItems): Promise<LockedWorkItem[]> {
  const { limit, tagFilter } = params;
  const items: LockedWorkItem[] = [];
  if (tagFilter.kind === 'none') return items;
  try {
    const sessions = await NewSessions.of(ctx, params);
    while (items.length < limit && sessions.mayClaim) {
      const row = await fetchOne(ctx, params);
      if (row === undefined) return items;
      const item = await readItem(ctx, row);
      if (item === undefined) continue;
      sessions.note(item);
      items.push(item);
    }
    // The function cannot be told to leave new sessions alone.
    if (items.length < limit) {
      items.push(...(await fetchByQueries(ctx, { ...params, limit: limit - items.length, maxNewSessions: 0 })));
    }
  } catch (error) {
    if (items.length === 0) throw error;
    // What is locked already is the caller's; the next fetch meets the same failure.
    ctx.logger.warn({ error }, 'a fetch of work items ended early');
  }
  return items;
}

/** How many sessions the batch may still claim, where that is bounded. */
class NewSessions {
  private constructor(
    private left: number,
    private readonly owned: Set<string>,
  ) {}

  static async of(ctx: ProviderContext, { session, maxNewSessions }: FetchWorkItems): Promise<NewSessions> {
    if (session === undefined || maxNewSessions === undefined) return new NewSessions(Infinity, new Set());
    return new NewSessions(maxNewSessions, new Set(maxNewSessions > 0 ? await ownedSessions(ctx, session) : []));
  }

  get mayClaim(): boolean {
    return this.left > 0;
  }

  note({ item }: LockedWorkItem): void {
    const sessionId = item.kind === 'ActivityExecute' ? item.sessionId : undefined;
    if (sessionId === undefined || this.owned.has(sessionId)) return;
    this.owned.add(sessionId);
    this.left--;
  }
}

function ownedSessions(ctx: ProviderContext, { ownerId }: SessionConfig): Promise<string[]> {
  const statement = ctx.statement(
    'owned sessions',
    () => sql`select session_id from ${ctx.tables.sessions}
      where worker_id = ${sql.placeholder('ownerId')} and locked_until > ${sql.placeholder('now')}::bigint`,
    ([sessionId]) => textCell(sessionId),
  );
  return readStatement(ctx, OPERATION, statement, (nowMs) => ({ ownerId, now: nowMs }));
}

interface FetchedRow {
  readonly text: string;
  readonly lockToken: string;
  readonly attemptCount: number;
}

async function fetchOne(ctx: ProviderContext, params: FetchWorkItems): Promise<FetchedRow | undefined> {
  const { lockTimeoutMs, session, tagFilter } = params;
  const [row] = await callFunction(
    ctx,
    {
      name: OPERATION,
      values: (nowMs) => ({
        p_now_ms: nowMs,
        p_lock_timeout_ms: Math.ceil(lockTimeoutMs),
        p_owner_id: session?.ownerId ?? null,
        p_session_lock_timeout_ms: session ? Math.ceil(session.lockTimeoutMs) : null,
        ...tagValues(tagFilter),
      }),
      decode: ([text, lockToken, attempts]): FetchedRow => ({
        text: textCell(text),
        lockToken: textCell(lockToken),
        attemptCount: integerCell(attempts),
      }),
    },
    { withinMs: lockTimeoutMs },
  );
  return row;
}

const TAG_MODES = {
  defaultOnly: 'default_only',
  any: 'any',
  none: 'none',
  tags: 'tags',
  defaultAnd: 'default_and',
} as const;

function tagValues(filter: TagFilter): SqlValues {
  return {
    p_tag_filter: 'tags' in filter ? filter.tags : null,
    p_tag_mode: TAG_MODES[filter.kind],
  };
}

/** `undefined` when it cannot be read; then it is not locked any more. */
async function readItem(ctx: ProviderContext, row: FetchedRow): Promise<LockedWorkItem | undefined> {
  const { lockToken, attemptCount } = row;
  const {
    readable: [readable],
    unreadable,
  } = decodeMessages([{ ...row, rowId: 0 }]);
  if (readable) {
    const { item } = readable;
    return { item, instance: item.kind === 'ActivityExecute' ? item.instance : null, lockToken, attemptCount };
  }
  try {
    const rowId = await rowOf(ctx, lockToken);
    await setAsideWorkItems(
      ctx,
      OPERATION,
      unreadable.map((item) => ({ ...item, rowId, lockToken })),
    );
  } catch (error) {
    if (!ProviderError.is(error)) throw error;
    ctx.logger.error({ error }, 'an unreadable worker item stays locked until its lock expires');
  }
  return undefined;
}

/** The id of a locked row, for the report: a token of native's does not tell it. */
async function rowOf(ctx: ProviderContext, lockToken: string): Promise<number> {
  const statement = ctx.statement(
    'row of a worker token',
    () => sql`select id from ${ctx.tables.workerQueue} where lock_token = ${sql.placeholder('lockToken')}`,
    ([id]) => integerCell(id),
  );
  const [id = 0] = await readStatement(ctx, OPERATION, statement, { lockToken });
  return id;
}
