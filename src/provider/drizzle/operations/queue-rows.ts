import { type SQL, sql } from 'drizzle-orm';
import { encodeWorkItem, targetInstance, type WorkItem } from '../../../wire/work-item.js';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { moment } from './moment.js';

/** An item for the orchestrator queue, as it will be stored. */
export interface OrchestratorRow {
  readonly instance: string;
  readonly text: string;
  /** Unix ms at which a timer fires; absent: at once, but for the delay. */
  readonly fireAtMs?: Ms | undefined;
  readonly delayMs?: Ms | undefined;
}

/** An item for the worker queue, as it will be stored; the copies of its fields are null but for activities. */
export interface WorkerRow {
  readonly text: string;
  readonly instance: string | null;
  readonly executionId: number | null;
  readonly activityId: number | null;
  readonly sessionId: string | null;
  readonly tag: string | null;
  /** The token under which the row is stored locked; absent: it is free. */
  readonly lockToken?: string | undefined;
}

export function orchestratorRow(item: WorkItem, delayMs?: Ms): OrchestratorRow {
  return {
    instance: targetInstance(item),
    text: encodeWorkItem(item),
    ...(item.kind === 'TimerFired' && item.fireAtMs > 0 ? { fireAtMs: item.fireAtMs } : {}),
    ...(delayMs === undefined ? {} : { delayMs }),
  };
}

export function workerRow(item: WorkItem): WorkerRow {
  const text = encodeWorkItem(item);
  if (item.kind !== 'ActivityExecute') {
    return { text, instance: null, executionId: null, activityId: null, sessionId: null, tag: null };
  }
  const { instance, executionId, id, sessionId = null, tag = null } = item;
  return { text, instance, executionId, activityId: id, sessionId, tag };
}

/** When a row becomes visible: a timer at its moment, but not before its delay (provider.md 3.1.16). */
export function visibleAtMs({ fireAtMs, delayMs = 0 }: OrchestratorRow, nowMs: Ms): Ms {
  if (fireAtMs === undefined) return nowMs + Math.max(0, delayMs);
  return delayMs > 0 ? Math.max(fireAtMs, nowMs + delayMs) : fireAtMs;
}

const value = (name: string) => sql.placeholder(name);

/** Inserts {@link orchestratorRows} in their order. `where` may keep all of them out. */
export function insertIntoOrchestratorQueue({ tables }: ProviderContext, where: SQL = sql``): SQL {
  return sql`insert into ${tables.orchestratorQueue} (instance_id, work_item, visible_at, created_at)
    select u.instance_id, u.work_item, u.visible_at, ${value('nowAt')}::timestamptz
    from unnest(${value('orchestratorInstances')}::text[], ${value('orchestratorItems')}::text[],
      ${value('orchestratorVisibleAt')}::timestamptz[]) as u(instance_id, work_item, visible_at) ${where}`;
}

/** The values of {@link insertIntoOrchestratorQueue}. */
export function orchestratorRows(rows: readonly OrchestratorRow[], nowMs: Ms): SqlValues {
  return {
    nowAt: moment(nowMs),
    orchestratorInstances: rows.map(({ instance }) => instance),
    orchestratorItems: rows.map(({ text }) => text),
    orchestratorVisibleAt: rows.map((row) => moment(visibleAtMs(row, nowMs))),
  };
}

/** Inserts {@link workerRows} in their order. `where` may keep all of them out. */
export function insertIntoWorkerQueue({ tables }: ProviderContext, where: SQL = sql``): SQL {
  return sql`insert into ${tables.workerQueue}
      (work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id, tag)
    select u.work_item, ${value('nowAt')}::timestamptz, ${value('nowAt')}::timestamptz,
      u.instance_id, u.execution_id, u.activity_id, u.session_id, u.tag
    from unnest(${value('workerItems')}::text[], ${value('workerInstances')}::text[], ${value('workerExecutions')}::bigint[],
        ${value('workerActivities')}::bigint[], ${value('workerSessions')}::text[], ${value('workerTags')}::text[])
      as u(work_item, instance_id, execution_id, activity_id, session_id, tag) ${where}`;
}

/** As {@link insertIntoWorkerQueue}, for rows some of which are locked from the start: that is their first attempt. */
export function insertLockedIntoWorkerQueue({ tables }: ProviderContext): SQL {
  return sql`insert into ${tables.workerQueue}
      (work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id, tag,
        lock_token, locked_until, attempt_count)
    select u.work_item, ${value('nowAt')}::timestamptz, ${value('nowAt')}::timestamptz,
      u.instance_id, u.execution_id, u.activity_id, u.session_id, u.tag,
      u.lock_token, case when u.lock_token is not null then ${value('untilMs')}::bigint end,
      case when u.lock_token is null then 0 else 1 end
    from unnest(${value('workerItems')}::text[], ${value('workerInstances')}::text[], ${value('workerExecutions')}::bigint[],
        ${value('workerActivities')}::bigint[], ${value('workerSessions')}::text[], ${value('workerTags')}::text[],
        ${value('workerTokens')}::text[])
      as u(work_item, instance_id, execution_id, activity_id, session_id, tag, lock_token)`;
}

/** The values of {@link insertLockedIntoWorkerQueue}. */
export function lockedWorkerRows(rows: readonly WorkerRow[], nowMs: Ms, lockTimeoutMs: Ms): SqlValues {
  return {
    ...workerRows(rows, nowMs),
    workerTokens: rows.map(({ lockToken }) => lockToken ?? null),
    untilMs: nowMs + lockTimeoutMs,
  };
}

/** The values of {@link insertIntoWorkerQueue}. */
export function workerRows(rows: readonly WorkerRow[], nowMs: Ms): SqlValues {
  return {
    nowAt: moment(nowMs),
    workerItems: rows.map(({ text }) => text),
    workerInstances: rows.map(({ instance }) => instance),
    workerExecutions: rows.map(({ executionId }) => executionId),
    workerActivities: rows.map(({ activityId }) => activityId),
    workerSessions: rows.map(({ sessionId }) => sessionId),
    workerTags: rows.map(({ tag }) => tag),
  };
}
