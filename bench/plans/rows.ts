import type { PlansBench } from './bench.js';

/** Instances that wait for their turn, with two events each, and activities that wait for a worker. */
export const READY = 3_000;

export interface Beside {
  readonly kind: 'not due' | 'locked' | 'finished';
  /** Rows in each queue, or instances. */
  readonly count: number;
  /** The statistics were made before these rows came. */
  readonly isUnknown?: boolean;
}

/** What the hot path should not notice. */
export const BESIDE: readonly Beside[] = [
  { kind: 'not due', count: 0 },
  { kind: 'not due', count: 300_000 },
  { kind: 'locked', count: 300_000 },
  { kind: 'locked', count: 300_000, isUnknown: true },
  { kind: 'finished', count: 1_000_000 },
];

export async function fillReady(bench: PlansBench): Promise<void> {
  await fillInstances(bench, 'r-', READY, 'Running');
  const visible = `now() - interval '1 hour' + n * interval '1 millisecond'`;
  await fillQueues(bench, { prefix: 'r-', count: READY, visible, lock: 'null, null' });
}

export async function fillBeside(bench: PlansBench, { kind, count }: Beside): Promise<void> {
  if (kind === 'finished') return fillInstances(bench, 'f-', count, 'Completed');
  const isLocked = kind === 'locked';
  await fillQueues(bench, {
    prefix: 'b-',
    count,
    visible: isLocked ? `now() - interval '2 hours'` : `now() + interval '1 day' + n * interval '1 second'`,
    lock: isLocked ? `'held-' || n, 9000000000000` : 'null, null',
  });
}

async function fillInstances(bench: PlansBench, prefix: string, count: number, status: string): Promise<void> {
  const long = `now() - interval '30 days' + n * interval '1 millisecond'`;
  const ended = status === 'Completed';
  await bench.sql(`
    insert into instances (instance_id, orchestration_name, orchestration_version, current_execution_id, created_at, updated_at)
      select '${prefix}' || n, 'hello', '1.0.0', 1, ${long}, ${long} from generate_series(1, ${count}) n`);
  await bench.sql(`
    insert into executions (instance_id, execution_id, status, output, started_at, completed_at,
        duroxide_version_major, duroxide_version_minor, duroxide_version_patch)
      select '${prefix}' || n, 1, '${status}', ${ended ? `'1'` : 'null'}, ${long}, ${ended ? long : 'null'}, 0, 1, 30
      from generate_series(1, ${count}) n`);
  await bench.sql(`
    insert into history (instance_id, execution_id, event_id, event_type, event_data, created_at)
      select '${prefix}' || n, 1, e, 'Event', '{}', ${long} from generate_series(1, ${count}) n, generate_series(1, 2) e`);
}

interface QueueRows {
  readonly prefix: string;
  readonly count: number;
  /** SQL of the moment, and of token and end of the lock. */
  readonly visible: string;
  readonly lock: string;
}

async function fillQueues(bench: PlansBench, { prefix, count, visible, lock }: QueueRows): Promise<void> {
  await bench.sql(`
    insert into orchestrator_queue (instance_id, work_item, visible_at, created_at, lock_token, locked_until)
      select '${prefix}' || n, '{"ActivityCompleted":{"instance":"${prefix}' || n || '","execution_id":1,"id":2,"result":"1"}}',
        ${visible}, now(), ${lock} from generate_series(1, ${count}) n`);
  await bench.sql(`
    insert into worker_queue (work_item, visible_at, created_at, instance_id, execution_id, activity_id, lock_token, locked_until)
      select '{"ActivityExecute":{"instance":"${prefix}' || n || '","execution_id":1,"id":2,"name":"echo","input":"1"}}',
        ${visible}, now(), '${prefix}' || n, 1, 2, ${lock} from generate_series(1, ${count}) n`);
}
