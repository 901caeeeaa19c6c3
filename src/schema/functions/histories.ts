import type { FunctionFamily } from './stored-function.js';

export const histories: FunctionFamily = (s) => [
  {
    name: 'append_history',
    args: ['p_instance_id text', 'p_execution_id bigint', 'p_events jsonb'],
    returns: 'void',
    body: `
begin
  if exists (select from jsonb_array_elements(p_events) e where coalesce((e.value->>'event_id')::bigint, 0) <= 0) then
    raise exception 'Invalid event_id in append_history';
  end if;
  insert into ${s}.history (instance_id, execution_id, event_id, event_type, event_data, created_at)
    select p_instance_id, p_execution_id, (e.value->>'event_id')::bigint, e.value->>'event_type', e.value->>'event_data',
      clock_timestamp()
    from jsonb_array_elements(p_events) e
    on conflict (instance_id, execution_id, event_id) do nothing;
end`,
  },
  {
    name: 'fetch_history',
    args: ['p_instance_id text'],
    returns: 'table(out_event_data text)',
    body: `
begin
  -- The highest execution that was ever acknowledged, with or without a row in instances (P:T-25).
  return query select h.event_data from ${s}.history h
    where h.instance_id = p_instance_id
      and h.execution_id = coalesce(
        (select max(e.execution_id) from ${s}.executions e where e.instance_id = p_instance_id), 1)
    order by h.event_id;
end`,
  },
  {
    name: 'fetch_history_with_execution',
    args: ['p_instance_id text', 'p_execution_id bigint'],
    returns: 'table(out_event_data text)',
    body: `
begin
  return query select h.event_data from ${s}.history h
    where h.instance_id = p_instance_id and h.execution_id = p_execution_id
    order by h.event_id;
end`,
  },
];
