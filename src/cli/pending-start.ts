import { sql } from 'drizzle-orm';
import type { Executor } from '../provider/drizzle/executor.js';
import { SET_ASIDE_UNTIL } from '../provider/drizzle/operations/moment.js';
import { booleanCell, compile, integerCell, momentCell } from '../provider/drizzle/statement.js';
import { quoteSchemaName } from '../schema/schema-name.js';
import { adviceOn, askWorkers, nameText, unquoted } from './doctor/waiting-orchestrations.js';
import type { ExitCode } from './exit-codes.js';
import { CliError } from './exit-codes.js';
import { durationText, momentText, shellQuoted } from './output/text.js';
import type { Store } from './store.js';
import { waitingText } from './waiting.js';

/** The start of an instance that has not begun: no turn of it was committed. */
export interface PendingStart {
  readonly instance: string;
  readonly orchestration: string;
  /** Of the orchestration, with its version. */
  readonly name: string;
  /** The start queue that has not let it in; `null`: it is among the messages for workers. */
  readonly queue: string | null;
  /** Why it has not begun, as a part of a sentence. */
  readonly reason: string;
  readonly advice: string | undefined;
}

/** The start of an instance that waits in a start queue, or for a worker. It does not say whether the instance exists. */
export async function findPendingStart(
  { database, provider, schema }: Store,
  instance: string,
): Promise<PendingStart | undefined> {
  const nowMs = provider.nowMs();
  return database.driver.withConnection(async (executor) => {
    const row = await readStart(executor, { schema, instance, nowMs });
    if (!row) return undefined;
    const { version, queue } = row;
    const orchestration = unquoted(row.orchestration ?? '""');
    const waiting = { instance, orchestration, version: version === null ? null : unquoted(version), pinned: null };
    const hasWorkers = await askWorkers(executor, { schema, nowMs });
    return {
      ...{ instance, orchestration, queue, name: nameText(waiting) },
      ...(queue === null
        ? handedOver(row, nowMs, adviceOn({ ...waiting, sinceMs: row.sinceMs, attempts: row.attempts }, hasWorkers))
        : queued({ ...row, queue }, nowMs, hasWorkers)),
    };
  });
}

/** That an instance has not begun, and why. */
export function notBegun(exitCode: ExitCode, { instance, name, reason, advice }: PendingStart): CliError {
  return new CliError(exitCode, `instance ${JSON.stringify(instance)} of ${name} has not begun: ${reason}`, advice);
}

type Why = Pick<PendingStart, 'reason' | 'advice'>;

function handedOver({ sinceMs, visibleMs, attempts, isHeld }: StartRow, nowMs: number, advice: string): Why {
  if (isHeld) return { reason: 'a worker has just taken its start', advice: undefined };
  if (visibleMs > nowMs && attempts === 0)
    return { reason: `it is due at ${momentText(visibleMs)}`, advice: undefined };
  return { reason: waitingText({ waitsMs: Math.max(0, nowMs - sinceMs), attempts }), advice };
}

function queued(
  { queue, sinceMs, isDefined, isPaused }: StartRow & { readonly queue: string },
  nowMs: number,
  hasWorkers: boolean | undefined,
): Why {
  const reason = `it waits in start queue ${JSON.stringify(queue)} for ${durationText(Math.max(0, nowMs - sinceMs))}`;
  if (!isDefined) return { reason, advice: 'there is no queue of this id: create it, or cancel the instance' };
  if (isPaused) {
    const resume = `npx duroxide-drizzle queues resume ${shellQuoted(queue)}`;
    return { reason: `${reason}, which is paused`, advice: `let the queue admit again with: ${resume}` };
  }
  if (hasWorkers === false) return { reason, advice: 'no worker runs on this schema, and workers let starts in' };
  return { reason, advice: 'it begins when the limits of the queue leave room; see: npx duroxide-drizzle queues' };
}

/** A start as it is stored; names and versions are JSON strings still. */
interface StartRow {
  readonly queue: string | null;
  readonly orchestration: string | null;
  readonly version: string | null;
  readonly sinceMs: number;
  readonly visibleMs: number;
  readonly attempts: number;
  readonly isHeld: boolean;
  readonly isDefined: boolean;
  readonly isPaused: boolean;
}

interface Question {
  readonly schema: string;
  readonly instance: string;
  readonly nowMs: number;
}

/** In one statement: a start that is being let in stands in one of the two tables at any moment. */
async function readStart(executor: Executor, question: Question): Promise<StartRow | undefined> {
  const { schema, instance, nowMs } = question;
  const table = (name: string) => sql.raw(`${quoteSchemaName(schema)}.${name}`);
  const now = sql`${sql.placeholder('now')}::bigint`;
  const id = sql`${sql.placeholder('instance')}::text`;
  // Text and not JSON, as where the doctor looks: a row that cannot be read must not fail the look.
  const name = sql`substring(m.work_item from '[{,]"orchestration":("(?:[^"\\\\]|\\\\.)*")')`;
  const version = sql`substring(m.work_item from ',"version":("(?:[^"\\\\]|\\\\.)*")')`;
  const inQueues = (await hasStartQueues(executor, schema))
    ? sql`union all
        select m.queue_id, ${name}, ${version}, to_timestamp(m.enqueued_ms / 1000.0), to_timestamp(m.enqueued_ms / 1000.0),
          0, false, s.queue_id is not null, coalesce(s.is_paused, false), m.id
        from ${table('ddz_queued_starts')} m left join ${table('ddz_start_queues')} s on s.queue_id = m.queue_id
        where m.instance_id = ${id} and m.admitted_ms is null`
    : sql``;
  const [row] = await executor.run(
    compile(
      sql`select * from (
          select null::text as queue, ${name}, ${version}, m.created_at, m.visible_at, m.attempt_count,
            (m.lock_token is not null and m.locked_until > ${now}) or exists (
              select 1 from ${table('instance_locks')} l where l.instance_id = m.instance_id and l.locked_until > ${now}),
            true, false, m.id
          from ${table('orchestrator_queue')} m
          where m.instance_id = ${id} and m.work_item like '{"StartOrchestration":%'
            and m.visible_at < ${sql.placeholder('aside')}::timestamptz
          ${inQueues}
        ) found(queue, name, version, since, visible, attempts, is_held, is_defined, is_paused, id)
        order by queue nulls first, id limit 1`,
      ([queue, orchestration, startVersion, since, visible, attempts, isHeld, isDefined, isPaused]) => ({
        queue: queue ?? null,
        orchestration: orchestration ?? null,
        version: startVersion ?? null,
        sinceMs: momentCell(since),
        visibleMs: momentCell(visible),
        attempts: integerCell(attempts),
        isHeld: booleanCell(isHeld),
        isDefined: booleanCell(isDefined),
        isPaused: booleanCell(isPaused),
      }),
    ),
    { now: nowMs, instance, aside: SET_ASIDE_UNTIL },
  );
  return row;
}

/** Whether the schema has the tables; one that native made need not. */
async function hasStartQueues(executor: Executor, schema: string): Promise<boolean> {
  const table = (name: string) => `${quoteSchemaName(schema)}.${name}`;
  const statement = compile(
    sql`select to_regclass(${sql.placeholder('queues')}) is not null and to_regclass(${sql.placeholder('starts')}) is not null`,
    ([cell]) => booleanCell(cell),
  );
  const values = { queues: table('ddz_start_queues'), starts: table('ddz_queued_starts') };
  return (await executor.run(statement, values))[0] ?? false;
}
