import { type SQL, sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type {
  ChangeSchedule,
  FiredSchedules,
  ScheduleDecision,
  ScheduleDefinition,
  ScheduleFacts,
  ScheduleStore,
  StoredSchedule,
} from '../../schedules.js';
import { isMissingColumn, isMissingTable, missingMigration, missingTable } from '../admin/own-tables.js';
import { ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import type { Notifications } from '../notifications.js';
import { isRunning } from '../operations/is-running.js';
import { insertIntoOrchestratorQueue, orchestratorRow, orchestratorRows } from '../operations/queue-rows.js';
import { booleanCell, noRow, optionalIntegerCell, textCell } from '../statement.js';
import { inTransaction, readStatement, runStatement } from '../transaction.js';
import { startRow, storeStarts } from '../start-queues/enqueue-starts.js';
import { isWaitingInstance } from '../start-queues/queue-rows.js';
import {
  definitionAssignments,
  definitionColumns,
  definitionPlaceholders,
  definitionValues,
  scheduleColumns,
  scheduleOf,
} from './rows.js';

/** What gives schedules a place for the name of a start queue. */
const QUEUE_MIGRATION = '0004_schedule_queues';
/** Schedules fired in one transaction; the others follow in the next one. */
const BATCH = 50;

const value = (name: string) => sql.placeholder(name);

/** {@link ScheduleStore} in `ddz_schedules`. */
export class DrizzleScheduleStore implements ScheduleStore {
  constructor(
    private readonly ctx: ProviderContext,
    private readonly notifications: Notifications,
  ) {}

  async add(
    id: string,
    definition: ScheduleDefinition,
    { isPaused, nextFireMs }: Pick<StoredSchedule, 'isPaused' | 'nextFireMs'>,
  ): Promise<boolean> {
    const withQueue = definition.queue !== null;
    const names = definitionColumns(withQueue).map(([name]) => name);
    const statement = this.statement(
      `add${withQueue ? ' with queue' : ''}`,
      (table) => sql`insert into ${table} (schedule_id, ${sql.raw(names.join(', '))}, is_paused, next_fire_ms,
          fired_count, overlap_count, created_ms, updated_ms)
        values (${value('id')}, ${definitionPlaceholders(withQueue)}, ${value('isPaused')}::boolean, ${value('next')}::bigint, 0, 0, ${value('now')}::bigint, ${value('now')}::bigint)
        on conflict (schedule_id) do nothing returning schedule_id`,
      ([stored]) => textCell(stored),
    );
    const values = { id, ...definitionValues(definition), isPaused, next: nextFireMs };
    const stored = await this.guarded('create_schedule', () =>
      runStatement(this.ctx, 'create_schedule', statement, (nowMs) => ({ ...values, now: nowMs })),
    );
    if (stored.length > 0) this.changed();
    return stored.length > 0;
  }

  async find(id: string): Promise<StoredSchedule | undefined> {
    const statement = this.statement(
      'find',
      (table) => sql`select ${scheduleColumns(this.ctx)} from ${table} s where s.schedule_id = ${value('id')}`,
      scheduleOf,
    );
    const [schedule] = await this.guarded('get_schedule', () =>
      readStatement(this.ctx, 'get_schedule', statement, { id }),
    );
    return schedule;
  }

  list(): Promise<StoredSchedule[]> {
    const statement = this.statement(
      'list',
      (table) => sql`select ${scheduleColumns(this.ctx)} from ${table} s order by s.schedule_id collate "C"`,
      scheduleOf,
    );
    return this.guarded('list_schedules', () => readStatement(this.ctx, 'list_schedules', statement));
  }

  async change(id: string, change: ChangeSchedule): Promise<readonly string[] | undefined> {
    const statement = this.statement(
      'lock',
      (table) => sql`select ${scheduleColumns(this.ctx)} from ${table} s where s.schedule_id = ${value('id')} for update`,
      scheduleOf,
    );
    // The caller's own refusal is no failure of the store, and goes out as it is.
    let refusal: { readonly error: unknown } | undefined;
    const decide: ChangeSchedule = (stored, facts) => {
      try {
        return change(stored, facts);
      } catch (error) {
        refusal = { error };
        throw error;
      }
    };
    const started = await this.guarded('change_schedule', () =>
      inTransaction(this.ctx, 'change_schedule', async (tx, nowMs) => {
        const [stored] = await tx.run(statement, { id });
        if (!stored) return undefined;
        const decision = decide(stored, { nowMs, isLastRunning: await this.isRunning(tx, stored) });
        const isIn = await this.enqueue(tx, stored, decision, nowMs);
        // Nothing of it stays: whoever starts by hand is told.
        if (!isIn) throw ProviderError.permanent('change_schedule', noQueueText(decision.definition ?? stored));
        return this.carryOut(tx, stored, decision, nowMs);
      }),
    ).catch((error: unknown) => {
      throw refusal ? refusal.error : error;
    });
    if (started) this.changed();
    this.woken(started ?? []);
    return started;
  }

  async remove(id: string): Promise<boolean> {
    const statement = this.statement(
      'remove',
      (table) => sql`delete from ${table} where schedule_id = ${value('id')} returning schedule_id`,
      ([removed]) => textCell(removed),
    );
    const removed = await this.guarded('delete_schedule', () =>
      runStatement(this.ctx, 'delete_schedule', statement, { id }),
    );
    if (removed.length > 0) this.changed();
    return removed.length > 0;
  }

  async fireDue(
    decide: (stored: StoredSchedule, facts: ScheduleFacts) => ScheduleDecision,
  ): Promise<FiredSchedules> {
    const operation = 'fire_schedules';
    // Most looks find nothing: they lock nothing, and are no transaction.
    const before = await this.guarded(operation, () => this.nextFireMs());
    if (before === null || before > this.ctx.clock.nowMs()) return { started: [], nextFireMs: before };
    const due = this.statement(
      'due',
      (table) => sql`select ${scheduleColumns(this.ctx)} from ${table} s where s.next_fire_ms <= ${value('now')}::bigint
        order by s.next_fire_ms limit ${sql.raw(String(BATCH))} for update skip locked`,
      scheduleOf,
    );
    const fired = await this.guarded(operation, () =>
      inTransaction(this.ctx, operation, async (tx, nowMs) => {
        const started: string[] = [];
        for (const stored of await tx.run(due, { now: nowMs })) {
          const decision = decide(stored, { nowMs, isLastRunning: await this.isRunning(tx, stored) });
          const isIn = await this.enqueue(tx, stored, decision, nowMs);
          started.push(...(await this.carryOut(tx, stored, isIn ? decision : withoutQueue(stored), nowMs)));
        }
        const [next = null] = await tx.run(this.nextStatement());
        return { started, nextFireMs: next };
      }),
    );
    this.woken(fired.started);
    return fired;
  }

  onChanged(listener: () => void): () => void {
    return this.notifications.onChanged('schedules', listener);
  }

  private async nextFireMs(): Promise<Ms | null> {
    const [next = null] = await readStatement(this.ctx, 'next_schedule', this.nextStatement());
    return next;
  }

  private nextStatement() {
    return this.statement(
      'next',
      (table) => sql`select min(next_fire_ms) from ${table}`,
      ([next]) => optionalIntegerCell(next),
    );
  }

  /** Only a schedule that cares is asked about. */
  private async isRunning(tx: Transaction, { overlap, lastInstance, queue }: StoredSchedule): Promise<boolean> {
    if (overlap !== 'skip' || lastInstance === null) return false;
    const looksAtQueues = queue !== null || this.ctx.startQueues.present;
    const statement = this.statement(
      `running${looksAtQueues ? ' or waiting' : ''}`,
      () => sql`select ${isRunning(this.ctx, sql`${value('instance')}::text`)} ${
        looksAtQueues
          ? sql`or exists (select from ${this.ctx.ownTables.queuedStarts} q
              where q.instance_id = ${value('instance')}::text and ${isWaitingInstance('q')})`
          : sql``
      }`,
      ([running]) => booleanCell(running),
    );
    const [running = false] = await tx.run(statement, { instance: lastInstance });
    return running;
  }

  /**
   * The messages of a decision, into the start queue of the schedule or past queues. One that
   * is there already stays as it is: a fire that is repeated is none.
   * @returns `false` when the queue is not there; then nothing was enqueued
   */
  private async enqueue(
    tx: Transaction,
    stored: StoredSchedule,
    { starts, definition = stored }: ReturnType<ChangeSchedule>,
    nowMs: Ms,
  ): Promise<boolean> {
    if (starts.length === 0) return true;
    const { queue, key, priority } = definition;
    if (queue === null) {
      const insert = this.ctx.statement('enqueue: orchestrator', () => insertIntoOrchestratorQueue(this.ctx), noRow);
      await tx.run(insert, orchestratorRows(starts.map((item) => orchestratorRow(item)), nowMs));
      return true;
    }
    const rows = starts.map((item) => startRow({ item, queue, key, priority }));
    return !(await storeStarts(this.ctx, tx, rows, nowMs)).includes('unknownQueue');
  }

  private async carryOut(
    tx: Transaction,
    { id, ...stored }: StoredSchedule,
    { starts, after, overlaps, definition = stored }: ReturnType<ChangeSchedule>,
    nowMs: Ms,
  ): Promise<readonly string[]> {
    const withQueue = definition.queue !== null || stored.queue !== null;
    const update = this.statement(
      `update${withQueue ? ' with queue' : ''}`,
      (table) => sql`update ${table} set ${definitionAssignments(withQueue)}, is_paused = ${value('isPaused')}::boolean, problem = ${value('problem')}::text,
        next_fire_ms = ${value('next')}::bigint, last_fire_ms = ${value('last')}::bigint,
        last_instance = ${value('lastInstance')}::text, fired_count = fired_count + ${value('fired')}::bigint,
        overlap_count = overlap_count + ${value('overlaps')}::bigint, updated_ms = ${value('now')}::bigint
        where schedule_id = ${value('id')}`,
      noRow,
    );
    await tx.run(update, {
      id,
      ...definitionValues(definition),
      isPaused: after.isPaused,
      problem: after.problem,
      next: after.nextFireMs,
      last: after.lastFireMs,
      lastInstance: after.lastInstance,
      fired: starts.length,
      overlaps,
      now: nowMs,
    });
    return starts.map(({ instance }) => instance);
  }

  private changed(): void {
    this.notifications.changed('schedules');
  }

  private woken(started: readonly string[]): void {
    if (started.length > 0) this.ctx.wake('orchestrator');
    if (started.length > 0 && this.ctx.startQueues.present) this.ctx.wake('startQueues');
  }

  private statement<Row>(
    key: string,
    build: (table: SQL) => SQL,
    decode: Parameters<typeof this.ctx.statement<Row>>[2],
  ) {
    return this.ctx.statement(`schedules: ${key}`, () => build(sql`${this.ctx.ownTables.schedules}`), decode);
  }

  private async guarded<T>(operation: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isMissingColumn(error)) throw missingMigration(operation, this.ctx, QUEUE_MIGRATION, 'schedules with a start queue');
      throw isMissingTable(error) ? missingTable(operation, this.ctx, 'ddz_schedules') : error;
    }
  }
}

/** Of a schedule that is due and whose queue is not there: it is paused, as one that is not understood. */
function withoutQueue(stored: StoredSchedule): ScheduleDecision {
  return {
    starts: [],
    overlaps: 0,
    after: { ...stored, isPaused: true, nextFireMs: null, problem: noQueueText(stored) },
  };
}

function noQueueText({ queue }: Pick<ScheduleDefinition, 'queue'>): string {
  return `there is no start queue '${String(queue)}': create it by client.startQueues.create`;
}
