import { sql } from 'drizzle-orm';
import type { ExecutionInfo, InstanceInfo } from '../../admin.js';
import { ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { integerCell, momentCell, optionalMomentCell, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

const value = (name: string) => sql.placeholder(name);

export function instanceNotFound(operation: string, instance: string): ProviderError {
  return ProviderError.permanent(operation, `Instance not found: ${instance}`);
}

/** @throws ProviderError when the instance is unknown */
export async function getInstanceInfo(ctx: ProviderContext, instance: string): Promise<InstanceInfo> {
  const operation = 'get_instance_info';
  const { instances, executions } = ctx.tables;
  const statement = ctx.statement(
    'admin: instance info',
    () => sql`select i.orchestration_name, i.orchestration_version, i.current_execution_id, e.status, e.output,
        i.created_at, i.updated_at, i.parent_instance_id
      from ${instances} i
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.instance_id = ${value('instance')}`,
    ([name, version, execution, status, output, createdAt, updatedAt, parent]) => ({
      orchestrationName: textCell(name),
      orchestrationVersion: version ?? 'unknown',
      currentExecutionId: integerCell(execution),
      status: status ?? 'Running',
      output: output ?? null,
      createdAtMs: momentCell(createdAt),
      updatedAtMs: momentCell(updatedAt),
      parentInstanceId: parent ?? null,
    }),
  );
  const [info] = await readStatement(ctx, operation, statement, { instance });
  if (!info) throw instanceNotFound(operation, instance);
  return { instanceId: instance, ...info };
}

/** @throws ProviderError when the execution is unknown */
export async function getExecutionInfo(
  ctx: ProviderContext,
  instance: string,
  executionId: number,
): Promise<ExecutionInfo> {
  const operation = 'get_execution_info';
  const { executions, history } = ctx.tables;
  const statement = ctx.statement(
    'admin: execution info',
    () => sql`select e.status, e.output, e.started_at, e.completed_at, count(h.event_id)
      from ${executions} e
      left join ${history} h on h.instance_id = e.instance_id and h.execution_id = e.execution_id
      where e.instance_id = ${value('instance')} and e.execution_id = ${value('executionId')}
      group by e.status, e.output, e.started_at, e.completed_at`,
    ([status, output, startedAt, completedAt, events]) => ({
      status: textCell(status),
      output: output ?? null,
      startedAtMs: momentCell(startedAt),
      completedAtMs: optionalMomentCell(completedAt),
      eventCount: integerCell(events),
    }),
  );
  const [info] = await readStatement(ctx, operation, statement, { instance, executionId });
  if (!info) throw ProviderError.permanent(operation, 'Execution not found');
  return { executionId, ...info };
}

/** @throws ProviderError when the instance is unknown */
export async function latestExecutionId(ctx: ProviderContext, instance: string): Promise<number> {
  const operation = 'latest_execution_id';
  const statement = ctx.statement(
    'admin: latest execution',
    () => sql`select current_execution_id from ${ctx.tables.instances} where instance_id = ${value('instance')}`,
    ([execution]) => integerCell(execution),
  );
  const [execution] = await readStatement(ctx, operation, statement, { instance });
  if (execution === undefined) throw instanceNotFound(operation, instance);
  return execution;
}

/** `null` for a root. @throws ProviderError when the instance is unknown */
export async function getParentId(
  ctx: ProviderContext,
  instance: string,
  operation = 'get_parent_id',
): Promise<string | null> {
  const statement = ctx.statement(
    'admin: parent',
    () => sql`select parent_instance_id from ${ctx.tables.instances} where instance_id = ${value('instance')}`,
    ([parent]) => ({ parent: parent ?? null }),
  );
  const [row] = await readStatement(ctx, operation, statement, { instance });
  if (!row) throw instanceNotFound(operation, instance);
  return row.parent;
}
