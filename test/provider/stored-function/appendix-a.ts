/**
 * Names, arguments and results of native's stored functions (provider.md, appendix A),
 * as `pg_get_function_arguments` and `pg_get_function_result` print them.
 */
export const appendixA: Readonly<Record<string, readonly [args: string, result: string]>> = {
  abandon_orchestration_item: [
    'p_lock_token text, p_now_ms bigint, p_delay_ms bigint DEFAULT NULL::bigint, p_ignore_attempt boolean DEFAULT false',
    'text',
  ],
  abandon_work_item: [
    'p_lock_token text, p_now_ms bigint, p_delay_ms bigint DEFAULT NULL::bigint, p_ignore_attempt boolean DEFAULT false',
    'void',
  ],
  ack_orchestration_item: [
    "p_lock_token text, p_now_ms bigint, p_execution_id bigint, p_history_delta jsonb, p_worker_items jsonb, p_orchestrator_items jsonb, p_metadata jsonb, p_cancelled_activities jsonb DEFAULT '[]'::jsonb",
    'void',
  ],
  ack_worker: [
    'p_lock_token text, p_instance_id text DEFAULT NULL::text, p_completion_json text DEFAULT NULL::text, p_now_ms bigint DEFAULT NULL::bigint',
    'void',
  ],
  append_history: ['p_instance_id text, p_execution_id bigint, p_events jsonb', 'void'],
  cleanup_orphaned_sessions: ['p_now_ms bigint', 'bigint'],
  cleanup_schema: ['', 'void'],
  delete_instances_atomic: [
    'p_instance_ids text[], p_force boolean',
    'TABLE(instances_deleted bigint, executions_deleted bigint, events_deleted bigint, queue_messages_deleted bigint)',
  ],
  enqueue_orchestrator_work: [
    'p_instance_id text, p_work_item text, p_visible_at timestamp with time zone, p_orchestration_name text DEFAULT NULL::text, p_orchestration_version text DEFAULT NULL::text, p_execution_id bigint DEFAULT NULL::bigint',
    'void',
  ],
  enqueue_worker_work: [
    'p_work_item text, p_now_ms bigint, p_instance_id text DEFAULT NULL::text, p_execution_id bigint DEFAULT NULL::bigint, p_activity_id bigint DEFAULT NULL::bigint, p_session_id text DEFAULT NULL::text, p_tag text DEFAULT NULL::text',
    'void',
  ],
  fetch_history: ['p_instance_id text', 'TABLE(out_event_data text)'],
  fetch_history_with_execution: ['p_instance_id text, p_execution_id bigint', 'TABLE(out_event_data text)'],
  fetch_orchestration_item: [
    'p_now_ms bigint, p_lock_timeout_ms bigint, p_min_version_packed bigint DEFAULT NULL::bigint, p_max_version_packed bigint DEFAULT NULL::bigint',
    'TABLE(out_instance_id text, out_orchestration_name text, out_orchestration_version text, out_execution_id bigint, out_history jsonb, out_messages jsonb, out_lock_token text, out_attempt_count integer, out_kv_snapshot jsonb)',
  ],
  fetch_work_item: [
    "p_now_ms bigint, p_lock_timeout_ms bigint, p_owner_id text DEFAULT NULL::text, p_session_lock_timeout_ms bigint DEFAULT NULL::bigint, p_tag_filter text[] DEFAULT NULL::text[], p_tag_mode text DEFAULT 'default_only'::text",
    'TABLE(out_work_item text, out_lock_token text, out_attempt_count integer)',
  ],
  get_custom_status: [
    'p_instance_id text, p_last_seen_version bigint',
    'TABLE(out_custom_status text, out_custom_status_version bigint)',
  ],
  get_execution_info: [
    'p_instance_id text, p_execution_id bigint',
    'TABLE(execution_id bigint, status text, output text, started_at timestamp with time zone, completed_at timestamp with time zone, event_count bigint)',
  ],
  get_instance_info: [
    'p_instance_id text',
    'TABLE(instance_id text, orchestration_name text, orchestration_version text, current_execution_id bigint, created_at timestamp with time zone, updated_at timestamp with time zone, status text, output text, parent_instance_id text)',
  ],
  get_instance_stats: [
    'p_instance text',
    'TABLE(out_found boolean, out_history_event_count bigint, out_history_size_bytes bigint, out_queue_pending_count bigint, out_kv_user_key_count bigint, out_kv_total_value_bytes bigint)',
  ],
  get_kv_all_values: ['p_instance text', 'TABLE(out_key text, out_value text)'],
  get_kv_value: ['p_instance text, p_key text', 'TABLE(out_value text, out_found boolean)'],
  get_parent_id: ['p_instance_id text', 'text'],
  get_queue_depths: ['p_now_ms bigint', 'TABLE(orchestrator_queue bigint, worker_queue bigint)'],
  get_system_metrics: [
    '',
    'TABLE(total_instances bigint, total_executions bigint, running_instances bigint, completed_instances bigint, failed_instances bigint, total_events bigint)',
  ],
  latest_execution_id: ['p_instance_id text', 'bigint'],
  list_children: ['p_instance_id text', 'TABLE(child_instance_id text)'],
  list_executions: ['p_instance_id text', 'TABLE(execution_id bigint)'],
  list_instances: ['', 'TABLE(instance_id text)'],
  list_instances_by_status: ['p_status text', 'TABLE(instance_id text)'],
  prune_executions: [
    'p_instance_id text, p_keep_last integer DEFAULT NULL::integer, p_completed_before_ms bigint DEFAULT NULL::bigint',
    'TABLE(instances_processed bigint, executions_deleted bigint, events_deleted bigint)',
  ],
  renew_orchestration_item_lock: ['p_lock_token text, p_now_ms bigint, p_extend_secs bigint', 'void'],
  renew_session_lock: ['p_owner_ids text[], p_now_ms bigint, p_extend_ms bigint, p_idle_timeout_ms bigint', 'bigint'],
  renew_work_item_lock: ['p_lock_token text, p_now_ms bigint, p_extend_secs bigint', 'void'],
};
