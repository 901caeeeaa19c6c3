import type { FunctionFamily } from './stored-function.js';

export const sessionFunctions: FunctionFamily = (s) => [
  {
    name: 'renew_session_lock',
    args: ['p_owner_ids text[]', 'p_now_ms bigint', 'p_extend_ms bigint', 'p_idle_timeout_ms bigint'],
    returns: 'bigint',
    body: `
declare
  v_renewed bigint;
begin
  update ${s}.sessions o set locked_until = p_now_ms + p_extend_ms
    where o.worker_id = any (p_owner_ids) and o.locked_until > p_now_ms
      and o.last_activity_at > p_now_ms - p_idle_timeout_ms;
  get diagnostics v_renewed = row_count;
  return v_renewed;
end`,
  },
  {
    name: 'cleanup_orphaned_sessions',
    args: ['p_now_ms bigint'],
    returns: 'bigint',
    body: `
declare
  v_deleted bigint;
begin
  delete from ${s}.sessions o
    where o.locked_until < p_now_ms
      and not exists (select from ${s}.worker_queue w where w.session_id = o.session_id);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end`,
  },
];
