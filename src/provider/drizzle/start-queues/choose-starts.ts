import { type SQL, sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { StartLimits } from '../../start-queues.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { type Cell, integerCell, optionalIntegerCell, textCell } from '../statement.js';
import { holdsSlot, isWaiting, value } from './queue-rows.js';

/** Starts admitted in one transaction at most. */
export const MAX_ADMITTED = 200;
/** So many of the starts whose turn it is are looked at, before keys are gone through one by one. */
const WINDOW = 500;
/** Keys gone through in one look at most. */
const MAX_KEYS = 2_000;

/** What is chosen from, and how much. */
export interface Choice {
  readonly queue: string;
  readonly limits: StartLimits;
  /** At most {@link MAX_ADMITTED}. */
  readonly slots: number;
  readonly nowMs: Ms;
}

/** Rows of `ddz_queued_starts` in the order of their turn. */
export interface Chosen {
  readonly ids: readonly number[];
  /** Not everything that may have room was looked at. */
  readonly isPart: boolean;
  /** The key behind which the next look goes on; absent: at the beginning. */
  readonly nextKey?: string | undefined;
}

/**
 * The starts that are admitted next. Without limits per key: the first ones. With such: the
 * first ones whose key has room among the next {@link WINDOW}; and if keys without room fill
 * these, those that are found key by key, by an index that has the starts of each key in
 * their order. Of what has no room, no more is ever read than the window.
 */
export async function chooseStarts(
  ctx: ProviderContext,
  tx: Transaction,
  choice: Choice,
  fromKey: string | undefined,
): Promise<Chosen> {
  const { concurrencyPerKey, ratePerKey } = choice.limits;
  if (concurrencyPerKey === null && ratePerKey === null) {
    return { ids: await tx.run(firstStarts(ctx), valuesOf(choice)), isPart: false };
  }
  const [{ ids, seen } = { ids: [], seen: 0 }] = await tx.run(firstWithRoom(ctx, choice.limits), valuesOf(choice));
  if (ids.length > 0 || seen < WINDOW) return { ids, isPart: ids.length < choice.slots && seen === WINDOW };
  const [byKey] = await tx.run(byKeys(ctx, choice.limits), { ...valuesOf(choice), fromKey: fromKey ?? '' });
  return byKey ?? { ids, isPart: false };
}

function valuesOf({ queue, limits, slots, nowMs }: Choice) {
  const { concurrencyPerKey, ratePerKey } = limits;
  return {
    queue,
    slots,
    perKey: concurrencyPerKey,
    keyRate: ratePerKey?.limit ?? null,
    keySinceMs: nowMs - (ratePerKey?.periodMs ?? 0),
  };
}

function firstStarts(ctx: ProviderContext) {
  return ctx.statement(
    'queued starts: first',
    () => sql`select q.id from ${ctx.ownTables.queuedStarts} q
      where q.queue_id = ${value('queue')}::text and ${isWaiting('q')}
      order by q.priority desc, q.id limit ${value('slots')}::int`,
    ([id]) => integerCell(id),
  );
}

function firstWithRoom(ctx: ProviderContext, limits: StartLimits) {
  return ctx.statement(
    `queued starts: first with room ${kindOf(limits)}`,
    () => sql`with heads as (
        select q.id, q.priority, q.start_key from ${ctx.ownTables.queuedStarts} q
        where q.queue_id = ${value('queue')}::text and ${isWaiting('q')}
        order by q.priority desc, q.id limit ${sql.raw(String(WINDOW))}
      ), keys as (
        select k.start_key, ${roomOf(ctx, limits)} as room from (select distinct start_key from heads) k
      ), ranked as (
        select h.id, h.priority, k.room,
          row_number() over (partition by h.start_key order by h.priority desc, h.id) as place
        from heads h join keys k on k.start_key = h.start_key
      ), chosen as (
        select id, priority from ranked where place <= room order by priority desc, id limit ${value('slots')}::int
      )
      select (select count(*) from heads), (select string_agg(id::text, ',' order by priority desc, id) from chosen)`,
    ([seen, ids]) => ({ seen: integerCell(seen), ids: idsOf(ids) }),
  );
}

/** A scan that leaps from key to key, and of each key with room takes as many as there is room for. */
function byKeys(ctx: ProviderContext, limits: StartLimits) {
  const { queuedStarts } = ctx.ownTables;
  const ofQueue = sql`q.queue_id = ${value('queue')}::text and ${isWaiting('q')}`;
  return ctx.statement(
    `queued starts: by keys ${kindOf(limits)}`,
    () => sql`with recursive keys(start_key, place) as (
        (select q.start_key, 1 from ${queuedStarts} q where ${ofQueue} and q.start_key > ${value('fromKey')}::text
          order by q.start_key limit 1)
        union all
        select (select q.start_key from ${queuedStarts} q where ${ofQueue} and q.start_key > k.start_key
          order by q.start_key limit 1), k.place + 1
        from keys k where k.start_key is not null and k.place < ${sql.raw(String(MAX_KEYS))}
      ), free as (
        -- Those without a key have room in any case.
        select '' as start_key, ${value('slots')}::bigint as room
        union all
        select k.start_key, ${roomOf(ctx, limits)} from keys k where k.start_key is not null
      ), chosen as (
        select h.id, h.priority from free f cross join lateral (
          select q.id, q.priority from ${queuedStarts} q where ${ofQueue} and q.start_key = f.start_key
          order by q.priority desc, q.id limit greatest(least(f.room, ${value('slots')}::bigint), 0)
        ) h order by h.priority desc, h.id limit ${value('slots')}::int
      )
      select (select string_agg(id::text, ',' order by priority desc, id) from chosen),
        (select start_key from keys where place = ${sql.raw(String(MAX_KEYS))})`,
    ([ids, nextKey]): Chosen => ({
      ids: idsOf(ids),
      isPart: (nextKey ?? null) !== null,
      nextKey: nextKey ?? undefined,
    }),
  );
}

/** How many starts of the key `k.start_key` may be admitted; the rows counted are as many as the limits at most. */
function roomOf(ctx: ProviderContext, { concurrencyPerKey, ratePerKey }: StartLimits): SQL {
  const { queuedStarts } = ctx.ownTables;
  const rooms: SQL[] = [];
  if (concurrencyPerKey !== null) {
    rooms.push(sql`${value('perKey')}::bigint - (
      select count(*) from ${queuedStarts} r
      where r.queue_id = ${value('queue')}::text and r.start_key = k.start_key and ${holdsSlot('r')})`);
  }
  if (ratePerKey !== null) {
    rooms.push(sql`${value('keyRate')}::bigint - (
      select count(*) from ${queuedStarts} a
      where a.queue_id = ${value('queue')}::text and a.start_key = k.start_key
        and a.admitted_ms is not null and a.admitted_ms > ${value('keySinceMs')}::bigint)`);
  }
  return sql`case when k.start_key = '' then ${sql.raw(String(MAX_ADMITTED))} else least(${sql.join(rooms, sql`, `)}) end`;
}

/** Which limits a statement is for. */
function kindOf({ concurrencyPerKey, ratePerKey }: StartLimits): string {
  return `${concurrencyPerKey === null ? '' : 'c'}${ratePerKey === null ? '' : 'r'}`;
}

function idsOf(cell: Cell | undefined): number[] {
  return cell === null || cell === undefined ? [] : textCell(cell).split(',').map(Number);
}

/**
 * When the rate of a key lets its next start in, for the keys of the next {@link WINDOW};
 * `null` when none of them waits for that.
 */
export async function nextOfKeys(
  ctx: ProviderContext,
  tx: Transaction,
  { queue, limits: { ratePerKey }, nowMs }: Choice,
): Promise<Ms | null> {
  if (ratePerKey === null) return null;
  const { queuedStarts } = ctx.ownTables;
  const statement = ctx.statement(
    'queued starts: next of keys',
    () => sql`with heads as (
        select q.start_key from ${queuedStarts} q where q.queue_id = ${value('queue')}::text and ${isWaiting('q')}
        order by q.priority desc, q.id limit ${sql.raw(String(WINDOW))}
      )
      select min(a.admitted_ms) + ${value('periodMs')}::bigint
      from (select distinct start_key from heads) k cross join lateral (
        select q.admitted_ms from ${queuedStarts} q
        where q.queue_id = ${value('queue')}::text and q.start_key = k.start_key and q.admitted_ms is not null
        order by q.admitted_ms desc offset ${value('keyRate')}::bigint - 1 limit 1
      ) a where k.start_key <> '' and a.admitted_ms > ${value('since')}::bigint`,
    ([ms]) => optionalIntegerCell(ms),
  );
  const { limit, periodMs } = ratePerKey;
  const [next = null] = await tx.run(statement, { queue, periodMs, keyRate: limit, since: nowMs - periodMs });
  return next;
}
