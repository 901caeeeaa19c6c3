import type pg from 'pg';
import { median, percentile } from '../harness/statistics.js';

/** What is looked at again and again while a soak runs. */
export interface Sample {
  readonly atSeconds: number;
  /** After a garbage collection. */
  readonly heapMb: number;
  readonly rssMb: number;
  /** Timers, sockets and the like that keep the process alive. */
  readonly handles: number;
  readonly queueRows: number;
  /** Of both queues and the locks, with their indexes. */
  readonly queueMb: number;
  /** Of the tables that keep what happened. */
  readonly storeMb: number;
  readonly deadRows: number;
  /** Rounds of autovacuum over the queues so far. */
  readonly autovacuums: number;
  readonly completed: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

const QUEUES = ['orchestrator_queue', 'worker_queue', 'instance_locks'];

export async function takeSample(
  control: pg.ClientBase,
  schema: string,
  run: { readonly startMs: number; readonly completed: number; readonly latenciesMs: readonly number[] },
): Promise<Sample> {
  if (!globalThis.gc) throw new Error('run with --expose-gc, as npm run soak does');
  globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  const { rows } = await control.query<Record<'queue' | 'store' | 'dead' | 'vacuums' | 'waiting', string>>(
    `select
      sum(pg_total_relation_size(relid)) filter (where relname = any($2))::text as queue,
      sum(pg_total_relation_size(relid)) filter (where not relname = any($2))::text as store,
      sum(n_dead_tup) filter (where relname = any($2))::text as dead,
      sum(autovacuum_count) filter (where relname = any($2))::text as vacuums,
      ((select count(*) from "${schema}".orchestrator_queue) + (select count(*) from "${schema}".worker_queue))::text as waiting
    from pg_stat_user_tables where schemaname = $1`,
    [schema, QUEUES],
  );
  const row = rows[0];
  const megabytes = (bytes: number) => Math.round((bytes / 1024 / 1024) * 10) / 10;
  return {
    atSeconds: Math.round((performance.now() - run.startMs) / 1000),
    heapMb: megabytes(heapUsed),
    rssMb: megabytes(rss),
    handles: process.getActiveResourcesInfo().length,
    queueRows: Number(row?.waiting),
    queueMb: megabytes(Number(row?.queue)),
    storeMb: megabytes(Number(row?.store)),
    deadRows: Number(row?.dead),
    autovacuums: Number(row?.vacuums),
    completed: run.completed,
    p50Ms: Math.round(median(run.latenciesMs)),
    p95Ms: Math.round(percentile(run.latenciesMs, 0.95)),
  };
}
