import type { FunctionFamily } from './stored-function.js';
import { moment } from './stored-function.js';

export const enqueues: FunctionFamily = (s) => [
  {
    name: 'enqueue_worker_work',
    args: [
      'p_work_item text',
      'p_now_ms bigint',
      'p_instance_id text default null',
      'p_execution_id bigint default null',
      'p_activity_id bigint default null',
      'p_session_id text default null',
      'p_tag text default null',
    ],
    returns: 'void',
    body: `
declare
  v_now timestamptz := ${moment('p_now_ms')};
begin
  insert into ${s}.worker_queue (work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id, tag)
    values (p_work_item, v_now, v_now, p_instance_id, p_execution_id, p_activity_id, p_session_id, p_tag);
end`,
  },
  {
    name: 'enqueue_orchestrator_work',
    args: [
      'p_instance_id text',
      'p_work_item text',
      'p_visible_at timestamp with time zone',
      'p_orchestration_name text default null',
      'p_orchestration_version text default null',
      'p_execution_id bigint default null',
    ],
    returns: 'void',
    body: `
begin
  -- Never a row in instances, also for a start: the first acknowledgement makes it. The
  -- signature has no clock of the caller's; nobody compares this column.
  insert into ${s}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
    values (p_instance_id, p_work_item, p_visible_at, now());
end`,
  },
];
