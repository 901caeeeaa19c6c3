import { type SQL, sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';

/**
 * Whether an instance has not ended: it runs, is between two executions, or was not even
 * begun, so that only messages of it are there. `instance` is an expression that is used
 * three times.
 */
export function isRunning({ tables }: ProviderContext, instance: SQL): SQL {
  const { instances, executions, orchestratorQueue } = tables;
  return sql`(exists (
      select from ${instances} i join ${executions} e
        on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.instance_id = ${instance} and e.status not in ('Completed', 'Failed')
    ) or (
      not exists (select from ${instances} i where i.instance_id = ${instance})
      and exists (select from ${orchestratorQueue} o where o.instance_id = ${instance})
    ))`;
}

/** Whether an instance exists, or a start of it waits in the orchestrator queue. */
export function isStarted({ tables }: ProviderContext, instance: SQL): SQL {
  const { instances, orchestratorQueue } = tables;
  return sql`(exists (select from ${instances} i where i.instance_id = ${instance})
    or exists (select from ${orchestratorQueue} o
      where o.instance_id = ${instance} and o.work_item like '{"StartOrchestration"%'))`;
}
