import type { FunctionFamily } from './stored-function.js';

/**
 * Takes the instances of `ids` that somebody may be about to take, or has taken: those that
 * run, that have a message or a lock row. Whoever has claimed one without having committed is
 * waited for, and his token is void from then on; later claims leave it alone until the
 * transaction ends. As a claim does it, and in its order: native's advisory keys first, of
 * which the server has room for some thousands, then the lock rows by id.
 */
const fenceOff = (s: string, ids: string) => {
  const wanted = `
      select u.instance_id from unnest(${ids}) as u(instance_id)
        left join ${s}.instances i on i.instance_id = u.instance_id
        left join ${s}.executions e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
        where coalesce(e.status, 'Running') not in ('Completed', 'Failed')
          or u.instance_id in (select l.instance_id from ${s}.instance_locks l where l.instance_id = any (${ids}))
          or u.instance_id in (select q.instance_id from ${s}.orchestrator_queue q where q.instance_id = any (${ids}))`;
  return `
  perform pg_advisory_xact_lock(k.key) from (
    select distinct hashtext(w.instance_id) as key from (${wanted}
    ) w order by 1 limit 1000) k;
  insert into ${s}.instance_locks as l (instance_id, lock_token, locked_until, locked_at)
    select w.instance_id, 'lock_' || gen_random_uuid() || ':' || w.instance_id, v_now_ms + 60000, v_now_ms
      from (select distinct f.instance_id from (${wanted}
      ) f) w order by w.instance_id collate "C"
    on conflict (instance_id) do update
      set lock_token = excluded.lock_token, locked_until = excluded.locked_until, locked_at = excluded.locked_at;`;
};

/**
 * Children that were scheduled and have not run yet would start without a parent (P:T-22):
 * the ids of their start messages, into `v_rows_unborn`, and their own, into `v_unborn`.
 * History knows them, in the short form where the id is derived, so the queue need not be
 * searched.
 */
const findUnbornChildren = (s: string) => `
  for v_parent, v_text in
    select h.instance_id, h.event_data from ${s}.history h
      where h.instance_id = any (p_instance_ids) and h.event_data like '%"type":"SubOrchestrationScheduled"%'
  loop
    begin
      v_child := v_text::jsonb->>'instance';
      if starts_with(v_child, 'sub::') then
        v_child := v_parent || '::' || v_child;
      end if;
      v_children := v_children || v_child;
    exception when data_exception or program_limit_exceeded then
      null; -- what cannot be read names no child
    end;
  end loop;
  for v_id, v_child, v_text in
    select q.id, q.instance_id, q.work_item from ${s}.orchestrator_queue q
      where q.instance_id = any (v_children) and q.instance_id <> all (p_instance_ids)
        and q.work_item like '{"StartOrchestration"%'
        and not exists (select from ${s}.instances i where i.instance_id = q.instance_id)
  loop
    begin
      if v_text::jsonb->'StartOrchestration'->>'parent_instance' = any (p_instance_ids) then
        v_rows_unborn := v_rows_unborn || v_id;
        v_unborn := v_unborn || v_child;
      end if;
    exception when data_exception or program_limit_exceeded then
      null;
    end;
  end loop;`;

/** Deletes an instance's rows of one table and adds their number to a count. */
const deleteRows = (s: string, table: string, count?: string) => `
  delete from ${s}.${table} t where t.instance_id = any (p_instance_ids);${
    count === undefined
      ? ''
      : `
  get diagnostics v_rows = row_count;
  ${count} := ${count} + v_rows;`
  }`;

export const deletion: FunctionFamily = (s) => [
  {
    name: 'delete_instances_atomic',
    args: ['p_instance_ids text[]', 'p_force boolean'],
    returns:
      'table(instances_deleted bigint, executions_deleted bigint, events_deleted bigint, queue_messages_deleted bigint)',
    body: `
declare
  v_instances bigint := 0;
  v_executions bigint := 0;
  v_events bigint := 0;
  v_messages bigint := 0;
  v_rows bigint;
  v_children text[] := '{}';
  v_unborn text[] := '{}';
  v_rows_unborn bigint[] := '{}';
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_parent text;
  v_id bigint;
  v_child text;
  v_text text;
begin
  -- Keys and lock rows first, then the instances, each in one order: as claims and
  -- acknowledgements do, so that they queue up instead of waiting for each other.${fenceOff(s, 'p_instance_ids')}
  perform from ${s}.instances i where i.instance_id = any (p_instance_ids)
    order by i.instance_id collate "C" for update;

  if not coalesce(p_force, false) then
    -- Between two executions an instance lives as much as in one (P:T-14).
    select i.instance_id into v_child
      from ${s}.instances i
      join ${s}.executions e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.instance_id = any (p_instance_ids) and e.status in ('Running', 'ContinuedAsNew')
      order by i.instance_id collate "C" limit 1;
    if found then
      raise exception 'Instance % is Running. Use force=true to delete.', v_child;
    end if;
  end if;
${findUnbornChildren(s)}
  if v_unborn <> '{}' then
    -- Somebody may have claimed them; their ids come behind those of their parents, as a rule.${fenceOff(s, 'v_unborn')}
  end if;
  -- The last look: whatever was born while we looked for it or waited is here by now.
  select i.instance_id into v_child
    from ${s}.instances i
    where i.parent_instance_id = any (p_instance_ids) and i.instance_id <> all (p_instance_ids)
    order by i.instance_id collate "C" limit 1;
  if found then
    raise exception 'Orphan detected: instance % has parent in delete list but is not included', v_child;
  end if;
  delete from ${s}.orchestrator_queue q where q.id = any (v_rows_unborn);
  get diagnostics v_messages = row_count;
  delete from ${s}.instance_locks l where l.instance_id = any (v_unborn);
${deleteRows(s, 'history', 'v_events')}${deleteRows(s, 'executions', 'v_executions')}${deleteRows(
      s,
      'orchestrator_queue',
      'v_messages',
    )}${deleteRows(s, 'worker_queue', 'v_messages')}${deleteRows(s, 'instance_locks')}${deleteRows(s, 'kv_delta')}${deleteRows(s, 'kv_store')}${deleteRows(s, 'instances', 'v_instances')}
  return query select v_instances, v_executions, v_events, v_messages;
end`,
  },
  {
    name: 'prune_executions',
    args: ['p_instance_id text', 'p_keep_last integer default null', 'p_completed_before_ms bigint default null'],
    returns: 'table(instances_processed bigint, executions_deleted bigint, events_deleted bigint)',
    body: `
declare
  v_current bigint;
  v_prunable bigint[];
  v_executions bigint;
  v_events bigint;
begin
  -- Locked, so that no turn makes another execution current meanwhile.
  select i.current_execution_id into v_current from ${s}.instances i where i.instance_id = p_instance_id for update;
  if not found then
    raise exception 'Instance % not found', p_instance_id;
  end if;
  -- An execution that continued as new has no completion time; the start of the next one is it (P:T-12).
  select array_agg(c.execution_id) into v_prunable from (
    select e.execution_id, e.status,
        coalesce(e.completed_at, case e.status when 'ContinuedAsNew' then lead(e.started_at) over newer end) as ended_at,
        row_number() over (order by e.execution_id desc) as place
      from ${s}.executions e where e.instance_id = p_instance_id
      window newer as (order by e.execution_id)
    ) c
    where c.execution_id <> v_current and c.status <> 'Running'
      and (p_keep_last is null or c.place > p_keep_last)
      and (p_completed_before_ms is null or c.ended_at < to_timestamp(p_completed_before_ms / 1000.0));
  delete from ${s}.history h where h.instance_id = p_instance_id and h.execution_id = any (v_prunable);
  get diagnostics v_events = row_count;
  delete from ${s}.executions e where e.instance_id = p_instance_id and e.execution_id = any (v_prunable);
  get diagnostics v_executions = row_count;
  return query select 1::bigint, v_executions, v_events;
end`,
  },
];
