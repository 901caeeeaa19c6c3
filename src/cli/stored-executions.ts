import { sql } from 'drizzle-orm';
import type { StoredExecution } from '../provider/drizzle/admin/prune-executions.js';
import {
  booleanCell,
  compile,
  integerCell,
  momentCell,
  optionalMomentCell,
  textCell,
} from '../provider/drizzle/statement.js';
import { quoteSchemaName } from '../schema/schema-name.js';
import type { Store } from './store.js';

/**
 * The executions of instances, in order, by instance: one question for all of them, since
 * what has continued as new for a year has thousands.
 */
export async function storedExecutions(
  { database, schema }: Pick<Store, 'database' | 'schema'>,
  instances: readonly string[],
): Promise<ReadonlyMap<string, readonly StoredExecution[]>> {
  const table = (name: string) => sql.raw(`${quoteSchemaName(schema)}.${name}`);
  const statement = compile(
    sql`select e.instance_id, e.execution_id, e.execution_id = i.current_execution_id, e.status, e.started_at, e.completed_at
      from ${table('executions')} e join ${table('instances')} i on i.instance_id = e.instance_id
      where e.instance_id = any(${sql.placeholder('instances')}::text[])
      order by e.instance_id, e.execution_id`,
    ([instance, executionId, isCurrent, status, startedAt, completedAt]) => ({
      instance: textCell(instance),
      execution: {
        executionId: integerCell(executionId),
        isCurrent: booleanCell(isCurrent),
        status: textCell(status),
        startedAtMs: momentCell(startedAt),
        completedAtMs: optionalMomentCell(completedAt),
      },
    }),
  );
  const rows = await database.driver.withConnection((executor) => executor.run(statement, { instances }));
  const found = new Map<string, StoredExecution[]>();
  for (const { instance, execution } of rows) {
    const known = found.get(instance);
    if (known) known.push(execution);
    else found.set(instance, [execution]);
  }
  return found;
}
