import { isOfVersion, joinVersions, peek, PEEK_WINDOWS } from './orchestration-peek.js';
import type { FunctionFamily } from './stored-function.js';
import { moment } from './stored-function.js';

/** Locks the messages that may be claimed, unless somebody else has; by now a turn may have pinned a version. */
const lockMessages = (s: string, hasFilter: boolean) => `
              select array_agg(r.id) into v_rows from (
                select q.id from ${s}.orchestrator_queue q${hasFilter ? joinVersions(s, 'q') : ''}
                where q.instance_id = v_instance_id and q.visible_at <= v_now
                  and (q.lock_token is null or q.locked_until <= p_now_ms)${hasFilter ? ` and ${isOfVersion}` : ''}
                for update of q skip locked
              ) r;`;

/** How PostgreSQL refuses a text that is no `jsonb`: malformed, \u0000, too deep, too large. */
const notJson = 'data_exception or program_limit_exceeded';

/** The rows of a query (a text each) as a JSON array in which every unreadable text stands as a string. */
const castOneByOne = (target: string, query: string) => `
    v_items := '{}';
    for v_text in ${query} loop
      begin
        v_items := v_items || v_text::jsonb;
      exception when ${notJson} then
        v_items := v_items || to_jsonb(v_text);
      end;
    end loop;
    ${target} := to_jsonb(v_items);`;

/**
 * The events of the execution; or of the instance, where no row says which is current.
 * Two texts: one with OR would read all executions of an instance for the last one.
 */
const events = (s: string, isKnown: boolean) => `${s}.history h
        where h.instance_id = v_instance_id${isKnown ? ' and h.execution_id = v_current' : ''}`;

const messages = (s: string) => `${s}.orchestrator_queue q where q.id = any (v_rows)`;

export const orchestrationFetch: FunctionFamily = (s) => [
  {
    name: 'fetch_orchestration_item',
    args: [
      'p_now_ms bigint',
      'p_lock_timeout_ms bigint',
      'p_min_version_packed bigint default null',
      'p_max_version_packed bigint default null',
    ],
    returns:
      'table(out_instance_id text, out_orchestration_name text, out_orchestration_version text, ' +
      'out_execution_id bigint, out_history jsonb, out_messages jsonb, out_lock_token text, ' +
      'out_attempt_count integer, out_kv_snapshot jsonb)',
    body: `
declare
  v_now timestamptz := ${moment('p_now_ms')};
  v_until bigint := p_now_ms + p_lock_timeout_ms;
  v_lost text[] := '{}';        -- ready a moment ago, but somebody else's
  v_candidates text[];
  v_seen bigint;
  v_tries integer := 0;
  v_shuffled boolean;
  v_instance_id text;
  v_token text;
  v_rows bigint[];
  v_attempts integer;
  v_name text;
  v_version text;
  v_current bigint;
  v_started jsonb;
  v_messages jsonb;
  v_history jsonb;
  v_kv jsonb;
  v_items jsonb[];
  v_text text;
begin
  -- Two looks: the second one at what was lost in the first, which may be free by then.
  <<search>>
  for v_look in 1..2 loop
    for v_stage in 1..${PEEK_WINDOWS.length + 1} loop
      if p_min_version_packed is null then${peek(s, false)}
      else${peek(s, true)}
      end if;

      v_shuffled := false;
      for v_at in 1 .. coalesce(cardinality(v_candidates), 0) loop
        v_instance_id := v_candidates[v_at];
        continue when v_instance_id = any (v_lost);
        v_tries := v_tries + 1;
        if v_tries > 50 then
          v_instance_id := null;
          exit search;
        end if;
        -- A block per candidate: leaving it by an error frees its advisory lock, so that we
        -- never hold two and never wait for one. The key is native's, who would spin without it.
        begin
          if pg_try_advisory_xact_lock(hashtext(v_instance_id)) then
            if p_min_version_packed is null then${lockMessages(s, false)}
            else${lockMessages(s, true)}
            end if;
            if v_rows is null then
              raise exception 'lost' using errcode = 'DDZ01';
            end if;
            -- An acknowledgement may hold the expired lock; then the instance is its.
            perform from ${s}.instance_locks l where l.instance_id = v_instance_id for update nowait;
            -- The fence: it is judged by the newest committed row, whatever was seen before.
            v_token := 'lock_' || gen_random_uuid() || ':' || v_instance_id;
            insert into ${s}.instance_locks as l (instance_id, lock_token, locked_until, locked_at)
              values (v_instance_id, v_token, v_until, p_now_ms)
              on conflict (instance_id) do update
                set lock_token = excluded.lock_token, locked_until = excluded.locked_until, locked_at = excluded.locked_at
                where l.locked_until <= p_now_ms;
            if not found then
              raise exception 'lost' using errcode = 'DDZ01';
            end if;
            update ${s}.orchestrator_queue q
              set lock_token = v_token, locked_until = v_until, attempt_count = q.attempt_count + 1
              where q.id = any (v_rows);
            exit search;
          end if;
        exception when lock_not_available or sqlstate 'DDZ01' then
          null;
        end;
        -- Others are after the same rows: from here on in any order.
        if not v_shuffled then
          v_candidates := v_candidates[:v_at] || (select array_agg(c order by random()) from unnest(v_candidates[v_at + 1:]) c);
          v_shuffled := true;
        end if;
        v_lost := v_lost || v_instance_id;
        v_instance_id := null;
      end loop;
      -- A window that was not full: there is no more to be seen.
      exit when v_seen < (array[${PEEK_WINDOWS.join(', ')}, 1])[v_stage];
    end loop;

    exit when v_lost = '{}' or v_look = 2;
    v_lost := '{}';
    perform pg_sleep(0.002 + random() * 0.018);
  end loop;

  if v_instance_id is null then
    return;
  end if;

  -- Read after the claim, by later statements: another worker may have committed a turn before it.
  select i.orchestration_name, coalesce(i.orchestration_version, 'unknown'), i.current_execution_id
    into v_name, v_version, v_current
    from ${s}.instances i where i.instance_id = v_instance_id;
  begin
    select jsonb_agg(q.work_item::jsonb order by q.id), max(q.attempt_count) into v_messages, v_attempts
      from ${messages(s)};
    if v_current is not null then
      select coalesce(jsonb_agg(h.event_data::jsonb order by h.event_id), '[]') into v_history
        from ${events(s, true)};
    else
      select coalesce(jsonb_agg(h.event_data::jsonb order by h.execution_id, h.event_id), '[]') into v_history
        from ${events(s, false)};
    end if;
  exception when ${notJson} then
    select max(q.attempt_count) into v_attempts from ${messages(s)};${castOneByOne(
      'v_messages',
      `select q.work_item from ${messages(s)} order by q.id`,
    )}${castOneByOne(
      'v_history',
      `select h.event_data from ${events(s, false)} and (v_current is null or h.execution_id = v_current)
      order by h.execution_id, h.event_id`,
    )}
  end;
  select coalesce(jsonb_object_agg(k.key, jsonb_build_object(
      'value', k.value, 'last_updated_at_ms', k.last_updated_at_ms)), '{}')
    into v_kv
    from ${s}.kv_store k where k.instance_id = v_instance_id;

  if v_current is null then
    -- Not acknowledged yet: its first message says what it is.
    v_started := coalesce(v_messages->0->'StartOrchestration', v_messages->0->'ContinueAsNew');
    v_name := coalesce(v_started->>'orchestration', 'Unknown');
    v_version := coalesce(v_started->>'version', 'unknown');
    v_current := 1;
    if v_started->>'execution_id' ~ '^[0-9]{1,15}$' and v_messages->0 ? 'StartOrchestration' then
      v_current := (v_started->>'execution_id')::bigint;
    end if;
  end if;

  return query select v_instance_id, v_name, v_version, v_current, v_history, v_messages, v_token, v_attempts, v_kv;
end`,
  },
];
