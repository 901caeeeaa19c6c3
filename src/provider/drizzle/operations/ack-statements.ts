import { type SQL, sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';
import { integerCell, noRow, type Statement, textCell } from '../statement.js';
import type { InstanceState } from '../../provider.js';
import { UNKNOWN_VERSION } from './instance-states.js';
import { insertIntoOrchestratorQueue, insertIntoWorkerQueue, insertLockedIntoWorkerQueue } from './queue-rows.js';

/*
 * The statements of an acknowledgement behind the first one. All of them write for turns
 * whose lock rows this transaction holds, so that what a left join shows of a row cannot
 * change before the row is written.
 */

type Step = Statement<undefined>;
const value = (name: string) => sql.placeholder(name);
/** A key of two columns as one text, with a length in front so that no other pair looks like it. */
const pair = sql`octet_length(instance_id)::text || ' ' || instance_id || key`;

/**
 * Instance rows: made by the first turn that names its orchestration, updated by every
 * turn. Name and version come from the row where they are not given, because NOT NULL is
 * checked before the conflict. Without name and row nothing is written (P:T-24).
 */
export function upsertInstances(ctx: ProviderContext): Step {
  return ctx.statement('ack: instances', () => upsertOfInstances(ctx), noRow);
}

/** What the row of an instance says of one that has just ended. */
export type EndedInstance = Omit<InstanceState, 'status' | 'output'>;

/** As {@link upsertInstances}; answers with the rows of `ended`, as they are now. */
export function upsertInstancesOfEnds(ctx: ProviderContext): Statement<EndedInstance> {
  return ctx.statement(
    'ack: instances, some of which end',
    () => sql`with upserted as (${upsertOfInstances(ctx)}
        returning instance_id, orchestration_name, orchestration_version, current_execution_id,
          custom_status, custom_status_version)
      select instance_id, orchestration_name, orchestration_version, current_execution_id,
        custom_status, custom_status_version
      from upserted where instance_id = any(${value('ended')}::text[])`,
    ([instance, name, version, execution, customStatus, customStatusVersion]) => ({
      instance: textCell(instance),
      orchestrationName: textCell(name),
      orchestrationVersion: version ?? UNKNOWN_VERSION,
      executionId: integerCell(execution),
      customStatus: customStatus ?? null,
      customStatusVersion: integerCell(customStatusVersion),
    }),
  );
}

function upsertOfInstances({ tables: { instances } }: ProviderContext): SQL {
  return sql`insert into ${instances} (instance_id, orchestration_name, orchestration_version, current_execution_id,
      created_at, updated_at, parent_instance_id, custom_status, custom_status_version)
    select u.instance_id, coalesce(u.name, i.orchestration_name), coalesce(u.version, i.orchestration_version),
      greatest(u.execution_id, i.current_execution_id), ${value('nowAt')}::timestamptz, ${value('nowAt')}::timestamptz,
      coalesce(i.parent_instance_id, u.parent),
      case when u.sets_status then u.status else i.custom_status end,
      coalesce(i.custom_status_version, 0) + case when u.sets_status then 1 else 0 end
    from unnest(${value('instances')}::text[], ${value('names')}::text[], ${value('versions')}::text[],
        ${value('executions')}::bigint[], ${value('parents')}::text[], ${value('setsStatus')}::boolean[],
        ${value('customStatuses')}::text[])
      as u(instance_id, name, version, execution_id, parent, sets_status, status)
    left join ${instances} i on i.instance_id = u.instance_id
    where coalesce(u.name, i.orchestration_name) is not null
    on conflict (instance_id) do update set
      orchestration_name = excluded.orchestration_name,
      orchestration_version = excluded.orchestration_version,
      current_execution_id = excluded.current_execution_id,
      updated_at = excluded.updated_at,
      parent_instance_id = excluded.parent_instance_id,
      custom_status = excluded.custom_status,
      custom_status_version = excluded.custom_status_version`;
}

/**
 * Execution rows: made where they are missing, updated where the turn gives a status or a
 * pin. A batch of late messages for an instance that never existed makes none (P:T-10).
 */
export function upsertExecutions(ctx: ProviderContext): Step {
  const { executions, instances } = ctx.tables;
  return ctx.statement(
    'ack: executions',
    () => sql`insert into ${executions} (instance_id, execution_id, status, output, started_at, completed_at,
        duroxide_version_major, duroxide_version_minor, duroxide_version_patch)
      select u.instance_id, u.execution_id, coalesce(u.status, e.status, 'Running'),
        case when u.status is null then e.output else u.output end,
        ${value('nowAt')}::timestamptz,
        case when u.status is null then e.completed_at
          when u.status in ('Completed', 'Failed') then ${value('nowAt')}::timestamptz end,
        coalesce(u.major, e.duroxide_version_major), coalesce(u.minor, e.duroxide_version_minor),
        coalesce(u.patch, e.duroxide_version_patch)
      from unnest(${value('instances')}::text[], ${value('executions')}::bigint[], ${value('statuses')}::text[],
          ${value('outputs')}::text[], ${value('majors')}::int[], ${value('minors')}::int[], ${value('patches')}::int[],
          ${value('isLate')}::boolean[])
        as u(instance_id, execution_id, status, output, major, minor, patch, is_late)
      left join ${executions} e on e.instance_id = u.instance_id and e.execution_id = u.execution_id
      left join ${instances} i on i.instance_id = u.instance_id
      where (e.instance_id is null or u.status is not null or u.major is not null)
        and (not u.is_late or i.instance_id is not null)
      on conflict (instance_id, execution_id) do update set
        status = excluded.status,
        output = excluded.output,
        completed_at = excluded.completed_at,
        duroxide_version_major = excluded.duroxide_version_major,
        duroxide_version_minor = excluded.duroxide_version_minor,
        duroxide_version_patch = excluded.duroxide_version_patch`,
    noRow,
  );
}

/** No conflict clause: an event id that is taken fails the turn. */
export function insertHistory(ctx: ProviderContext): Step {
  return ctx.statement(
    'ack: history',
    () => sql`insert into ${ctx.tables.history} (instance_id, execution_id, event_id, event_type, event_data, created_at)
      select u.instance_id, u.execution_id, u.event_id, 'Event', u.event_data, ${value('nowAt')}::timestamptz
      from unnest(${value('eventInstances')}::text[], ${value('eventExecutions')}::bigint[], ${value('eventIds')}::bigint[],
          ${value('eventTexts')}::text[]) as u(instance_id, execution_id, event_id, event_data)`,
    noRow,
  );
}

/** A clear-all: tombstones for every key that is stored, in the store or in the delta. */
export function clearAllKv(ctx: ProviderContext): Step {
  const { kvStore, kvDelta } = ctx.tables;
  return ctx.statement(
    'ack: clear all keys',
    () => sql`insert into ${kvDelta} as d (instance_id, key, value, last_updated_at_ms)
      select k.instance_id, k.key, null, ${value('nowMs')}::bigint
      from (select instance_id, key from ${kvStore} where instance_id = any(${value('cleared')}::text[])
        union select instance_id, key from ${kvDelta} where instance_id = any(${value('cleared')}::text[])) k
      on conflict (instance_id, key) do update set value = null, last_updated_at_ms = excluded.last_updated_at_ms`,
    noRow,
  );
}

export function upsertKvDelta(ctx: ProviderContext): Step {
  return ctx.statement(
    'ack: keys',
    () => sql`insert into ${ctx.tables.kvDelta} (instance_id, key, value, last_updated_at_ms)
      select u.instance_id, u.key, u.value, u.at_ms
      from unnest(${value('kvInstances')}::text[], ${value('kvKeys')}::text[], ${value('kvValues')}::text[],
          ${value('kvAtMs')}::bigint[]) as u(instance_id, key, value, at_ms)
      on conflict (instance_id, key) do update set value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms`,
    noRow,
  );
}

/**
 * The delta of finished executions moves into the store: tombstones delete, values
 * replace.
 */
export function mergeKv(ctx: ProviderContext): Step {
  const { kvStore, kvDelta } = ctx.tables;
  return ctx.statement(
    'ack: merge keys',
    () => sql`with delta as (
        delete from ${kvDelta} where instance_id = any(${value('finished')}::text[])
        returning instance_id, key, value, last_updated_at_ms
      ), removed as (
        delete from ${kvStore} where instance_id = any(${value('finished')}::text[])
          and ${pair} in (select ${pair} from delta where value is null)
        returning key
      ), stored as (
        insert into ${kvStore} (instance_id, key, value, execution_id, last_updated_at_ms)
        select d.instance_id, d.key, d.value, u.execution_id, d.last_updated_at_ms
        from delta d
        join unnest(${value('finished')}::text[], ${value('finishedExecutions')}::bigint[]) as u(instance_id, execution_id)
          on u.instance_id = d.instance_id
        where d.value is not null
        on conflict (instance_id, key) do update set value = excluded.value, execution_id = excluded.execution_id,
          last_updated_at_ms = excluded.last_updated_at_ms
        returning key
      )
      select key from stored`,
    noRow,
  );
}

export function insertWorkerItems(ctx: ProviderContext): Step {
  return ctx.statement('ack: worker items', () => insertIntoWorkerQueue(ctx), noRow);
}

export function insertLockedWorkerItems(ctx: ProviderContext): Step {
  return ctx.statement('ack: locked worker items', () => insertLockedIntoWorkerQueue(ctx), noRow);
}

export function insertOrchestratorItems(ctx: ProviderContext): Step {
  return ctx.statement('ack: orchestrator items', () => insertIntoOrchestratorQueue(ctx), noRow);
}

/** The end of the turns: cancelled activities, consumed messages and the locks go. Messages that came meanwhile stay. */
export function consume(ctx: ProviderContext, { cancels }: { readonly cancels: boolean }): Step {
  const { orchestratorQueue, instanceLocks } = ctx.tables;
  return ctx.statement(
    `ack: consume${cancels ? ' and cancel' : ''}`,
    () => sql`with ${cancels ? cancelledPart(ctx) : sql``}consumed as (
        delete from ${orchestratorQueue} where lock_token = any(${value('lockTokens')}::text[]) returning id
      ), unlocked as (
        delete from ${instanceLocks}
        where instance_id = any(${value('instances')}::text[]) and lock_token = any(${value('lockTokens')}::text[])
        returning instance_id
      )
      select instance_id from unlocked`,
    noRow,
  );
}

/** Locked by a worker or not: it learns of it when its renewal or acknowledgement fails. */
function cancelledPart({ tables: { workerQueue } }: ProviderContext): SQL {
  return sql`cancelled as (
      delete from ${workerQueue} where id in (
        select w.id from unnest(${value('cancelledInstances')}::text[], ${value('cancelledExecutions')}::bigint[],
            ${value('cancelledActivities')}::bigint[]) as u(instance_id, execution_id, activity_id)
        join ${workerQueue} w on w.instance_id = u.instance_id and w.execution_id = u.execution_id
          and w.activity_id = u.activity_id)
      returning id
    ), `;
}
