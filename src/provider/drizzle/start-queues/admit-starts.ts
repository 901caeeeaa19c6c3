import { sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { Admission, StartLimits } from '../../start-queues.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { isRunning, isStarted } from '../operations/is-running.js';
import { moment } from '../operations/moment.js';
import { booleanCell, integerCell, noRow, optionalIntegerCell, textCell } from '../statement.js';
import { inTransaction, readStatement, runStatement } from '../transaction.js';
import { chooseStarts, type Chosen, MAX_ADMITTED, nextOfKeys } from './choose-starts.js';
import { holdsSlot, holdsSlotInstance, isWaiting, limitColumns, limitNames, limitsOf, value } from './queue-rows.js';

const OPERATION = 'admit_starts';
/** Admitted starts of a queue whose end is looked for in one transaction at most; the next one goes on behind them. */
const MAX_SWEPT = 2_000;

/** Ends that this process knows of are noticed at once; the others are looked for so often, in ms. */
const SWEEP_MS = 1_000;
/** As {@link SWEEP_MS}, in a queue where nothing waits. */
const IDLE_SWEEP_MS = 30_000;

/** Where a store goes on in a queue. Only to spread work over looks: nothing depends on it. */
interface Place {
  sweptAtMs: Ms;
  /** Of the admitted starts whose end is looked for, the last one; absent: all were looked at. */
  swept?: { readonly key: string; readonly id: number } | undefined;
  key?: string | undefined;
}

const nothing: Admission = {
  admitted: 0,
  inUse: false,
  again: false,
  busy: false,
  blocked: false,
  nextMs: null,
};
const NONE: Chosen = { ids: [], isPart: false };

/** Admits starts, for one provider. */
export class StartAdmission {
  private readonly places = new Map<string, Place>();

  constructor(private readonly ctx: ProviderContext) {}

  /** A look that finds nothing to do is one statement. */
  async admit(ended: readonly string[]): Promise<Admission> {
    if (ended.length > 0) await this.freeEnded(ended);
    const queues = await readStatement(this.ctx, OPERATION, this.queuesInUse());
    let all: Admission = { ...nothing, inUse: queues.length > 0 };
    for (const { queue, waits } of queues) {
      const place = this.placeOf(queue);
      if (!waits && this.ctx.clock.nowMs() - place.sweptAtMs < IDLE_SWEEP_MS) continue;
      const one = await this.admitFrom(queue, place);
      if (one.admitted > 0) this.ctx.wake('orchestrator');
      // Where nothing waits the look was for those that have ended.
      if (waits) all = together(all, one);
    }
    return all;
  }

  private placeOf(queue: string): Place {
    const place = this.places.get(queue) ?? { sweptAtMs: -Infinity };
    this.places.set(queue, place);
    return place;
  }

  /** Under the lock of the queue, which others need not wait for: whoever has it does what there is to do. */
  private admitFrom(queue: string, place: Place): Promise<Admission> {
    return inTransaction(this.ctx, OPERATION, async (tx, nowMs): Promise<Admission> => {
      const values = { queue, now: nowMs };
      const [limits] = await tx.run(this.lock(), values);
      if (!limits) return { ...nothing, inUse: true, busy: true };
      const [, room = { running: 0, recent: 0 }] = await Promise.all([
        this.sweepWhenDue(tx, queue, place, nowMs),
        tx.run(this.room(), values).then(([found]) => found),
      ]);
      const slots = slotsOf(limits, room);
      const choice = { queue, limits, slots, nowMs };
      const chosen = slots > 0 ? await chooseStarts(this.ctx, tx, choice, place.key) : NONE;
      const [taken = 0] =
        chosen.ids.length > 0 ? await tx.run(this.take(), { ...values, nowAt: moment(nowMs), ids: chosen.ids }) : [0];
      const keyOpensMs = await nextOfKeys(this.ctx, tx, choice);
      const [outlook] = await tx.runLast(this.outlook(), values);
      place.key = chosen.nextKey;
      return { admitted: taken, inUse: true, ...whatNext({ limits, room, slots, nowMs, chosen, taken, keyOpensMs, ...outlook }) };
    });
  }

  private async sweepWhenDue(tx: Transaction, queue: string, place: Place, nowMs: Ms): Promise<void> {
    const isDue = place.swept !== undefined || Math.abs(nowMs - place.sweptAtMs) >= SWEEP_MS;
    if (!isDue) return;
    const { key = '', id = 0 } = place.swept ?? {};
    const values = { queue, now: nowMs };
    const [[last]] = await Promise.all([
      tx.run(this.sweep(), { ...values, sweptKey: key, sweptId: id }),
      tx.run(this.forget(), values),
    ]);
    place.swept = last;
    place.sweptAtMs = nowMs;
  }

  /** Whoever ended in this process has probably ended: by their ids, because there may be many others. */
  private async freeEnded(ended: readonly string[]): Promise<void> {
    const statement = this.statement(
      'free',
      (starts) => sql`update ${starts} q set ended_ms = ${value('now')}::bigint
        where q.instance_id = any(${value('ended')}::text[]) and ${holdsSlotInstance('q')}
          and not ${isRunning(this.ctx, sql.raw('q.instance_id'))}`,
      noRow,
    );
    await runStatement(this.ctx, OPERATION, statement, (nowMs) => ({ ended, now: nowMs }));
  }

  /** Queues in which a start waits, or an end may have to be noticed. */
  private queuesInUse() {
    const { startQueues } = this.ctx.ownTables;
    return this.statement(
      'in use',
      (starts) => sql`select s.queue_id, waits from ${startQueues} s cross join lateral (
          select not s.is_paused
            and exists (select from ${starts} q where q.queue_id = s.queue_id and ${isWaiting('q')}) as waits
        ) w
        where w.waits or exists (select from ${starts} q where q.queue_id = s.queue_id and q.admitted_ms is not null)
        order by s.queue_id`,
      ([queue, waits]) => ({ queue: textCell(queue), waits: booleanCell(waits) }),
    );
  }

  /**
   * Not `for update`: whoever enqueues holds a share lock until the end of a transaction of
   * its own. From here on only plans by index: on a table that has just grown the planner
   * takes a queue for a few rows, and would read and sort all that wait in it.
   */
  private lock() {
    const { startQueues } = this.ctx.ownTables;
    return this.statement(
      'lock',
      () => sql`select ${limitNames('s')}, s.is_paused,
          set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)
        from ${startQueues} s where s.queue_id = ${value('queue')}::text for no key update skip locked`,
      (cells) => ({ ...limitsOf(cells), isPaused: booleanCell(cells[limitColumns.length]) }),
    );
  }

  /** Frees what has ended or was deleted. @returns the last one looked at, if there may be more behind it */
  private sweep() {
    return this.statement(
      'sweep',
      (starts) => sql`with looked as materialized (
          select q.id, q.start_key, q.instance_id from ${starts} q
          where q.queue_id = ${value('queue')}::text and ${holdsSlot('q')}
            and (q.start_key, q.id) > (${value('sweptKey')}::text, ${value('sweptId')}::bigint)
          order by q.start_key, q.id limit ${sql.raw(String(MAX_SWEPT))}
        ), freed as (
          update ${starts} q set ended_ms = ${value('now')}::bigint from looked l
          where q.id = l.id and q.ended_ms is null and not ${isRunning(this.ctx, sql.raw('l.instance_id'))}
        )
        select start_key, id from looked order by start_key desc, id desc
        limit case when (select count(*) from looked) < ${sql.raw(String(MAX_SWEPT))} then 0 else 1 end`,
      ([key, id]) => ({ key: textCell(key), id: integerCell(id) }),
    );
  }

  /** What has ended stays only as long as a rate counts it. */
  private forget() {
    const { startQueues } = this.ctx.ownTables;
    return this.statement(
      'forget',
      (starts) => sql`delete from ${starts} q where q.queue_id = ${value('queue')}::text and q.admitted_ms is not null
        and q.ended_ms is not null and q.admitted_ms <= ${value('now')}::bigint - (
          select greatest(s.rate_period_ms, s.key_rate_period_ms, 0) from ${startQueues} s
          where s.queue_id = ${value('queue')}::text)`,
      noRow,
    );
  }

  /** What the limits of the whole queue are measured against. */
  private room() {
    const { startQueues } = this.ctx.ownTables;
    return this.statement(
      'room',
      (starts) => sql`select
          case when s.concurrency is null then 0 else
            (select count(*) from ${starts} q where q.queue_id = s.queue_id and ${holdsSlot('q')}) end,
          case when s.rate_limit is null then 0 else
            (select count(*) from ${starts} q where q.queue_id = s.queue_id and q.admitted_ms is not null
              and q.admitted_ms > ${value('now')}::bigint - s.rate_period_ms) end
        from ${startQueues} s where s.queue_id = ${value('queue')}::text`,
      ([running, recent]) => ({ running: integerCell(running), recent: integerCell(recent) }),
    );
  }

  /**
   * Admits the chosen ones, with the messages that came meanwhile. One that somebody else has
   * locked, to cancel it or to give it a message, is left for the next look. One that runs
   * already, because it was started past the queue, leaves the queue.
   */
  private take() {
    const { orchestratorQueue } = this.ctx.tables;
    return this.statement(
      'take',
      (starts) => sql`with chosen as materialized (
          select q.id, q.instance_id, q.priority, q.work_item, q.messages,
            ${isStarted(this.ctx, sql.raw('q.instance_id'))} as is_started
          from ${starts} q where q.id = any(${value('ids')}::bigint[]) and ${isWaiting('q')}
          for update of q skip locked
        ), admitted as (
          update ${starts} q set admitted_ms = ${value('now')}::bigint, work_item = null, messages = null
          from chosen c where q.id = c.id and not c.is_started returning q.id
        ), passed as (
          delete from ${starts} q using chosen c where q.id = c.id and c.is_started
        ), sent as (
          insert into ${orchestratorQueue} (instance_id, work_item, visible_at, created_at)
          select m.instance_id, m.message, ${value('nowAt')}::timestamptz, ${value('nowAt')}::timestamptz
          from (
            select c.instance_id, u.message, c.priority, c.id, u.n from chosen c cross join lateral unnest(
              case when c.is_started then c.messages else c.work_item || c.messages end
            ) with ordinality u(message, n)
          ) m order by m.priority desc, m.id, m.n
        )
        select count(*) from admitted`,
      ([taken]) => integerCell(taken),
    );
  }

  /** Whether something still waits, and when the rate lets the next one in. */
  private outlook() {
    const { startQueues } = this.ctx.ownTables;
    return this.statement(
      'outlook',
      (starts) => sql`select
          exists (select from ${starts} q where q.queue_id = s.queue_id and ${isWaiting('q')}),
          case when s.rate_limit is not null then s.rate_period_ms + (
            select q.admitted_ms from ${starts} q where q.queue_id = s.queue_id and q.admitted_ms is not null
            order by q.admitted_ms desc offset s.rate_limit - 1 limit 1) end
        from ${startQueues} s where s.queue_id = ${value('queue')}::text`,
      ([isMore, opensMs]) => ({ isMore: booleanCell(isMore), opensMs: optionalIntegerCell(opensMs) }),
    );
  }

  private statement<Row>(
    key: string,
    build: (starts: ReturnType<typeof sql>) => ReturnType<typeof sql>,
    decode: Parameters<typeof this.ctx.statement<Row>>[2],
  ) {
    return this.ctx.statement(`admit starts: ${key}`, () => build(sql`${this.ctx.ownTables.queuedStarts}`), decode);
  }
}

interface Room {
  /** Instances that hold a slot; 0 where nobody asks. */
  readonly running: number;
  /** Starts in the period of the rate. */
  readonly recent: number;
}

/** How many the limits of the whole queue let in. */
function slotsOf({ concurrency, rate, isPaused }: StartLimits & { isPaused: boolean }, room: Room): number {
  if (isPaused) return 0;
  return Math.max(
    0,
    Math.min(
      MAX_ADMITTED,
      concurrency === null ? Infinity : concurrency - room.running,
      rate === null ? Infinity : rate.limit - room.recent,
    ),
  );
}

interface Look {
  readonly limits: StartLimits & { readonly isPaused: boolean };
  readonly room: Room;
  readonly slots: number;
  readonly chosen: Chosen;
  readonly taken: number;
  readonly nowMs: Ms;
  readonly keyOpensMs: Ms | null;
  readonly isMore?: boolean;
  readonly opensMs?: Ms | null;
}

/** When the queue is looked at again. */
function whatNext(look: Look): Pick<Admission, 'again' | 'busy' | 'blocked' | 'nextMs'> {
  const { limits, room, slots, chosen, taken, nowMs, keyOpensMs, isMore = false, opensMs = null } = look;
  const { concurrency, concurrencyPerKey, rate, ratePerKey, isPaused } = limits;
  if (!isMore || isPaused) return { again: false, busy: false, blocked: false, nextMs: null };
  const isRateSpent = rate !== null && room.recent + taken >= rate.limit;
  const isFull = concurrency !== null && room.running + taken >= concurrency;
  const hasKeyLimits = concurrencyPerKey !== null || ratePerKey !== null;
  const opening = isRateSpent ? opensMs : isFull ? null : keyOpensMs;
  return {
    // This look took or saw as much as one may.
    again: chosen.isPart || (taken === slots && !isRateSpent && !isFull),
    // Some were in other hands.
    busy: taken < chosen.ids.length,
    blocked: isFull || (hasKeyLimits && !isRateSpent),
    nextMs: opening === null ? null : Math.max(opening, nowMs),
  };
}

function together(a: Admission, b: Admission): Admission {
  const moments = [a.nextMs, b.nextMs].filter((ms) => ms !== null);
  return {
    admitted: a.admitted + b.admitted,
    inUse: a.inUse || b.inUse,
    again: a.again || b.again,
    busy: a.busy || b.busy,
    blocked: a.blocked || b.blocked,
    nextMs: moments.length > 0 ? Math.min(...moments) : null,
  };
}
