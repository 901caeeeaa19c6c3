import type { FunctionFamily } from './stored-function.js';
import { moment } from './stored-function.js';

/** What a row must be to be handed to the caller; `w` is the row, `o` the live owner of its session. */
const isEligible = `w.visible_at <= v_now
        and (p_tag_mode = 'any'
          or (p_tag_mode in ('default_only', 'default_and') and w.tag is null)
          or (p_tag_mode in ('tags', 'default_and') and w.tag = any (p_tag_filter)))
        and (w.session_id is null
          or (p_owner_id is not null and (o.session_id is null or o.worker_id = p_owner_id)
            and w.session_id <> all (v_lost_sessions)))`;

const owner = (s: string) => `left join ${s}.sessions o on o.session_id = w.session_id and o.locked_until > p_now_ms`;

/** Candidates off both indexes, unlocked rows and rows whose lock expired, into `v_window`. */
const peek = (s: string, size: number | undefined) => {
  const first = (order: string) => (size === undefined ? '' : `order by ${order} limit ${size}`);
  return `
      select array_agg(c.id) into v_window from (
          (select w.id from ${s}.worker_queue w ${owner(s)}
             where w.lock_token is null and ${isEligible}
             ${first('w.visible_at, w.id')})
          union all
          (select w.id from ${s}.worker_queue w ${owner(s)}
             where w.lock_token is not null and w.locked_until <= p_now_ms and ${isEligible}
             ${first('w.locked_until')})
        ) c;`;
};

/** Keeps a session alive that is still owned, by whomever. */
const touchSession = (s: string, now: string) => `
  update ${s}.sessions o set last_activity_at = ${now}
    where o.session_id = v_session_id and o.locked_until > ${now};`;

export const workItems: FunctionFamily = (s) => [
  {
    name: 'fetch_work_item',
    args: [
      'p_now_ms bigint',
      'p_lock_timeout_ms bigint',
      'p_owner_id text default null',
      'p_session_lock_timeout_ms bigint default null',
      'p_tag_filter text[] default null',
      "p_tag_mode text default 'default_only'",
    ],
    returns: 'table(out_work_item text, out_lock_token text, out_attempt_count integer)',
    body: `
declare
  v_now timestamptz := ${moment('p_now_ms')};
  v_lost_sessions text[] := '{}';
  v_stage integer := 1;
  v_window bigint[];
  v_id bigint;
  v_session_id text;
begin
  if p_tag_mode = 'none' then
    return;
  end if;
  -- A window keeps the order by id, which is native's, without a sort of the backlog. When
  -- others hold all of it, a larger one follows. A lost session excludes one session, so this ends.
  loop
    begin
      if v_stage = 1 then${peek(s, 10)}
      elsif v_stage = 2 then${peek(s, 500)}
      else${peek(s, undefined)}
      end if;
      select w.id, w.session_id into v_id, v_session_id
        from ${s}.worker_queue w
        where w.id = any (v_window) and w.visible_at <= v_now
          and (w.lock_token is null or w.locked_until <= p_now_ms)
        order by w.id
        limit 1
        for update skip locked;
      if not found then
        exit when v_stage = 3 or coalesce(cardinality(v_window), 0) < case v_stage when 1 then 10 else 500 end;
        v_stage := v_stage + 1;
        continue;
      end if;

      if v_session_id is not null then
        insert into ${s}.sessions as o (session_id, worker_id, locked_until, last_activity_at)
          values (v_session_id, p_owner_id, p_now_ms + p_session_lock_timeout_ms, p_now_ms)
          on conflict (session_id) do update
            set worker_id = excluded.worker_id, locked_until = excluded.locked_until,
                last_activity_at = excluded.last_activity_at
            where o.locked_until <= p_now_ms or o.worker_id = excluded.worker_id;
        if not found then
          raise exception 'session lost' using errcode = 'DDZ01';
        end if;
      end if;
      return query update ${s}.worker_queue w
        set lock_token = 'lock_' || gen_random_uuid() || ':' || w.id,
            locked_until = p_now_ms + p_lock_timeout_ms,
            attempt_count = w.attempt_count + 1
        where w.id = v_id
        returning w.work_item, w.lock_token, w.attempt_count;
      return;
    exception when sqlstate 'DDZ01' then
      -- Another worker won the session a moment ago; leaving the block gave the row back (P:T-19).
      v_lost_sessions := v_lost_sessions || v_session_id;
    end;
  end loop;
end`,
  },
  {
    name: 'ack_worker',
    args: [
      'p_lock_token text',
      'p_instance_id text default null',
      'p_completion_json text default null',
      'p_now_ms bigint default null',
    ],
    returns: 'void',
    body: `
declare
  v_now_ms bigint := coalesce(p_now_ms, floor(extract(epoch from clock_timestamp()) * 1000)::bigint);
  v_session_id text;
begin
  delete from ${s}.worker_queue w where w.lock_token = p_lock_token and w.locked_until > v_now_ms
    returning w.session_id into v_session_id;
  if not found then
    raise exception 'Worker queue item not found or already processed';
  end if;
  if p_completion_json is not null then
    insert into ${s}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
      values (p_instance_id, p_completion_json, ${moment('v_now_ms')}, ${moment('v_now_ms')});
  end if;${touchSession(s, 'v_now_ms')}
end`,
  },
  {
    name: 'abandon_work_item',
    args: [
      'p_lock_token text',
      'p_now_ms bigint',
      'p_delay_ms bigint default null',
      'p_ignore_attempt boolean default false',
    ],
    returns: 'void',
    body: `
begin
  update ${s}.worker_queue w
    set lock_token = null,
        locked_until = null,
        visible_at = ${moment('(p_now_ms + greatest(coalesce(p_delay_ms, 0), 0))')},
        attempt_count = case when p_ignore_attempt then greatest(w.attempt_count - 1, 0) else w.attempt_count end
    where w.lock_token = p_lock_token;
  if not found then
    raise exception 'Invalid lock token or already acked';
  end if;
end`,
  },
  {
    name: 'renew_work_item_lock',
    args: ['p_lock_token text', 'p_now_ms bigint', 'p_extend_secs bigint'],
    returns: 'void',
    body: `
declare
  v_session_id text;
begin
  update ${s}.worker_queue w set locked_until = p_now_ms + p_extend_secs * 1000
    where w.lock_token = p_lock_token and w.locked_until > p_now_ms
    returning w.session_id into v_session_id;
  if not found then
    raise exception 'Lock token invalid, expired, or already acked';
  end if;${touchSession(s, 'p_now_ms')}
end`,
  },
];
