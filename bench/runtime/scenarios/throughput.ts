import { median, percentile } from '../../harness/statistics.js';
import { short } from '../../harness/table.js';
import { atLeast, atMost, type Goal } from '../../harness/goal.js';
import type { Bench, Scenario, ScenarioResult } from '../bench.js';
import type { EngineName } from '../engines.js';
import type { Measured } from '../run-child.js';

/** Figures of one engine in one scenario. */
interface Figures {
  readonly engine: EngineName;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly serverCpuMs: number;
  readonly clientCpuMs: number;
  readonly commits: number;
  readonly statements: number;
  readonly walKb: number;
}

interface ThroughputParams {
  readonly name: string;
  readonly about: string;
  readonly orchestration: string;
  readonly input: unknown;
  readonly inFlight: number;
  readonly engines: readonly EngineName[];
  /** Those that take part beside ours with `--quick`, where something is completed in so short a time. */
  readonly quickEngines?: readonly EngineName[];
  /** Activities count, not instances: an instance may take longer than the window. */
  readonly countsSteps?: boolean;
  readonly goals: (ours: Figures, native: Figures | undefined) => Goal[];
}

export const throughputScenarios: readonly Scenario[] = [
  throughput({
    name: 'hello',
    about: 'one activity, 200 in flight, client and runtime in one process',
    orchestration: 'hello',
    input: { who: 'world' },
    inFlight: 200,
    engines: ['ours', 'stored-function', 'native', 'native, poll 5 ms'],
    quickEngines: ['native'],
    goals: (ours, native) => [
      ...ratio('hello of native', ours, native, 20),
      atMost('server CPU ms per hello', ours.serverCpuMs, 0.6),
      atMost('client CPU ms per hello', ours.clientCpuMs, 0.4),
      atMost('commits per hello', ours.commits, 0.5),
      atMost('statements per hello', ours.statements, 6),
      atMost('KB of WAL per hello', ours.walKb, 14),
    ],
  }),
  throughput({
    name: 'fan-out',
    about: 'five activities at once, 200 in flight',
    orchestration: 'fanOut',
    input: { width: 5, activity: 'echo', input: 1 },
    inFlight: 200,
    engines: ['ours', 'native'],
    goals: (ours, native) => ratio('fan-out of native', ours, native, 15),
  }),
  throughput({
    name: 'stress',
    about: 'five activities of 10 ms, 20 in flight',
    orchestration: 'fanOut',
    input: { width: 5, activity: 'nap', input: 10 },
    inFlight: 20,
    engines: ['ours', 'native', 'native, poll 5 ms'],
    goals: (ours, native) => ratio('stress of native', ours, native, 5),
  }),
  throughput({
    name: 'chain',
    about: '20 activities in a row, 200 in flight; steps',
    orchestration: 'chain',
    input: 20,
    inFlight: 200,
    countsSteps: true,
    engines: ['ours', 'native'],
    quickEngines: ['native'],
    goals: (ours, native) => ratio('chain of native', ours, native, 15),
  }),
];

function throughput(params: ThroughputParams): Scenario {
  const { name, about, orchestration, input, inFlight, countsSteps = false } = params;
  const run = async (bench: Bench): Promise<ScenarioResult> => {
    const figures: Figures[] = [];
    for (const engine of params.engines) {
      if (!bench.hasEngine(engine)) continue;
      if (bench.quick && engine !== 'ours' && !params.quickEngines?.includes(engine)) continue;
      // The second minute, when checkpoints have had their share of the WAL.
      const thorough = !bench.quick && engine === 'ours' && name === 'hello';
      const measured = await bench.measure(engine, {
        kind: 'load',
        orchestration,
        input,
        inFlight,
        warmUpMs: thorough ? 60_000 : bench.quick ? 1_500 : 8_000,
        windowMs: thorough ? 60_000 : bench.quick ? 2_000 : 15_000,
      });
      figures.push(figuresOf(engine, measured, countsSteps));
    }
    const native = bestNative(figures);
    const ours = figures.find(({ engine }) => engine === 'ours');
    return {
      header: ['', '/s', 'of native', 'p50 ms', 'p95', 'CPU ms server', 'client', 'commits', 'statements', 'WAL KB'],
      rows: figures.map((row) => [
        row.engine,
        short(row.perSecond),
        native ? short(row.perSecond / native.perSecond) : '',
        // None was completed in a window that is shorter than an instance takes.
        Number.isNaN(row.p50Ms) ? '' : short(row.p50Ms),
        Number.isNaN(row.p95Ms) ? '' : short(row.p95Ms),
        ...[row.serverCpuMs, row.clientCpuMs, row.commits, row.statements, row.walKb].map(short),
      ]),
      goals: ours ? params.goals(ours, native) : [],
    };
  };
  return { name, about, run };
}

/** Ours is compared with native at its better setting. */
function bestNative(figures: readonly Figures[]): Figures | undefined {
  return figures
    .filter(({ engine }) => engine.startsWith('native'))
    .sort((a, b) => b.perSecond - a.perSecond)
    .at(0);
}

function figuresOf(engine: EngineName, { children, server, elapsedMs }: Measured, countsSteps: boolean): Figures {
  const completed = children.reduce((sum, child) => sum + (countsSteps ? child.activities : child.completed), 0);
  const latencies = children.flatMap(({ latenciesMs }) => latenciesMs);
  const clientCpuMs = children.reduce((sum, child) => sum + child.clientCpuMs, 0);
  return {
    engine,
    perSecond: (completed * 1000) / elapsedMs,
    p50Ms: median(latencies),
    p95Ms: percentile(latencies, 0.95),
    serverCpuMs: server.cpuMs / completed,
    clientCpuMs: clientCpuMs / completed,
    commits: server.commits / completed,
    statements: server.statements / completed,
    walKb: server.walBytes / 1024 / completed,
  };
}

function ratio(text: string, ours: Figures, native: Figures | undefined, limit: number): Goal[] {
  return native ? [atLeast(text, ours.perSecond / native.perSecond, limit)] : [];
}
