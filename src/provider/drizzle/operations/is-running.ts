import { type SQL, sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';

/**
 * Whether a row is found. For many rows of an outer query the planner would turn `exists`
 * into a scan of the whole table, even of one that is far larger; this it has to look up
 * one by one.
 */
function isFound(from: SQL): SQL {
  return sql`(select true ${from} limit 1) is true`;
}

/**
 * Whether an instance has not ended: it runs, is between two executions, or was not even
 * begun, so that only messages of it are there. `instance` is an expression that is used
 * three times.
 */
export function isRunning({ tables }: ProviderContext, instance: SQL): SQL {
  const { instances, executions, orchestratorQueue } = tables;
  return sql`(${isFound(sql`from ${instances} i join ${executions} e
        on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.instance_id = ${instance} and e.status not in ('Completed', 'Failed')`)}
    or (not (${isFound(sql`from ${instances} i where i.instance_id = ${instance}`)})
      and ${isFound(sql`from ${orchestratorQueue} o where o.instance_id = ${instance}`)}))`;
}

/** Whether an instance exists, or a start of it waits in the orchestrator queue. */
export function isStarted({ tables }: ProviderContext, instance: SQL): SQL {
  const { instances, orchestratorQueue } = tables;
  return sql`(${isFound(sql`from ${instances} i where i.instance_id = ${instance}`)}
    or ${isFound(sql`from ${orchestratorQueue} o
      where o.instance_id = ${instance} and o.work_item like '{"StartOrchestration"%'`)})`;
}
