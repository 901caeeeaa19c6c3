import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../provider/drizzle/context.js';
import type { Transaction } from '../provider/drizzle/executor.js';
import { SET_ASIDE_UNTIL } from '../provider/drizzle/operations/moment.js';
import { booleanCell, integerCell, optionalIntegerCell, textCell } from '../provider/drizzle/statement.js';
import { ROWS_PER_READ, withinBytes } from './page.js';

const value = (name: string) => sql.placeholder(name);
const limit = sql.raw(String(ROWS_PER_READ));

/** A row of a queue. */
export interface QueueRow {
  readonly table: 'orchestrator_queue' | 'worker_queue';
  readonly rowId: number;
  readonly instance: string | null;
  readonly isLocked: boolean;
  readonly lockedUntilMs: number | null;
  readonly attemptCount: number;
  readonly isSetAside: boolean;
  /** Whether its instance exists or is about to be started. */
  readonly hasOwner: boolean;
  /** The item; of the orchestrator queue only where there is no owner. */
  readonly text: string | null;
}

/** The rows of a queue after a row id, in the order of their ids. */
export function readQueue(
  ctx: ProviderContext,
  tx: Transaction,
  table: QueueRow['table'],
  after: number,
): Promise<QueueRow[]> {
  const { instances, orchestratorQueue, workerQueue } = ctx.tables;
  const isWorker = table === 'worker_queue';
  const queue = isWorker ? workerQueue : orchestratorQueue;
  const rows = sql`select q.id, q.instance_id, q.lock_token is not null as locked, q.locked_until, q.attempt_count,
      q.visible_at >= ${SET_ASIDE_UNTIL}::timestamptz as aside,
      i.instance_id is not null or ${
        isWorker
          ? sql`false`
          : sql`exists (select 1 from ${orchestratorQueue} s where s.instance_id = q.instance_id
              and starts_with(s.work_item, '{"StartOrchestration"'))`
      } as owned,
      ${isWorker ? sql`q.work_item` : sql`case when i.instance_id is null then q.work_item end`} as payload
    from (select id, instance_id, lock_token, locked_until, attempt_count, visible_at, work_item from ${queue}
      where id > ${value('after')}::bigint order by id limit ${limit}) q
    left join ${instances} i on i.instance_id = q.instance_id`;
  const statement = ctx.statement(
    `doctor: rows of ${table}`,
    () => withinBytes(rows, sql`id, instance_id, locked, locked_until, attempt_count, aside, owned, payload`, sql`id`),
    ([rowId, instance, locked, lockedUntil, attempts, aside, owned, text]): QueueRow => ({
      table,
      rowId: integerCell(rowId),
      instance: instance ?? null,
      isLocked: booleanCell(locked),
      lockedUntilMs: optionalIntegerCell(lockedUntil),
      attemptCount: integerCell(attempts),
      isSetAside: booleanCell(aside),
      hasOwner: booleanCell(owned),
      text: text ?? null,
    }),
  );
  return tx.run(statement, { after });
}

/** A lock on an instance, or a session that somebody owns. */
export interface LockRow {
  readonly key: string;
  readonly lockedUntilMs: number;
  readonly hasOwner: boolean;
}

export function readLocks(ctx: ProviderContext, tx: Transaction, after: string | undefined): Promise<LockRow[]> {
  const { instanceLocks, instances, orchestratorQueue } = ctx.tables;
  const statement = ctx.statement(
    `doctor: locks ${after === undefined ? 'start' : 'after'}`,
    () => sql`select l.instance_id, l.locked_until,
        exists (select 1 from ${instances} i where i.instance_id = l.instance_id)
          or exists (select 1 from ${orchestratorQueue} q where q.instance_id = l.instance_id)
      from ${instanceLocks} l ${after === undefined ? sql`` : sql`where l.instance_id > ${value('after')}`}
      order by l.instance_id limit ${limit}`,
    lockRow,
  );
  return tx.run(statement, after === undefined ? {} : { after });
}

export function readSessions(ctx: ProviderContext, tx: Transaction, after: string | undefined): Promise<LockRow[]> {
  const statement = ctx.statement(
    `doctor: sessions ${after === undefined ? 'start' : 'after'}`,
    () => sql`select s.session_id, s.locked_until, true from ${ctx.tables.sessions} s
      ${after === undefined ? sql`` : sql`where s.session_id > ${value('after')}`}
      order by s.session_id limit ${limit}`,
    lockRow,
  );
  return tx.run(statement, after === undefined ? {} : { after });
}

function lockRow([key, lockedUntil, owned]: readonly (string | null)[]): LockRow {
  return { key: textCell(key), lockedUntilMs: integerCell(lockedUntil), hasOwner: booleanCell(owned) };
}

/** Instances that have events and no row, in order. */
export function readOrphanedHistories(
  ctx: ProviderContext,
  tx: Transaction,
  after: string | undefined,
): Promise<string[]> {
  const { history, instances } = ctx.tables;
  const statement = ctx.statement(
    `doctor: orphaned histories ${after === undefined ? 'start' : 'after'}`,
    () => sql`select distinct h.instance_id from ${history} h
      where not exists (select 1 from ${instances} i where i.instance_id = h.instance_id)
        ${after === undefined ? sql`` : sql`and h.instance_id > ${value('after')}`}
      order by h.instance_id limit ${limit}`,
    ([instance]) => textCell(instance),
  );
  return tx.run(statement, after === undefined ? {} : { after });
}
