import { escapeLiteral } from 'pg';
import { parameterText } from '../../src/provider/drizzle/drivers/parameter-text.js';
import type { Executor, SqlValues } from '../../src/provider/drizzle/executor.js';
import type { Statement } from '../../src/provider/drizzle/statement.js';

/** What one run of a statement read. */
export interface Reads {
  readonly indexes: readonly string[];
  /** `Index Scan` and the like. */
  readonly scans: readonly string[];
  /** Tables that were read from end to end, and were not small. */
  readonly scanned: readonly string[];
  /** That scans of tables met, returned or not. */
  readonly rows: number;
  readonly buffers: number;
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

/** More rows than this, and a scan from end to end is one that should not be. */
const SMALL_TABLE = 200;

/**
 * Runs a statement as the transaction would, with the plan that a warm connection keeps and the
 * transaction's own settings, and takes it back.
 */
export async function readsOf(executor: Executor, statement: Statement<unknown>, values: SqlValues): Promise<Reads> {
  const literals = statement.bind(values).map((value) => {
    const text = parameterText(value);
    return text === null ? 'null' : escapeLiteral(text);
  });
  const execute = `execute explained${literals.length > 0 ? `(${literals.join(', ')})` : ''}`;
  // The first statement brings BEGIN and the transaction's settings with it; a script alone would not.
  await executor.run(plain('select 1'));
  await executor.script('set local plan_cache_mode = force_generic_plan');
  await executor.script(`prepare explained as ${statement.text}`);
  // The plan is made first: what the planner reads of the catalogue is not what is asked for.
  await executor.script(`explain ${execute}`);
  await executor.script('savepoint before');
  const [json] = await executor.run(plain(`explain (analyze, buffers, timing off, format json) ${execute}`));
  await executor.script('rollback to savepoint before');
  await executor.script('deallocate explained');
  const [{ Plan: root }] = JSON.parse(json ?? '[{}]') as [{ Plan: PlanNode }];
  const nodes = [...nodesOf(root)];
  const rowsOf = (node: PlanNode) =>
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
    node['Actual Loops'];
  const scans = nodes.filter((node) => node['Node Type'].includes('Scan') && node['Relation Name'] !== undefined);
  return {
    // Those of branches that were planned and never needed are not among them.
    indexes: [...new Set(nodes.flatMap((node) => (node['Actual Loops'] > 0 ? (node['Index Name'] ?? []) : [])))],
    scans: [...new Set(scans.filter((node) => node['Actual Loops'] > 0).map((node) => node['Node Type']))],
    scanned: scans
      .filter((node) => node['Node Type'] === 'Seq Scan' && rowsOf(node) > SMALL_TABLE)
      .map((node) => node['Relation Name'] ?? '?'),
    rows: Math.round(scans.reduce((sum, node) => sum + rowsOf(node), 0)),
    buffers: nodes.reduce((sum, node) => sum + ownBuffers(node), 0),
  };
}

/**
 * Of a node without its inputs. The root does not count what parts of a statement write that
 * nothing reads, so its own figure is not the whole; and who reads a part counts it once more.
 */
function ownBuffers(node: PlanNode): number {
  const all = (of: PlanNode) => of['Shared Hit Blocks'] + of['Shared Read Blocks'];
  if (node['Node Type'] === 'CTE Scan') return 0;
  return Math.max(0, all(node) - (node.Plans ?? []).reduce((sum, input) => sum + all(input), 0));
}

let plainStatements = 0;

/** Without parameters; answers with its first cell. */
function plain(text: string): Statement<string> {
  return { name: `bench_plans_${plainStatements++}`, text, bind: () => [], decode: ([cell]) => cell ?? '' };
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}
