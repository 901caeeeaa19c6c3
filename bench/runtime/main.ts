/**
 * `npm run bench`: ours and native side by side on one PostgreSQL of the benchmark's own,
 * each scenario against its goals. `-- --quick` takes less than three minutes.
 */
import { writeFile } from 'node:fs/promises';
import { nativeAvailable, nativeUnavailableReason } from '../../test/oracle/native.js';
import { benchArguments } from '../harness/arguments.js';
import { describeEnvironment, printEnvironment } from '../harness/environment.js';
import { printGoals } from '../harness/goal.js';
import { formatTable } from '../harness/table.js';
import { Bench, type ScenarioResult } from './bench.js';
import { backgroundScenarios } from './scenarios/background.js';
import { backlogScenarios } from './scenarios/backlog.js';
import { engineScenarios } from './scenarios/engine.js';
import { latencyScenarios } from './scenarios/latency.js';
import { longHistoryScenarios } from './scenarios/long-history.js';
import { memoryScenarios } from './scenarios/memory.js';
import { networkScenarios } from './scenarios/network.js';
import { processScenarios } from './scenarios/processes.js';
import { throughputScenarios } from './scenarios/throughput.js';

const scenarios = [
  ...throughputScenarios,
  ...latencyScenarios,
  ...processScenarios,
  ...longHistoryScenarios,
  ...backlogScenarios,
  ...backgroundScenarios,
  ...memoryScenarios,
  ...networkScenarios,
  ...engineScenarios,
];
const args = benchArguments();
const wanted = scenarios.filter(({ name }) => isWanted(name));
if (wanted.length === 0) {
  console.error(`no scenario is named like that: expected ${scenarios.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const bench = await Bench.open(args);
const environment = await describeEnvironment(bench.server.url);
printEnvironment(environment, args.seed);
if (!nativeAvailable) console.log(`without native: ${nativeUnavailableReason}`);
const results: Record<string, ScenarioResult | { error: string }> = {};
const beganMs = performance.now();
for (const scenario of wanted) {
  console.log(`\n${scenario.name}: ${scenario.about}`);
  const startMs = performance.now();
  try {
    const result = await scenario.run(bench);
    results[scenario.name] = result;
    console.log(formatTable(result.header, result.rows));
    printGoals(result.goals);
  } catch (error) {
    results[scenario.name] = { error: String(error) };
    console.error(error);
    process.exitCode = 1;
  }
  console.log(`  (${((performance.now() - startMs) / 1000).toFixed(1)} s)`);
}
if (args.json)
  await writeFile(args.json, `${JSON.stringify({ environment, seed: args.seed, results }, undefined, 2)}\n`);
console.log(`\n${wanted.length} scenarios in ${((performance.now() - beganMs) / 60_000).toFixed(1)} minutes`);
await bench.close();
// A scenario that failed may have left processes behind; they end with this one.
process.exit();

/** A whole name means that scenario, anything else all whose names contain it. */
function isWanted(name: string): boolean {
  const isName = (part: string) => scenarios.some((scenario) => scenario.name === part);
  return args.only.length === 0 || args.only.some((part) => (isName(part) ? part === name : name.includes(part)));
}
