import type { FunctionFamily } from './stored-function.js';

/** Result columns have names of tables' columns here; in a query the column is meant. */
const useColumns = '#variable_conflict use_column';

export const instanceFunctions: FunctionFamily = (s) => [
  {
    name: 'list_instances',
    args: [],
    returns: 'table(instance_id text)',
    body: `
${useColumns}
begin
  return query select i.instance_id from ${s}.instances i order by i.created_at desc, i.instance_id desc;
end`,
  },
  {
    name: 'list_instances_by_status',
    args: ['p_status text'],
    returns: 'table(instance_id text)',
    body: `
${useColumns}
begin
  return query select i.instance_id
    from ${s}.instances i
    join ${s}.executions e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
    where e.status = p_status
    order by i.created_at desc, i.instance_id desc;
end`,
  },
  {
    name: 'list_executions',
    args: ['p_instance_id text'],
    returns: 'table(execution_id bigint)',
    body: `
${useColumns}
begin
  return query select e.execution_id from ${s}.executions e
    where e.instance_id = p_instance_id order by e.execution_id;
end`,
  },
  {
    name: 'list_children',
    args: ['p_instance_id text'],
    returns: 'table(child_instance_id text)',
    body: `
begin
  return query select i.instance_id from ${s}.instances i
    where i.parent_instance_id = p_instance_id order by i.created_at, i.instance_id;
end`,
  },
  {
    name: 'latest_execution_id',
    args: ['p_instance_id text'],
    returns: 'bigint',
    body: `
begin
  return (select i.current_execution_id from ${s}.instances i where i.instance_id = p_instance_id);
end`,
  },
  {
    name: 'get_parent_id',
    args: ['p_instance_id text'],
    returns: 'text',
    body: `
declare
  v_parent text;
begin
  select i.parent_instance_id into v_parent from ${s}.instances i where i.instance_id = p_instance_id;
  if not found then
    raise exception 'Instance not found: %', p_instance_id;
  end if;
  return v_parent;
end`,
  },
  {
    name: 'get_instance_info',
    args: ['p_instance_id text'],
    returns:
      'table(instance_id text, orchestration_name text, orchestration_version text, current_execution_id bigint, ' +
      'created_at timestamp with time zone, updated_at timestamp with time zone, status text, output text, ' +
      'parent_instance_id text)',
    body: `
${useColumns}
begin
  return query select i.instance_id, i.orchestration_name, coalesce(i.orchestration_version, 'unknown'),
      i.current_execution_id, i.created_at, i.updated_at, coalesce(e.status, 'Running'), e.output, i.parent_instance_id
    from ${s}.instances i
    left join ${s}.executions e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
    where i.instance_id = p_instance_id;
end`,
  },
  {
    name: 'get_execution_info',
    args: ['p_instance_id text', 'p_execution_id bigint'],
    returns:
      'table(execution_id bigint, status text, output text, started_at timestamp with time zone, ' +
      'completed_at timestamp with time zone, event_count bigint)',
    body: `
${useColumns}
begin
  return query select e.execution_id, e.status, e.output, e.started_at, e.completed_at,
      (select count(*) from ${s}.history h where h.instance_id = e.instance_id and h.execution_id = e.execution_id)
    from ${s}.executions e
    where e.instance_id = p_instance_id and e.execution_id = p_execution_id;
end`,
  },
];
