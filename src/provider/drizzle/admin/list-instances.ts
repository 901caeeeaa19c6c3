import { sql } from 'drizzle-orm';
import type { InstanceTree } from '../../admin.js';
import type { ProviderContext } from '../context.js';
import { integerCell, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

const value = (name: string) => sql.placeholder(name);
const id = ([cell]: readonly (string | null)[]) => textCell(cell);

/** All instances, newest first. */
export function listInstances(ctx: ProviderContext): Promise<string[]> {
  const statement = ctx.statement(
    'admin: list instances',
    () => sql`select instance_id from ${ctx.tables.instances} order by created_at desc, instance_id desc`,
    id,
  );
  return readStatement(ctx, 'list_instances', statement);
}

/** Instances whose current execution has exactly this status, newest first. */
export function listInstancesByStatus(ctx: ProviderContext, status: string): Promise<string[]> {
  const { instances, executions } = ctx.tables;
  const statement = ctx.statement(
    'admin: list instances by status',
    () => sql`select i.instance_id from ${instances} i
      join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where e.status = ${value('status')} order by i.created_at desc, i.instance_id desc`,
    id,
  );
  return readStatement(ctx, 'list_instances_by_status', statement, { status });
}

/** Ascending; empty for an unknown instance. */
export function listExecutions(ctx: ProviderContext, instance: string): Promise<number[]> {
  const statement = ctx.statement(
    'admin: list executions',
    () => sql`select execution_id from ${ctx.tables.executions}
      where instance_id = ${value('instance')} order by execution_id`,
    ([execution]) => integerCell(execution),
  );
  return readStatement(ctx, 'list_executions', statement, { instance });
}

/** Direct children, oldest first; empty for an unknown instance. */
export function listChildren(ctx: ProviderContext, instance: string): Promise<string[]> {
  return readStatement(ctx, 'list_children', childrenOfAny(ctx), { parents: [instance] });
}

/** The root and all that descend from it, level by level. A root that does not exist stands alone. */
export async function getInstanceTree(ctx: ProviderContext, rootId: string): Promise<InstanceTree> {
  return { rootId, allIds: await instancesOfTrees(ctx, [rootId]) };
}

/** The roots and all that descend from them, level by level. */
export async function instancesOfTrees(ctx: ProviderContext, roots: readonly string[]): Promise<string[]> {
  // A set: a circle of parents, which only foreign writers could make, must not go on for ever.
  const all = new Set(roots);
  let level = [...all];
  while (level.length > 0) {
    const children = await readStatement(ctx, 'get_instance_tree', childrenOfAny(ctx), { parents: level });
    level = children.filter((child) => !all.has(child));
    for (const child of level) all.add(child);
  }
  return [...all];
}

function childrenOfAny(ctx: ProviderContext) {
  return ctx.statement(
    'admin: children',
    () => sql`select instance_id from ${ctx.tables.instances}
      where parent_instance_id = any(${value('parents')}::text[]) order by created_at, instance_id`,
    id,
  );
}
