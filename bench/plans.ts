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
import { formatTable } from './harness/table.js';
import { PlansBench } from './plans/bench.js';
import { hotPath } from './plans/hot-path.js';
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

const [base] = [...columns.values()];
const names = [...(base?.keys() ?? [])];
const readsOf = (name: string) => [...columns.values()].map((column) => column.get(name));
const rows = names.map((name) => [
  name,
  [...new Set(readsOf(name).flatMap((reads) => reads?.indexes ?? []))].join(', '),
  readsOf(name)
    .map((reads) => reads?.rows ?? '-')
    .join(' / '),
  readsOf(name)
    .map((reads) => reads?.buffers ?? '-')
    .join(' / '),
]);
console.log(`rows and buffers beside ${[...columns.keys()].join(' / ')}, for 50 instances`);
console.log(formatTable(['statement', 'indexes', 'rows', 'buffers'], rows));

const problems: string[] = [];
for (const name of names) {
  for (const [beside, column] of columns) {
    const [with_, without] = [column.get(name), base?.get(name)];
    if (!with_ || !without) continue;
    if (with_.scanned.length > 0) problems.push(`${name} reads all of ${with_.scanned.join(', ')} beside ${beside}`);
    // The probe reads the next row of each queue that is not due.
    if (with_.rows > without.rows + 2) problems.push(`${name} reads more rows beside ${beside}`);
  }
}
for (const problem of problems) console.log(`  MISSED ${problem}`);
if (problems.length === 0) console.log('  met    no statement scans a table, and none reads more rows beside others');
if (args.json) {
  const results = Object.fromEntries([...columns].map(([beside, column]) => [beside, Object.fromEntries(column)]));
  await writeFile(args.json, `${JSON.stringify({ environment, results, problems }, undefined, 2)}\n`);
}
process.exit(problems.length === 0 ? 0 : 1);
