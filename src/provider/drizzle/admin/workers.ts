import { sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import {
  WORKER_FORGOTTEN_AFTER_MS,
  WORKER_GONE_AFTER_MS,
  type WorkerHeartbeat,
  type WorkerInfo,
  type WorkerState,
} from '../../workers.js';
import type { ProviderContext } from '../context.js';
import { moment } from '../operations/moment.js';
import { booleanCell, type Cell, integerCell, momentCell, noRow, textCell } from '../statement.js';
import { readStatement, runStatement } from '../transaction.js';
import { isMissingTable, missingTable } from './own-tables.js';

const value = (name: string) => sql.placeholder(name);

/** Runtimes that told of themselves, the latest first. @throws UnsupportedError without `ddz_workers` */
export async function listWorkers(ctx: ProviderContext): Promise<WorkerInfo[]> {
  const nowMs = ctx.clock.nowMs();
  const statement = ctx.statement(
    'admin: workers',
    () => sql`select runtime_id, host, pid, package_version, orchestration_slots_in_use, orchestration_slots,
        activity_slots_in_use, activity_slots, started_at, last_seen_ms, is_stopped, counters
      from ${ctx.ownTables.workers} order by last_seen_ms desc, runtime_id limit 1000`,
    (cells) => cells,
  );
  try {
    const rows = await readStatement(ctx, 'workers', statement);
    return rows.map((cells) => workerOf(cells, nowMs));
  } catch (error) {
    throw isMissingTable(error) ? missingTable('workers', ctx, 'ddz_workers') : error;
  }
}

/** Notes that a runtime lives, and forgets those of yesterday. @returns false without `ddz_workers` */
export async function recordWorker(ctx: ProviderContext, heartbeat: WorkerHeartbeat): Promise<boolean> {
  const { workers } = ctx.ownTables;
  const statement = ctx.statement(
    'admin: heartbeat',
    () => sql`with forgotten as (
        delete from ${workers} where last_seen_ms < ${value('forgetBefore')}::bigint returning runtime_id
      )
      insert into ${workers} (runtime_id, host, pid, package_version, orchestration_slots_in_use, orchestration_slots,
        activity_slots_in_use, activity_slots, started_at, last_seen_ms, is_stopped, counters)
      values (${value('runtimeId')}, ${value('host')}, ${value('pid')}::int, ${value('version')},
        ${value('turns')}::int, ${value('turnSlots')}::int, ${value('activities')}::int, ${value('activitySlots')}::int,
        ${value('startedAt')}::timestamptz, ${value('now')}::bigint, ${value('isStopped')}::boolean, ${value('counters')})
      on conflict (runtime_id) do update set
        orchestration_slots_in_use = excluded.orchestration_slots_in_use,
        activity_slots_in_use = excluded.activity_slots_in_use,
        last_seen_ms = excluded.last_seen_ms, is_stopped = excluded.is_stopped, counters = excluded.counters`,
    noRow,
  );
  try {
    await runStatement(ctx, 'record_worker', statement, (nowMs) => ({
      forgetBefore: nowMs - WORKER_FORGOTTEN_AFTER_MS,
      runtimeId: heartbeat.runtimeId,
      host: heartbeat.host,
      pid: heartbeat.pid,
      version: heartbeat.packageVersion,
      turns: heartbeat.orchestrationSlots.inUse,
      turnSlots: heartbeat.orchestrationSlots.total,
      activities: heartbeat.activitySlots.inUse,
      activitySlots: heartbeat.activitySlots.total,
      startedAt: moment(heartbeat.startedAtMs),
      now: nowMs,
      isStopped: heartbeat.isStopping,
      counters: JSON.stringify(heartbeat.counters),
    }));
    return true;
  } catch (error) {
    if (isMissingTable(error)) return false;
    throw error;
  }
}

function workerOf(cells: readonly Cell[], nowMs: Ms): WorkerInfo {
  const [id, host, pid, version, turns, turnSlots, activities, activitySlots, startedAt, seen, stopped, counters] = cells;
  const lastSeenMs = integerCell(seen);
  return {
    runtimeId: textCell(id),
    host: textCell(host),
    pid: integerCell(pid),
    packageVersion: textCell(version),
    orchestrationSlots: { inUse: integerCell(turns), total: integerCell(turnSlots) },
    activitySlots: { inUse: integerCell(activities), total: integerCell(activitySlots) },
    startedAtMs: momentCell(startedAt),
    lastSeenMs,
    state: stateOf(booleanCell(stopped), nowMs - lastSeenMs),
    counters: countersOf(textCell(counters)),
  };
}

function stateOf(isStopped: boolean, silentForMs: Ms): WorkerState {
  if (isStopped) return 'stopped';
  return silentForMs > WORKER_GONE_AFTER_MS ? 'gone' : 'running';
}

/** What a newer version may write is taken as far as it is numbers by name. */
function countersOf(text: string): Readonly<Record<string, number>> {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null) return {};
  return Object.fromEntries(Object.entries(parsed).filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}
