import { sql } from 'drizzle-orm';
import type { QueueDepths, SystemMetrics } from '../../admin.js';
import type { ProviderContext } from '../context.js';
import { moment } from '../operations/moment.js';
import { integerCell, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

const value = (name: string) => sql.placeholder(name);
const named = ([name, count]: readonly (string | null)[]) => [textCell(name), integerCell(count)] as const;

/** Counts of everything. It reads whole tables: for people and dashboards, not for loops. */
export async function getSystemMetrics(ctx: ProviderContext): Promise<SystemMetrics> {
  const { instances, executions, history } = ctx.tables;
  const statement = ctx.statement(
    'admin: metrics',
    () => sql`select 'instances', count(*) from ${instances}
      union all select 'executions', count(*) from ${executions}
      union all select 'events', count(*) from ${history}
      union all select 'status ' || e.status, count(*) from ${instances} i
        join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
        group by e.status`,
    named,
  );
  const counts = new Map(await readStatement(ctx, 'get_system_metrics', statement));
  const count = (name: string) => counts.get(name) ?? 0;
  return {
    totalInstances: count('instances'),
    totalExecutions: count('executions'),
    runningInstances: count('status Running'),
    completedInstances: count('status Completed'),
    failedInstances: count('status Failed'),
    totalEvents: count('events'),
  };
}

/** What could be fetched now; delayed and locked rows are not counted. */
export async function getQueueDepths(ctx: ProviderContext): Promise<QueueDepths> {
  const { orchestratorQueue, workerQueue } = ctx.tables;
  const isFree = () =>
    sql`visible_at <= ${value('visibleAt')}::timestamptz and (lock_token is null or locked_until <= ${value('now')}::bigint)`;
  const statement = ctx.statement(
    'admin: queue depths',
    () => sql`select 'orchestrator', count(*) from ${orchestratorQueue} where ${isFree()}
      union all select 'worker', count(*) from ${workerQueue} where ${isFree()}`,
    named,
  );
  const rows = await readStatement(ctx, 'get_queue_depths', statement, (nowMs) => ({
    now: nowMs,
    visibleAt: moment(nowMs),
  }));
  const depths = new Map(rows);
  return {
    orchestratorQueue: depths.get('orchestrator') ?? 0,
    workerQueue: depths.get('worker') ?? 0,
    timerQueue: 0,
  };
}
