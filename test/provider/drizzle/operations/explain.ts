import type pg from 'pg';
import { escapeLiteral } from 'pg';
import { parameterText } from '../../../../src/provider/drizzle/drivers/parameter-text.js';
import type { SqlValue } from '../../../../src/provider/drizzle/executor.js';
import type { RanStatement } from './support.js';

/** A node of `EXPLAIN (FORMAT JSON)`, the fields that tests look at. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Subplan Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface Explained {
  readonly root: PlanNode;
  readonly nodes: readonly PlanNode[];
  /** Buffers that the statement touched. */
  readonly buffers: number;
}

/**
 * Runs a statement once with its generic plan, the one that a warm connection has, and
 * takes it back. Answers with what it did.
 */
export async function explain(
  client: pg.Client,
  { text, values }: RanStatement,
  /** What the transaction of the statement sets before it. */
  settings = '',
): Promise<Explained> {
  const literals = values.map((value) => {
    const cell = parameterText(value as SqlValue);
    return cell === null ? 'null' : escapeLiteral(cell);
  });
  await client.query('begin isolation level read committed');
  try {
    await client.query('set local plan_cache_mode = force_generic_plan');
    if (settings !== '') await client.query(settings);
    await client.query(`prepare explained as ${text}`);
    const execute = `execute explained${literals.length > 0 ? `(${literals.join(', ')})` : ''}`;
    // Once for the catalogue and the plan, which are not what is measured.
    await client.query('savepoint before');
    await client.query(execute);
    await client.query('rollback to savepoint before');
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, buffers, timing off, format json) ${execute}`,
    );
    const root = rows[0]?.['QUERY PLAN'][0].Plan;
    if (!root) throw new Error('no plan');
    return { root, nodes: [...nodesOf(root)], buffers: buffersOf(root) };
  } finally {
    await client.query('rollback');
    await client.query('deallocate all');
  }
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}

export function buffersOf(node: PlanNode): number {
  return (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);
}

/** The tables that a plan reads from end to end, but for those that are small anyway. */
export function scannedTables({ nodes }: Explained): string[] {
  const rowsOf = (node: PlanNode) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
  const scans = nodes.filter((node) => node['Node Type'] === 'Seq Scan' && rowsOf(node) > 100);
  return scans.map((node) => node['Relation Name'] ?? '?');
}

/** The most rows that any sort of a plan took. */
export function largestSort({ nodes }: Explained): number {
  const sorts = nodes.filter((node) => node['Node Type'].includes('Sort'));
  return Math.max(0, ...sorts.flatMap((sort) => sort.Plans ?? []).map((input) => input['Actual Rows'] ?? 0));
}
