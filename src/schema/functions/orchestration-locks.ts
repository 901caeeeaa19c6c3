import type { FunctionFamily } from './stored-function.js';
import { findLockedInstance, moment } from './stored-function.js';

export const orchestrationLocks: FunctionFamily = (s) => [
  {
    name: 'abandon_orchestration_item',
    args: [
      'p_lock_token text',
      'p_now_ms bigint',
      'p_delay_ms bigint default null',
      'p_ignore_attempt boolean default false',
    ],
    returns: 'text',
    body: `
declare
  v_instance_id text;
begin
  -- No look at the expiry: while nobody took the instance over, giving it back is right (P:T-27).${findLockedInstance(s, '', 'for update')}
  if v_instance_id is null then
    raise exception 'Invalid lock token';
  end if;
  update ${s}.orchestrator_queue q
    set lock_token = null,
        locked_until = null,
        visible_at = case when p_delay_ms > 0 then ${moment('(p_now_ms + p_delay_ms)')} else q.visible_at end,
        attempt_count = case when p_ignore_attempt then greatest(q.attempt_count - 1, 0) else q.attempt_count end
    where q.lock_token = p_lock_token;
  delete from ${s}.instance_locks l where l.instance_id = v_instance_id and l.lock_token = p_lock_token;
  return v_instance_id;
end`,
  },
  {
    name: 'renew_orchestration_item_lock',
    args: ['p_lock_token text', 'p_now_ms bigint', 'p_extend_secs bigint'],
    returns: 'void',
    body: `
declare
  v_instance_id text;
  v_until bigint := p_now_ms + p_extend_secs * 1000;
begin${findLockedInstance(s, 'and l.locked_until > p_now_ms', 'for update')}
  if v_instance_id is null then
    raise exception 'Lock token invalid, expired, or already released';
  end if;
  update ${s}.instance_locks l set locked_until = v_until
    where l.instance_id = v_instance_id and l.lock_token = p_lock_token;
  update ${s}.orchestrator_queue q set locked_until = v_until where q.lock_token = p_lock_token;
end`,
  },
];
