/**
 * Native's migrations up to level 23, as its bookkeeping names them (provider.md 1.4).
 * 22 does not exist: native reserved the number.
 */
export const NATIVE_MIGRATIONS: readonly { readonly version: number; readonly name: string }[] = [
  [1, 'initial_schema'],
  [2, 'create_stored_procedures'],
  [3, 'add_attempt_count'],
  [4, 'update_stored_procedures_for_attempt_count'],
  [5, 'add_visible_at_to_worker_queue'],
  [6, 'use_rust_timestamps'],
  [7, 'add_execution_state_support'],
  [8, 'remove_execution_state'],
  [9, 'add_activity_cancellation_support'],
  [10, 'add_deletion_and_pruning_support'],
  [11, 'fix_cancellation_ordering'],
  [12, 'require_timestamps'],
  [13, 'add_capability_filtering'],
  [14, 'add_session_support'],
  [15, 'add_custom_status'],
  [16, 'add_activity_tags'],
  [17, 'retry_orchestration_fetch_on_contention'],
  [18, 'add_kv_store'],
  [19, 'add_kv_last_updated'],
  [20, 'add_kv_delta'],
  [21, 'add_get_instance_stats'],
  [23, 'partial_secondary_indexes'],
].map(([version, name]) => ({
  version: Number(version),
  name: `${String(version).padStart(4, '0')}_${name}.sql`,
}));

/** From here on the tables are the final ones: 21 adds a function, 23 changes index predicates. */
export const LEAST_NATIVE_LEVEL = 20;

const known = new Set(NATIVE_MIGRATIONS.map(({ version }) => version));

/** Recorded versions that the native of our level does not know. */
export function unknownNativeVersions(recorded: readonly number[]): number[] {
  return recorded.filter((version) => !known.has(version));
}

/** Versions that must be recorded before the tables can be used, and are not. */
export function missingNativeVersions(recorded: readonly number[]): number[] {
  return NATIVE_MIGRATIONS.map(({ version }) => version).filter(
    (version) => version <= LEAST_NATIVE_LEVEL && !recorded.includes(version),
  );
}
