import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../../provider/drizzle/executor.js';
import { booleanCell, compile, integerCell, textCell } from '../../provider/drizzle/statement.js';
import { quoteSchemaName } from '../../schema/schema-name.js';
import { counted, countText, durationText, withoutControls } from '../output/text.js';
import type { DoctorFinding } from './finding.js';

/** Room that nobody has used for so long will not be used by itself, in ms: runtimes look once in half a minute at least. */
const LONG_MS = 60_000;
const VERY_LONG_MS = 600_000;
/** Queues that are named. */
const MAX_NAMED = 5;

/** Starts that wait in a queue. */
export interface WaitingQueue {
  readonly queue: string;
  readonly waiting: number;
  readonly sinceMs: number;
  /** `false`: starts name a queue that is not there. */
  readonly isDefined: boolean;
  readonly isPaused: boolean;
  /** A start has waited, and had room, for longer than runtimes need to notice. */
  readonly isStuck: boolean;
}

interface Question {
  readonly schema: string;
  readonly nowMs: number;
}

/** The queues in which starts wait; `undefined` in a schema without the tables. */
export async function askStartQueues(
  executor: Executor,
  { schema, nowMs }: Question,
): Promise<WaitingQueue[] | undefined> {
  const table = (name: string) => sql.raw(`${quoteSchemaName(schema)}.${name}`);
  const names = ['ddz_start_queues', 'ddz_queued_starts'].map((name) => `${quoteSchemaName(schema)}.${name}`);
  const [exist] = await executor.run(
    compile(
      sql`select to_regclass(${sql.placeholder('queues')}) is not null and to_regclass(${sql.placeholder('starts')}) is not null`,
      ([cell]) => booleanCell(cell),
    ),
    { queues: names[0] ?? '', starts: names[1] ?? '' },
  );
  if (!exist) return undefined;
  const starts = table('ddz_queued_starts');
  const long = sql`${sql.placeholder('long')}::bigint`;
  const holds = sql`a.queue_id = s.queue_id and a.admitted_ms is not null and a.ended_ms is null
    and ${holdsStill(table, sql.raw('a'))}`;
  const admitted = (since: SQL) =>
    sql`a.queue_id = s.queue_id and a.admitted_ms is not null and a.admitted_ms > ${long} - ${since}`;
  return executor.run(
    compile(
      sql`select w.queue_id, w.waiting, w.since, s.queue_id is not null, coalesce(s.is_paused, false),
          coalesce(not s.is_paused and s.updated_ms <= ${long} and w.since <= ${long}
            and (s.concurrency is null or s.concurrency > (select count(*) from ${starts} a where ${holds}))
            and (s.rate_limit is null or s.rate_limit > (
              select count(*) from ${starts} a where ${admitted(sql.raw('s.rate_period_ms'))}))
            and exists (
              select from (
                select distinct q.start_key from ${starts} q
                where q.queue_id = s.queue_id and q.admitted_ms is null and q.enqueued_ms <= ${long}
              ) k
              where k.start_key = '' or (
                (s.concurrency_per_key is null or s.concurrency_per_key > (
                  select count(*) from ${starts} a where ${holds} and a.start_key = k.start_key))
                and (s.key_rate_limit is null or s.key_rate_limit > (
                  select count(*) from ${starts} a where ${admitted(sql.raw('s.key_rate_period_ms'))}
                    and a.start_key = k.start_key)))
            ), false)
        from (
          select queue_id, count(*) as waiting, min(enqueued_ms) as since from ${starts}
          where admitted_ms is null group by queue_id
        ) w
        left join ${table('ddz_start_queues')} s on s.queue_id = w.queue_id
        order by w.since`,
      ([queue, waiting, since, isDefined, isPaused, isStuck]) => ({
        queue: textCell(queue),
        waiting: integerCell(waiting),
        sinceMs: integerCell(since),
        isDefined: booleanCell(isDefined),
        isPaused: booleanCell(isPaused),
        isStuck: booleanCell(isStuck),
      }),
    ),
    { long: nowMs - LONG_MS, longAt: new Date(nowMs - LONG_MS).toISOString() },
  );
}

/**
 * Whether an admitted start takes a slot, or has given it free so lately that this may not
 * have been noticed: between an end and the next admission a queue has room for a moment.
 */
function holdsStill(table: (name: string) => SQL, start: SQL): SQL {
  return sql`(
    exists (
      select from ${table('instances')} i join ${table('executions')} e
        on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.instance_id = ${start}.instance_id and (e.status not in ('Completed', 'Failed')
        or e.completed_at > ${sql.placeholder('longAt')}::timestamptz)
    ) or (
      not exists (select from ${table('instances')} i where i.instance_id = ${start}.instance_id)
      and (${start}.admitted_ms > ${sql.placeholder('long')}::bigint
        or exists (select from ${table('orchestrator_queue')} o where o.instance_id = ${start}.instance_id))
    )
  )`;
}

/** What the doctor says. `hasWorkers`: `undefined` where nobody knows. */
export function aboutStartQueues(
  queues: readonly WaitingQueue[] | undefined,
  { nowMs, hasWorkers }: { readonly nowMs: number; readonly hasWorkers: boolean | undefined },
): DoctorFinding[] {
  if (queues === undefined) return [];
  const lost = queues.filter(({ isDefined }) => !isDefined);
  const stuck = queues.filter(({ isStuck }) => isStuck);
  const findings = [
    ...named(lost, (queue) => ({
      level: 'problem',
      text: `${waitingText(queue, nowMs)}, and there is no queue of this id`,
      advice: `nothing lets them in: create the queue by client.startQueues.create, or take them away by client.deleteInstance`,
    })),
    ...named(stuck, (queue) => ({
      level: nowMs - queue.sinceMs > VERY_LONG_MS ? 'problem' : 'warning',
      text: `${waitingText(queue, nowMs)}, although its limits leave room`,
      advice:
        hasWorkers === false
          ? 'no worker runs on this schema: runtimes of this package let starts in, native ones do not'
          : 'nobody lets them in: runtimes of this package that run orchestrations do, unless they were connected before the tables were there; restart them, and look into their logs for "admitting queued starts failed"',
    })),
  ];
  if (findings.length > 0) return findings;
  const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0);
  const paused = queues.filter(({ isPaused }) => isPaused).length;
  const what =
    waiting === 0
      ? 'no start waits'
      : `${countText(waiting)} ${waiting === 1 ? 'start waits' : 'starts wait'} for room`;
  const aside = paused > 0 ? `; ${counted(paused, 'queue is', 'queues are')} paused` : '';
  return [{ check: 'start queues', level: 'ok', text: what + aside }];
}

function named(
  queues: readonly WaitingQueue[],
  say: (queue: WaitingQueue) => Pick<DoctorFinding, 'level' | 'text' | 'advice'>,
): DoctorFinding[] {
  const findings: DoctorFinding[] = queues
    .slice(0, MAX_NAMED)
    .map((queue) => ({ check: 'start queues', ...say(queue) }));
  const more = queues.length - findings.length;
  if (more > 0)
    findings.push({
      check: 'start queues',
      level: 'warning',
      text: `${counted(more, 'other queue', 'other queues')} likewise`,
    });
  return findings;
}

function waitingText({ queue, waiting, sinceMs }: WaitingQueue, nowMs: number): string {
  const who = waiting === 1 ? '1 start waits' : `${countText(waiting)} starts wait`;
  return `${who} in queue ${withoutControls(JSON.stringify(queue))}, the oldest for ${durationText(Math.max(0, nowMs - sinceMs))}`;
}
