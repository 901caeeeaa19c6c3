import { sql } from 'drizzle-orm';
import { eventFromJson, type HistoryEvent } from '../../wire/event.js';
import { workItemFromJson, type WorkItem } from '../../wire/work-item.js';
import { WireError } from '../../wire/wire-error.js';
import type { ProviderContext } from '../drizzle/context.js';
import { decodeMessages } from '../drizzle/operations/decode-messages.js';
import { UNKNOWN_NAME } from '../drizzle/operations/orchestration-item.js';
import { setAsideMessages } from '../drizzle/operations/set-aside-messages.js';
import { rangeOf, type VersionRange } from '../drizzle/operations/version-range.js';
import { type Cell, integerCell, textCell } from '../drizzle/statement.js';
import { readStatement } from '../drizzle/transaction.js';
import type {
  FetchedOrchestrationItems,
  FetchOrchestrationItems,
  KvSnapshot,
  LockedOrchestrationItem,
} from '../provider.js';
import { ProviderError } from '../provider-error.js';
import { ackTurn, emptyTurn } from './ack-orchestration-items.js';
import { abandonValues, callFunction } from './call.js';
import { countLostInstances } from './lost-instances.js';

const OPERATION = 'fetch_orchestration_item';

/**
 * Locks up to `limit` ready instances, one call each: several in one transaction would
 * pile up advisory locks (P:T-6). The history is always full.
 * @throws ProviderError when nothing could be fetched
 */
export async function fetchOrchestrationItems(
  ctx: ProviderContext,
  { limit, lockTimeoutMs, filter }: FetchOrchestrationItems,
): Promise<FetchedOrchestrationItems> {
  const range = rangeOf(filter);
  const items: LockedOrchestrationItem[] = [];
  if (range === undefined) return { items, lost: 0 };
  try {
    while (items.length < limit) {
      const row = await fetchOne(ctx, lockTimeoutMs, range);
      if (row === undefined) return { items, lost: await countLostInstances(ctx, OPERATION, range) };
      const item = await deliverable(ctx, row);
      if (item) items.push(item);
    }
  } catch (error) {
    if (items.length === 0) throw error;
    // What is locked already is the caller's; the next fetch meets the same failure.
    ctx.logger.warn({ error }, 'a fetch ended early');
  }
  return { items, lost: 0 };
}

/** A row of the function's answer, with its JSON parsed and not looked into. */
interface FetchedRow {
  readonly instance: string;
  readonly orchestrationName: string;
  readonly version: string;
  readonly executionId: number;
  readonly history: readonly unknown[];
  readonly messages: readonly unknown[];
  readonly lockToken: string;
  readonly attemptCount: number;
  readonly kvSnapshot: KvSnapshot;
}

async function fetchOne(
  ctx: ProviderContext,
  lockTimeoutMs: number,
  range: VersionRange | 'any',
): Promise<FetchedRow | undefined> {
  const [row] = await callFunction(
    ctx,
    {
      name: OPERATION,
      values: (nowMs) => ({
        p_now_ms: nowMs,
        p_lock_timeout_ms: Math.ceil(lockTimeoutMs),
        p_min_version_packed: range === 'any' ? null : packed(range.min),
        p_max_version_packed: range === 'any' ? null : packed(range.max),
      }),
      decode: decodeRow,
    },
    { withinMs: lockTimeoutMs },
  );
  return row;
}

/** A version as the function compares it; parts of 1,000 and more collide (P:T-29). */
function packed({ major, minor, patch }: VersionRange['min']): number {
  return major * 1_000_000 + minor * 1_000 + patch;
}

function decodeRow([
  instance,
  name,
  version,
  execution,
  history,
  messages,
  token,
  attempts,
  kv,
]: readonly Cell[]): FetchedRow {
  return {
    instance: textCell(instance),
    orchestrationName: textCell(name),
    version: textCell(version),
    executionId: integerCell(execution),
    history: JSON.parse(textCell(history)) as unknown[],
    messages: JSON.parse(textCell(messages)) as unknown[],
    lockToken: textCell(token),
    attemptCount: integerCell(attempts),
    kvSnapshot: decodeSnapshot(textCell(kv)),
  };
}

function decodeSnapshot(json: string): KvSnapshot {
  const entries = Object.entries(JSON.parse(json) as Record<string, { value: string; last_updated_at_ms: number }>);
  return new Map(
    entries.map(([key, { value, last_updated_at_ms }]) => [key, { value, lastUpdatedAtMs: last_updated_at_ms }]),
  );
}

/** `undefined` when nothing of the instance is for the caller; then it is not locked any more. */
async function deliverable(ctx: ProviderContext, row: FetchedRow): Promise<LockedOrchestrationItem | undefined> {
  const messages = readAll(row.messages, workItemFromJson);
  if (messages instanceof WireError) {
    await dealWithUnreadable(ctx, row);
    return undefined;
  }
  const events = readAll(row.history, eventFromJson);
  const item = {
    ...row,
    messages,
    history: { kind: 'full', events: events instanceof WireError ? [] : events },
    ...(events instanceof WireError ? { historyError: `Failed to deserialize history: ${events.message}` } : {}),
  } as const;
  if (!isOrphanMailbox(item)) return item;
  await ackTurn(ctx, { ...emptyTurn, ...item });
  return undefined;
}

function readAll<T>(values: readonly unknown[], read: (value: unknown) => T): T[] | WireError {
  try {
    return values.map(read);
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

/** Messages to a mailbox of an instance that does not exist: nobody will ever read them (provider.md 3.1.2). */
function isOrphanMailbox(item: {
  readonly orchestrationName: string;
  readonly messages: readonly WorkItem[];
  readonly history: { readonly events: readonly HistoryEvent[] };
  readonly historyError?: string;
}): boolean {
  return (
    item.orchestrationName === UNKNOWN_NAME &&
    item.historyError === undefined &&
    item.history.events.length === 0 &&
    item.messages.every(({ kind }) => kind === 'QueueMessage')
  );
}

/** What no function can do: the rows are looked at one by one, and the spent ones are set aside. */
async function dealWithUnreadable(ctx: ProviderContext, { instance, lockToken }: FetchedRow): Promise<void> {
  const claimed = ctx.statement(
    'claimed messages',
    () => sql`select id, work_item, attempt_count from ${ctx.tables.orchestratorQueue}
      where lock_token = ${sql.placeholder('lockToken')} order by id`,
    ([id, text, attempts]) => ({ rowId: integerCell(id), text: textCell(text), attemptCount: integerCell(attempts) }),
  );
  try {
    const rows = await readStatement(ctx, OPERATION, claimed, { lockToken });
    const goesOn = await setAsideMessages(ctx, { operation: OPERATION, instance, lockToken, ...decodeMessages(rows) });
    // The rest is fetched anew, so that the function works out again what the instance is.
    if (goesOn) {
      const name = 'abandon_orchestration_item';
      await callFunction(ctx, { name, values: abandonValues(lockToken, { ignoreAttempt: true }) });
    }
  } catch (error) {
    if (!ProviderError.is(error)) throw error;
    ctx.logger.error({ instance, error }, 'an instance with an unreadable message stays locked until its lock expires');
  }
}
