import type { FunctionFamily } from './stored-function.js';
import { moment } from './stored-function.js';

export const statistics: FunctionFamily = (s) => [
  {
    name: 'get_instance_stats',
    args: ['p_instance text'],
    returns:
      'table(out_found boolean, out_history_event_count bigint, out_history_size_bytes bigint, ' +
      'out_queue_pending_count bigint, out_kv_user_key_count bigint, out_kv_total_value_bytes bigint)',
    body: `
declare
  v_current bigint;
  v_first jsonb;
begin
  select i.current_execution_id into v_current from ${s}.instances i where i.instance_id = p_instance;
  if not found then
    return query select false, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint;
    return;
  end if;
  -- What was carried over stands in the first event; one that cannot be read carried nothing.
  begin
    select h.event_data::jsonb into v_first from ${s}.history h
      where h.instance_id = p_instance and h.execution_id = v_current and h.event_id = 1;
  exception when data_exception or program_limit_exceeded then
    v_first := null;
  end;
  return query select true,
    (select count(*) from ${s}.history h where h.instance_id = p_instance and h.execution_id = v_current),
    (select coalesce(sum(octet_length(h.event_data)), 0)::bigint from ${s}.history h
      where h.instance_id = p_instance and h.execution_id = v_current),
    case when jsonb_typeof(v_first->'carry_forward_events') = 'array'
      then jsonb_array_length(v_first->'carry_forward_events')::bigint else 0::bigint end,
    -- Native's formula, so that both providers give equal numbers (P:T-13).
    (select count(*) from (
      select k.key from ${s}.kv_store k where k.instance_id = p_instance
      union
      select d.key from ${s}.kv_delta d where d.instance_id = p_instance and d.value is not null) keys),
    (select coalesce(sum(octet_length(k.value)), 0)::bigint from ${s}.kv_store k where k.instance_id = p_instance)
      + (select coalesce(sum(octet_length(d.value)), 0)::bigint from ${s}.kv_delta d where d.instance_id = p_instance);
end`,
  },
  {
    name: 'get_system_metrics',
    args: [],
    returns:
      'table(total_instances bigint, total_executions bigint, running_instances bigint, ' +
      'completed_instances bigint, failed_instances bigint, total_events bigint)',
    body: `
begin
  return query select count(*),
      (select count(*) from ${s}.executions),
      count(*) filter (where e.status = 'Running'),
      count(*) filter (where e.status = 'Completed'),
      count(*) filter (where e.status = 'Failed'),
      (select count(*) from ${s}.history)
    from ${s}.instances i
    left join ${s}.executions e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id;
end`,
  },
  {
    name: 'get_queue_depths',
    args: ['p_now_ms bigint'],
    returns: 'table(orchestrator_queue bigint, worker_queue bigint)',
    body: `
declare
  v_now timestamptz := ${moment('p_now_ms')};
begin
  return query select
    (select count(*) from ${s}.orchestrator_queue q
      where q.visible_at <= v_now and (q.lock_token is null or q.locked_until <= p_now_ms)),
    (select count(*) from ${s}.worker_queue w
      where w.visible_at <= v_now and (w.lock_token is null or w.locked_until <= p_now_ms));
end`,
  },
];
