import { sql } from 'drizzle-orm';
import type { InstanceState } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { integerCell, textCell } from '../statement.js';
import { runStatement } from '../transaction.js';

/** Shown where none is stored. */
export const UNKNOWN_VERSION = 'unknown';

export interface InstanceStates {
  readonly instances: readonly string[];
  /** Leave out those that still run. */
  readonly endedOnly: boolean;
}

/** Where instances stand, for any number of waiters in one statement. Unknown instances are left out. */
export async function instanceStates(
  ctx: ProviderContext,
  { instances: ids, endedOnly }: InstanceStates,
): Promise<InstanceState[]> {
  if (ids.length === 0) return [];
  const { instances, executions } = ctx.tables;
  const statement = ctx.statement(
    `instance states${endedOnly ? ' of the ended' : ''}`,
    () => sql`select i.instance_id, i.orchestration_name, i.orchestration_version, i.current_execution_id,
        e.status, e.output, i.custom_status, i.custom_status_version
      from ${instances} i
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.instance_id = any(${sql.placeholder('ids')}::text[])
        ${endedOnly ? sql`and e.status in ('Completed', 'Failed')` : sql``}`,
    ([instance, name, version, execution, status, output, customStatus, customStatusVersion]): InstanceState => ({
      instance: textCell(instance),
      orchestrationName: textCell(name),
      orchestrationVersion: version ?? UNKNOWN_VERSION,
      executionId: integerCell(execution),
      status: status ?? 'Running',
      output: output ?? null,
      customStatus: customStatus ?? null,
      customStatusVersion: integerCell(customStatusVersion),
    }),
  );
  return runStatement(ctx, 'instance_states', statement, { ids: [...new Set(ids)] }, { repeatable: true });
}
