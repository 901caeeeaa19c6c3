import { sql } from 'drizzle-orm';
import { decodeEvent, type HistoryEvent } from '../../../wire/event.js';
import { WireError } from '../../../wire/wire-error.js';
import { decodeWorkItem } from '../../../wire/work-item.js';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues, Transaction } from '../executor.js';
import { newTokenPrefix } from '../../lock-token.js';
import { moment } from '../operations/moment.js';
import { insertIntoOrchestratorQueue, insertIntoWorkerQueue } from '../operations/queue-rows.js';
import { integerCell, noRow, optionalIntegerCell, textCell } from '../statement.js';

const value = (name: string) => sql.placeholder(name);
const text = (name: string) => sql`${value(name)}::text`;

/** The place that an execution goes back to. */
export interface ResetPlace {
  readonly instance: string;
  readonly executionId: number;
  readonly toEventId: number;
}

/** The lock lives inside the transaction only; its end is for a server that lost our rollback. */
const LOCK_MS: Ms = 60_000;

/**
 * Takes the instance as a fetch takes it: native's advisory key first, then the lock row.
 * @returns false while somebody else has it
 */
export async function lockForReset(ctx: ProviderContext, tx: Transaction, instance: string, nowMs: Ms): Promise<boolean> {
  const token = `${newTokenPrefix()}${instance}`;
  const statement = ctx.statement(
    'reset: lock',
    () => sql`with tried as (
        select u.instance_id from unnest(${value('instances')}::text[]) as u(instance_id)
        where pg_try_advisory_xact_lock(hashtext(u.instance_id))
      )
      insert into ${ctx.tables.instanceLocks} as l (instance_id, lock_token, locked_until, locked_at)
      select instance_id, ${text('token')}, ${value('untilMs')}::bigint, ${value('nowMs')}::bigint from tried
      on conflict (instance_id) do update
        set lock_token = excluded.lock_token, locked_until = excluded.locked_until, locked_at = excluded.locked_at
        where l.locked_until <= ${value('nowMs')}::bigint
      returning lock_token`,
    ([found]) => textCell(found),
  );
  const rows = await tx.run(statement, { instances: [instance], token, nowMs, untilMs: nowMs + LOCK_MS });
  return rows.includes(token);
}

export interface LoadedForReset {
  readonly executionId: number;
  readonly status: string;
  /** `undefined` when an event cannot be read. */
  readonly history: readonly HistoryEvent[] | undefined;
  /** Why nobody waits for the instance any more; `undefined` when somebody does, or nobody ever did. */
  readonly parentIsGone: string | undefined;
}

/** Everything that decides; `undefined` for an unknown instance. */
export async function loadForReset(
  ctx: ProviderContext,
  tx: Transaction,
  instance: string,
): Promise<LoadedForReset | undefined> {
  const { instances, executions, history } = ctx.tables;
  const found = ctx.statement(
    'reset: instance',
    () => sql`select i.current_execution_id, coalesce(e.status, 'Running'), i.parent_instance_id,
        p.current_execution_id, q.status
      from ${instances} i
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      left join ${instances} p on p.instance_id = i.parent_instance_id
      left join ${executions} q on q.instance_id = p.instance_id and q.execution_id = p.current_execution_id
      where i.instance_id = ${text('instance')}`,
    ([execution, status, parent, parentExecution, parentStatus]) => ({
      executionId: integerCell(execution),
      status: textCell(status),
      parent: parent ?? null,
      parentExecution: optionalIntegerCell(parentExecution),
      parentStatus: parentStatus ?? null,
    }),
  );
  const [row] = await tx.run(found, { instance });
  if (!row) return undefined;
  const events = ctx.statement(
    'reset: history',
    () => sql`select event_data from ${history} where instance_id = ${text('instance')}
      and execution_id = ${value('executionId')}::bigint order by event_id`,
    ([event]) => textCell(event),
  );
  const texts = await tx.run(events, { instance, executionId: row.executionId });
  const readable = readEvents(texts);
  const [start] = readable ?? [];
  const waits = start?.kind === 'OrchestrationStarted' ? start.parentExecutionId : undefined;
  return { ...row, history: readable, parentIsGone: parentIsGone(row, waits) };
}

interface ParentState {
  readonly parent: string | null;
  readonly parentExecution: number | null;
  readonly parentStatus: string | null;
}

function parentIsGone({ parent, parentExecution, parentStatus }: ParentState, waits: number | undefined) {
  if (parent === null) return undefined;
  if (parentExecution === null) return `its parent ${parent} does not exist any more, so that nobody waits for it`;
  if (parentStatus === 'Completed' || parentStatus === 'Failed') {
    return `its parent ${parent} has finished (${parentStatus}), so that nobody waits for it; retry the parent instead`;
  }
  if (waits !== undefined && waits !== parentExecution) {
    return `execution ${waits} of its parent ${parent} has finished, so that nobody waits for it`;
  }
  return undefined;
}

/** Events as they are stored; `undefined` when one of them is unreadable. */
export function readEvents(texts: readonly string[]): HistoryEvent[] | undefined {
  try {
    return texts.map(decodeEvent);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** What a reset writes, statement by statement. */
export class ResetStatements {
  constructor(private readonly ctx: ProviderContext) {}

  /** Moves later events to the archive. */
  async archive(tx: Transaction, place: ResetPlace, nowMs: Ms): Promise<void> {
    const { history } = this.ctx.tables;
    const later = sql`where instance_id = ${text('instance')} and execution_id = ${value('executionId')}::bigint
      and event_id > ${value('toEventId')}::bigint`;
    const copy = this.ctx.statement(
      'reset: archive',
      () => sql`insert into ${this.ctx.ownTables.historyArchive}
          (instance_id, execution_id, event_id, event_type, event_data, created_at, archived_at)
        select instance_id, execution_id, event_id, event_type, event_data, created_at, ${value('nowAt')}::timestamptz
        from ${history} ${later} order by event_id`,
      noRow,
    );
    const remove = this.ctx.statement('reset: history goes', () => sql`delete from ${history} ${later}`, noRow);
    await tx.run(copy, { ...place, nowAt: moment(nowMs) });
    await tx.run(remove, { ...place });
  }

  /** Activities that were scheduled later: whoever runs one learns of it when it acknowledges. */
  async forgetWork(tx: Transaction, place: ResetPlace): Promise<void> {
    const statement = this.ctx.statement(
      'reset: work goes',
      () => sql`delete from ${this.ctx.tables.workerQueue} where instance_id = ${text('instance')}
        and execution_id = ${value('executionId')}::bigint and activity_id > ${value('toEventId')}::bigint`,
      noRow,
    );
    await tx.run(statement, { ...place });
  }

  /** Queued outcomes of what was scheduled later: the same event ids will soon mean something else. */
  async forgetOutcomes(tx: Transaction, place: ResetPlace): Promise<void> {
    const messages = await this.messagesOf(tx, place);
    const rows = messages.filter(({ scheduleId }) => scheduleId > place.toEventId).map(({ rowId }) => rowId);
    if (rows.length === 0) return;
    const remove = this.ctx.statement(
      'reset: outcomes go',
      () => sql`delete from ${this.ctx.tables.orchestratorQueue} where id = any(${value('rows')}::bigint[])`,
      noRow,
    );
    await tx.run(remove, { rows });
  }

  /** Schedules whose work or outcome is queued still. */
  async pendingSchedules(tx: Transaction, place: ResetPlace): Promise<ReadonlySet<number>> {
    const statement = this.ctx.statement(
      'reset: queued work',
      () => sql`select activity_id from ${this.ctx.tables.workerQueue} where instance_id = ${text('instance')}
        and execution_id = ${value('executionId')}::bigint and activity_id is not null`,
      ([id]) => integerCell(id),
    );
    const { instance, executionId } = place;
    const queued = await tx.run(statement, { instance, executionId });
    const messages = await this.messagesOf(tx, place);
    return new Set([...queued, ...messages.map(({ scheduleId }) => scheduleId)]);
  }

  async runAgain(
    tx: Transaction,
    { nowMs, status, instance, executionId }: ResetPlace & { nowMs: Ms; status: { text: string | null } | undefined },
  ): Promise<void> {
    const { instances, executions } = this.ctx.tables;
    const execution = this.ctx.statement(
      'reset: execution',
      () => sql`update ${executions} set status = 'Running', output = null, completed_at = null
        where instance_id = ${text('instance')} and execution_id = ${value('executionId')}::bigint`,
      noRow,
    );
    const touched = this.ctx.statement(
      'reset: touch',
      () => sql`update ${instances} set updated_at = ${value('nowAt')}::timestamptz where instance_id = ${text('instance')}`,
      noRow,
    );
    const customStatus = this.ctx.statement(
      'reset: custom status',
      () => sql`update ${instances} set custom_status = ${value('status')}::text,
        custom_status_version = custom_status_version + 1 where instance_id = ${text('instance')}`,
      noRow,
    );
    await tx.run(execution, { instance, executionId });
    await tx.run(touched, { instance, nowAt: moment(nowMs) });
    if (status !== undefined) await tx.run(customStatus, { instance, status: status.text });
  }

  /** `undefined` for a child that has neither run nor is queued; `queued` for one that is. */
  async childState(tx: Transaction, child: string): Promise<{ status: string; output: string | null } | undefined> {
    const { instances, executions, orchestratorQueue } = this.ctx.tables;
    const statement = this.ctx.statement(
      'reset: child',
      () => sql`select coalesce(e.status, 'Running'), e.output from ${instances} i
        left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
        where i.instance_id = ${text('child')}`,
      ([status, output]) => ({ status: textCell(status), output: output ?? null }),
    );
    const [known] = await tx.run(statement, { child });
    if (known) return known;
    const starts = this.ctx.statement(
      'reset: queued start',
      () => sql`select count(*) from ${orchestratorQueue} where instance_id = ${text('child')}
        and work_item like '%"StartOrchestration"%'`,
      ([count]) => integerCell(count),
    );
    const [queued] = await tx.run(starts, { child });
    return queued ? { status: 'queued', output: null } : undefined;
  }

  async insertWork(tx: Transaction, values: SqlValues): Promise<void> {
    await tx.run(this.ctx.statement('reset: work', () => insertIntoWorkerQueue(this.ctx), noRow), values);
  }

  async insertMessages(tx: Transaction, values: SqlValues): Promise<void> {
    await tx.run(this.ctx.statement('reset: messages', () => insertIntoOrchestratorQueue(this.ctx), noRow), values);
  }

  async unlock(tx: Transaction, instances: readonly string[]): Promise<void> {
    const statement = this.ctx.statement(
      'reset: unlock',
      () => sql`delete from ${this.ctx.tables.instanceLocks} where instance_id = any(${value('instances')}::text[])`,
      noRow,
    );
    await tx.run(statement, { instances });
  }

  /** Queued outcomes of the execution, by the event that scheduled them. */
  private async messagesOf(tx: Transaction, { instance, executionId }: ResetPlace) {
    const statement = this.ctx.statement(
      'reset: queued outcomes',
      () => sql`select id, work_item from ${this.ctx.tables.orchestratorQueue} where instance_id = ${text('instance')}`,
      ([rowId, item]) => ({ rowId: integerCell(rowId), item: textCell(item) }),
    );
    const rows = await tx.run(statement, { instance });
    return rows.flatMap(({ rowId, item }) => {
      const scheduleId = scheduleOf(item, executionId);
      return scheduleId === undefined ? [] : [{ rowId, scheduleId }];
    });
  }
}

/** The event that an outcome answers, if it is one of this execution. */
function scheduleOf(text: string, executionId: number): number | undefined {
  try {
    const item = decodeWorkItem(text);
    switch (item.kind) {
      case 'ActivityCompleted':
      case 'ActivityFailed':
      case 'TimerFired':
        return item.executionId === executionId ? item.id : undefined;
      case 'SubOrchCompleted':
      case 'SubOrchFailed':
        return (item.parentExecutionId ?? executionId) === executionId ? item.parentId : undefined;
      default:
        return undefined;
    }
  } catch (error) {
    // What cannot be read is set aside by the next fetch, as everywhere.
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
