import type { FunctionFamily } from './stored-function.js';
import { findLockedInstance, moment } from './stored-function.js';

/** The elements of a JSON array that may be absent or null. */
const elements = (json: string) =>
  `jsonb_array_elements(case when jsonb_typeof(${json}) = 'array' then ${json} else '[]' end)`;

/** The instance, where the turn says what it is; else only what every turn changes. */
const writeInstance = (s: string) => `
  if v_name is not null and v_version is not null then
    insert into ${s}.instances as i (instance_id, orchestration_name, orchestration_version, current_execution_id,
        created_at, updated_at, parent_instance_id, custom_status, custom_status_version)
      values (v_instance_id, v_name, v_version, p_execution_id, v_now, v_now, p_metadata->>'parent_instance_id',
        v_status_text, v_status_changes)
      on conflict (instance_id) do update
        set orchestration_name = excluded.orchestration_name,
            orchestration_version = excluded.orchestration_version,
            current_execution_id = greatest(i.current_execution_id, excluded.current_execution_id),
            updated_at = excluded.updated_at,
            parent_instance_id = coalesce(i.parent_instance_id, excluded.parent_instance_id),
            custom_status = case v_status_changes when 1 then v_status_text else i.custom_status end,
            custom_status_version = i.custom_status_version + v_status_changes;
  else
    update ${s}.instances i
      set current_execution_id = greatest(i.current_execution_id, p_execution_id),
          updated_at = v_now,
          custom_status = case v_status_changes when 1 then v_status_text else i.custom_status end,
          custom_status_version = i.custom_status_version + v_status_changes
      where i.instance_id = v_instance_id;
    v_exists := found;
  end if;`;

/**
 * The execution. A turn that says nothing about an instance that nobody started, such
 * as a stray event, leaves none behind (P:T-10). A given status replaces the output (P:T-23).
 */
const writeExecution = (s: string) => `
  if v_exists or v_name is not null or v_status is not null or jsonb_array_length(p_history_delta) > 0 then
    insert into ${s}.executions as e (instance_id, execution_id, status, output, started_at, completed_at,
        duroxide_version_major, duroxide_version_minor, duroxide_version_patch)
      values (v_instance_id, p_execution_id, coalesce(v_status, 'Running'),
        case when v_status is not null then p_metadata->>'output' end, v_now,
        case when v_status in ('Completed', 'Failed') then v_now end,
        (v_pin->>'major')::integer, (v_pin->>'minor')::integer, (v_pin->>'patch')::integer)
      on conflict (instance_id, execution_id) do update
        set status = case when v_status is null then e.status else excluded.status end,
            output = case when v_status is null then e.output else excluded.output end,
            completed_at = case when v_status is null then e.completed_at else excluded.completed_at end,
            duroxide_version_major = coalesce(excluded.duroxide_version_major, e.duroxide_version_major),
            duroxide_version_minor = coalesce(excluded.duroxide_version_minor, e.duroxide_version_minor),
            duroxide_version_patch = coalesce(excluded.duroxide_version_patch, e.duroxide_version_patch)
        where v_status is not null or v_pin is not null;
  end if;`;

/** Changes of keys, in the order of their events, as a layer over what finished executions left. */
const writeKeyValues = (s: string) => `
  if p_metadata->'kv_mutations' <> '[]' then
    for v_change in select value from ${elements("p_metadata->'kv_mutations'")} loop
      if v_change->>'action' = 'clear_all' then
        update ${s}.kv_delta d set value = null, last_updated_at_ms = p_now_ms where d.instance_id = v_instance_id;
        insert into ${s}.kv_delta (instance_id, key, value, last_updated_at_ms)
          select k.instance_id, k.key, null, p_now_ms from ${s}.kv_store k where k.instance_id = v_instance_id
          on conflict (instance_id, key) do nothing;
      else
        insert into ${s}.kv_delta (instance_id, key, value, last_updated_at_ms)
          values (v_instance_id, v_change->>'key',
            case v_change->>'action' when 'set' then v_change->>'value' end,
            case v_change->>'action' when 'set' then (v_change->>'last_updated_at_ms')::bigint else p_now_ms end)
          on conflict (instance_id, key) do update
            set value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms;
      end if;
    end loop;
  end if;`;

/** The end of an execution makes its changes permanent. Tombstones first: moving the rows out loses them. */
const mergeKeyValues = (s: string) => `
  if v_status in ('Completed', 'Failed', 'ContinuedAsNew') then
    delete from ${s}.kv_store k using ${s}.kv_delta d
      where k.instance_id = v_instance_id and d.instance_id = v_instance_id and d.key = k.key and d.value is null;
    with moved as (
      delete from ${s}.kv_delta d where d.instance_id = v_instance_id returning d.key, d.value, d.last_updated_at_ms
    )
    insert into ${s}.kv_store (instance_id, key, value, execution_id, last_updated_at_ms)
      select v_instance_id, m.key, m.value, p_execution_id, m.last_updated_at_ms from moved m where m.value is not null
      on conflict (instance_id, key) do update
        set value = excluded.value, execution_id = excluded.execution_id,
            last_updated_at_ms = excluded.last_updated_at_ms;
  end if;`;

export const orchestrationAck: FunctionFamily = (s) => [
  {
    name: 'ack_orchestration_item',
    args: [
      'p_lock_token text',
      'p_now_ms bigint',
      'p_execution_id bigint',
      'p_history_delta jsonb',
      'p_worker_items jsonb',
      'p_orchestrator_items jsonb',
      'p_metadata jsonb',
      "p_cancelled_activities jsonb default '[]'",
    ],
    returns: 'void',
    body: `
declare
  v_now timestamptz := ${moment('p_now_ms')};
  v_instance_id text;
  v_exists boolean := true;
  v_name text := p_metadata->>'orchestration_name';
  v_version text := p_metadata->>'orchestration_version';
  v_status text := p_metadata->>'status';
  v_pin jsonb := nullif(p_metadata->'pinned_duroxide_version', 'null');
  v_status_changes integer := case when p_metadata->>'custom_status_action' in ('set', 'clear') then 1 else 0 end;
  v_status_text text := case p_metadata->>'custom_status_action' when 'set' then p_metadata->>'custom_status_value' end;
  v_change jsonb;
begin
  -- The row lock is what keeps a second acknowledgement and a deletion out until we commit (P:T-7).${findLockedInstance(
    s,
    'and l.locked_until > p_now_ms',
    'for update',
  )}
  if v_instance_id is null then
    raise exception 'Invalid lock token';
  end if;
${writeInstance(s)}
${writeExecution(s)}

  -- No conflict clause: an event id that is taken must fail the whole turn.
  insert into ${s}.history (instance_id, execution_id, event_id, event_type, event_data, created_at)
    select v_instance_id, p_execution_id, (e.value->>'event_id')::bigint, e.value->>'event_type', e.value->>'event_data', v_now
    from ${elements('p_history_delta')} e;
${writeKeyValues(s)}
${mergeKeyValues(s)}

  -- Most turns leave most lists empty, and asking is cheaper than inserting nothing.
  if p_worker_items <> '[]' then
    insert into ${s}.worker_queue
        (work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id, tag)
      select w.value::text, v_now, v_now, a->>'instance', (a->>'execution_id')::bigint, (a->>'id')::bigint,
        a->>'session_id', a->>'tag'
      from ${elements('p_worker_items')} with ordinality w(value, place),
        lateral (select w.value->'ActivityExecute' as a) activity
      order by w.place;
  end if;
  -- After the inserts, so that what was scheduled and cancelled in one turn is gone in the end.
  if p_cancelled_activities <> '[]' then
    delete from ${s}.worker_queue w using ${elements('p_cancelled_activities')} c
      where w.instance_id = c.value->>'instance' and w.execution_id = (c.value->>'execution_id')::bigint
        and w.activity_id = (c.value->>'activity_id')::bigint;
  end if;

  if p_orchestrator_items <> '[]' then
    insert into ${s}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
      select case when b.kind in ('SubOrchCompleted', 'SubOrchFailed') then b.body->>'parent_instance' else b.body->>'instance' end,
        o.value::text,
        case when b.kind = 'TimerFired' and (b.body->>'fire_at_ms')::bigint > 0
          then ${moment("least((b.body->>'fire_at_ms')::bigint, 8640000000000000)")} else v_now end, v_now
      from ${elements('p_orchestrator_items')} with ordinality o(value, place),
        lateral (select e.key as kind, e.value as body from jsonb_each(o.value) e limit 1) b
      order by o.place;
  end if;

  delete from ${s}.orchestrator_queue q where q.lock_token = p_lock_token;
  delete from ${s}.instance_locks l where l.instance_id = v_instance_id and l.lock_token = p_lock_token;
end`,
  },
];
