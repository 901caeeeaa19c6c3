import type { FunctionFamily } from './stored-function.js';

export const statusAndValues: FunctionFamily = (s) => [
  {
    name: 'get_custom_status',
    args: ['p_instance_id text', 'p_last_seen_version bigint'],
    returns: 'table(out_custom_status text, out_custom_status_version bigint)',
    body: `
begin
  return query select i.custom_status, i.custom_status_version::bigint from ${s}.instances i
    where i.instance_id = p_instance_id and i.custom_status_version > p_last_seen_version;
end`,
  },
  {
    name: 'get_kv_value',
    args: ['p_instance text', 'p_key text'],
    returns: 'table(out_value text, out_found boolean)',
    body: `
begin
  -- The current execution's change decides, a tombstone included; else what earlier ones left.
  select d.value, d.value is not null into out_value, out_found
    from ${s}.kv_delta d where d.instance_id = p_instance and d.key = p_key;
  if not found then
    select k.value, true into out_value, out_found
      from ${s}.kv_store k where k.instance_id = p_instance and k.key = p_key;
  end if;
  out_found := coalesce(out_found, false);
  return next;
end`,
  },
  {
    name: 'get_kv_all_values',
    args: ['p_instance text'],
    returns: 'table(out_key text, out_value text)',
    body: `
begin
  return query
    select d.key, d.value from ${s}.kv_delta d where d.instance_id = p_instance and d.value is not null
    union all
    select k.key, k.value from ${s}.kv_store k
      where k.instance_id = p_instance
        and not exists (select from ${s}.kv_delta d where d.instance_id = k.instance_id and d.key = k.key);
end`,
  },
];
