/**
 * What each statement of the hot path reads: its indexes, the rows that its scans met and the
 * buffers that it touched, by EXPLAIN (ANALYZE, BUFFERS) inside the provider's own transactions, with
 * the plans that a warm connection keeps. With 3,000 ready rows in each queue, and again with
 * 300,000 rows beside them that are not due, that are locked, and with 1,000,000 finished
 * instances. None of that depends on how busy the machine is.
 *
 *     npx tsx bench/plans.ts               about three minutes
 *     npx tsx bench/plans.ts --quick       a tenth of the rows
 */
import { writeFile } from 'node:fs/promises';
import { describeEnvironment, printEnvironment } from './harness/environment.js';
import { benchArguments } from './harness/arguments.js';
import { atMost, printGoals } from './harness/goal.js';
import { formatTable } from './harness/table.js';
import { PlansBench } from './plans/bench.js';
import { BEHIND, hotPath } from './plans/hot-path.js';
import type { Reads } from './plans/reads.js';
import { BESIDE, fillBeside, fillReady } from './plans/rows.js';

const args = benchArguments();
const bench = await PlansBench.open();
const environment = await describeEnvironment(bench.url);
printEnvironment(environment, args.seed);

const columns = new Map<string, Map<string, Reads>>();
for (const beside of BESIDE) {
  const count = beside.count / (args.quick ? 10 : 1);
  await bench.empty();
  await fillReady(bench);
  if (beside.isUnknown) await bench.analyze();
  await fillBeside(bench, { ...beside, count });
  if (!beside.isUnknown) await bench.analyze();
  const title = `${count.toLocaleString('en')} ${beside.kind}${beside.isUnknown ? ', statistics from before' : ''}`;
  columns.set(count > 0 ? title : 'nothing', await hotPath(bench));
}
await bench.close();

const base = columns.get('nothing') ?? new Map<string, Reads>();
const all = [...columns.values()];
const total = (column: Map<string, Reads>, of: 'rows' | 'buffers') =>
  [...column].reduce((sum, [name, reads]) => sum + (name.startsWith(BEHIND) ? 0 : reads[of]), 0);
const perColumn = (figure: (column: Map<string, Reads>) => number | undefined) =>
  all.map((column) => figure(column) ?? '-').join(' / ');
const rows = [...base.keys()].map((name) => [
  name,
  [...new Set(all.flatMap((column) => column.get(name)?.indexes ?? []))].join(', '),
  perColumn((column) => column.get(name)?.rows),
  perColumn((column) => column.get(name)?.buffers),
]);
rows.push([
  'all but those behind others',
  '',
  perColumn((column) => total(column, 'rows')),
  perColumn((column) => total(column, 'buffers')),
]);
console.log(`rows and buffers beside ${[...columns.keys()].join(' / ')}, for 50 instances`);
console.log(formatTable(['statement', 'indexes', 'rows', 'buffers'], rows));
const kinds = all.flatMap((column) => [...column.values()].flatMap(({ scans }) => scans));
console.log(`how tables are reached: ${[...new Set(kinds)].join(', ')}`);

const problems: string[] = [];
for (const [title, column] of columns) {
  for (const [name, { rows, scanned }] of column) {
    if (scanned.length > 0) problems.push(`${name} reads all of ${scanned.join(', ')} beside ${title}`);
    // The probe reads the next row of each queue that is not due.
    if (rows > (base.get(name)?.rows ?? 0) + 2) problems.push(`${name} reads more rows beside ${title}`);
  }
}
const goal = atMost(
  'buffers of all beside finished instances, by without',
  total(all.at(-1) ?? base, 'buffers') / total(base, 'buffers'),
  1.1,
);
printGoals([goal]);
for (const problem of problems) console.log(`  MISSED ${problem}`);
if (problems.length === 0) console.log('  met    no statement scans a table, and none reads more rows beside others');
if (args.json) {
  const results = Object.fromEntries([...columns].map(([beside, column]) => [beside, Object.fromEntries(column)]));
  await writeFile(args.json, `${JSON.stringify({ environment, results, goal, problems }, undefined, 2)}\n`);
}
process.exit(problems.length === 0 && goal.met ? 0 : 1);
