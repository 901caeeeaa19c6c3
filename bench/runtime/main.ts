/**
 * `npm run bench`: ours and native side by side on one PostgreSQL of the benchmark's own,
 * each scenario against its goals. `-- --quick` takes less than three minutes.
 */
import { writeFile } from 'node:fs/promises';
import { nativeAvailable, nativeUnavailableReason } from '../../test/oracle/native.js';
import { benchArguments, isWanted } from '../harness/arguments.js';
import { describeEnvironment, printEnvironment } from '../harness/environment.js';
import { formatTable, short } from '../harness/table.js';
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

const args = benchArguments();
const bench = await Bench.open(args);
const environment = await describeEnvironment(bench.server.url);
printEnvironment(environment, args.seed);
if (!nativeAvailable) console.log(`without native: ${nativeUnavailableReason}`);
const results: Record<string, ScenarioResult | { error: string }> = {};
for (const scenario of [
  ...throughputScenarios,
  ...latencyScenarios,
  ...processScenarios,
  ...longHistoryScenarios,
  ...backlogScenarios,
  ...backgroundScenarios,
  ...memoryScenarios,
  ...networkScenarios,
  ...engineScenarios,
]) {
  if (!isWanted(args, scenario.name)) continue;
  console.log(`\n${scenario.name}: ${scenario.about}`);
  const startMs = performance.now();
  try {
    const result = await scenario.run(bench);
    results[scenario.name] = result;
    console.log(formatTable(result.header, result.rows));
    for (const { text, value, met } of result.goals) {
      console.log(`  ${met ? 'met   ' : 'MISSED'} ${text} (${short(value)})`);
    }
  } catch (error) {
    results[scenario.name] = { error: String(error) };
    console.error(error);
    process.exitCode = 1;
  }
  console.log(`  (${((performance.now() - startMs) / 1000).toFixed(1)} s)`);
}
if (args.json)
  await writeFile(args.json, `${JSON.stringify({ environment, seed: args.seed, results }, undefined, 2)}\n`);
await bench.close();
