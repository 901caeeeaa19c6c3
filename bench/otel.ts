/**
 * What telemetry costs: the throughput of hello with the entry `duroxide-drizzle/otel` not used, used without an SDK
 * (the API's no-op tracer and meter), and with an SDK that samples everything. The three take turns, so that what else
 * the machine does meets all of them; ratios are of medians of five runs each. Goal: without an SDK at most 2 %.
 *
 *     npm run bench:otel               about 6 minutes on a quiet machine
 *     npm run bench:otel -- --quick    less than two, for a look
 */
import { writeFile } from 'node:fs/promises';
import { benchArguments } from './harness/arguments.js';
import { describeEnvironment, printEnvironment } from './harness/environment.js';
import { median } from './harness/statistics.js';
import { formatTable, short } from './harness/table.js';
import { atLeast, printGoals } from './harness/goal.js';
import { Bench } from './runtime/bench.js';
import type { EngineName } from './runtime/engines.js';

const RUNS = 5;
const ENGINES = ['ours', 'ours, no-op tracer', 'ours, OpenTelemetry SDK'] as const satisfies readonly EngineName[];
type Contestant = (typeof ENGINES)[number];
const LABELS: Readonly<Record<Contestant, string>> = {
  ours: 'not used',
  'ours, no-op tracer': 'no-op tracer',
  'ours, OpenTelemetry SDK': 'SDK, everything sampled',
};

interface Run {
  readonly perSecond: number;
  readonly clientCpuMs: number;
}

const args = benchArguments();
const bench = await Bench.open(args);
const environment = await describeEnvironment(bench.server.url);
printEnvironment(environment, args.seed);

const runs: Record<Contestant, Run[]> = { ours: [], 'ours, no-op tracer': [], 'ours, OpenTelemetry SDK': [] };
for (let round = 0; round < RUNS; round++) {
  // Each of them is first, second and last in turn.
  for (let n = 0; n < ENGINES.length; n++) {
    const engine = ENGINES[(round + n) % ENGINES.length] ?? 'ours';
    const run = await measure(engine);
    runs[engine].push(run);
    console.log(`run ${round + 1}: ${LABELS[engine]}: ${short(run.perSecond)}/s, ${short(run.clientCpuMs)} ms`);
  }
}
await bench.close();

const ofRuns = (engine: Contestant, of: (run: Run) => number) => median(runs[engine].map(of));
const rate = (engine: Contestant) => ofRuns(engine, ({ perSecond }) => perSecond);
const rows = ENGINES.map((engine) => [
  LABELS[engine],
  short(rate(engine)),
  short(rate(engine) / rate('ours')),
  short(ofRuns(engine, ({ clientCpuMs }) => clientCpuMs)),
  short(Math.min(...runs[engine].map(({ perSecond }) => perSecond))),
  short(Math.max(...runs[engine].map(({ perSecond }) => perSecond))),
]);
console.log(`\n${formatTable(['telemetry', 'hello/s', 'ratio', 'client CPU ms', 'least', 'most'], rows)}`);
const goal = atLeast('hello with a no-op tracer, of hello without', rate('ours, no-op tracer') / rate('ours'), 0.98);
printGoals([goal]);
if (args.json)
  await writeFile(args.json, `${JSON.stringify({ environment, seed: args.seed, runs, goal }, undefined, 2)}\n`);

async function measure(engine: EngineName): Promise<Run> {
  const { children, elapsedMs } = await bench.measure(engine, {
    kind: 'load',
    orchestration: 'hello',
    input: { who: 'world' },
    inFlight: 200,
    warmUpMs: bench.quick ? 2_000 : 8_000,
    windowMs: bench.quick ? 3_000 : 12_000,
  });
  const completed = children.reduce((sum, child) => sum + child.completed, 0);
  const clientCpuMs = children.reduce((sum, child) => sum + child.clientCpuMs, 0);
  return { perSecond: (completed * 1000) / elapsedMs, clientCpuMs: clientCpuMs / completed };
}
