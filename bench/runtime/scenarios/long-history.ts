import { short } from '../../harness/table.js';
import { atMost, type Goal } from '../../harness/goal.js';
import type { Bench, Scenario, ScenarioResult } from '../bench.js';
import type { EngineName } from '../engines.js';
import { fillFinished } from './backlog.js';
import { type Chain, watchHistory } from './history-watch.js';

export const longHistoryScenarios: readonly Scenario[] = [
  {
    name: 'long-history',
    about: 'activities in a row in one execution: what a step costs at the beginning and at the end',
    run: longHistory,
  },
  {
    name: 'fan-in',
    about: 'many activities at once in one instance',
    run: fanIn,
  },
];

/** Finished instances that the store has already, so that its indexes have their depth. */
const FINISHED = 20_000;

async function longHistory(bench: Bench): Promise<ScenarioResult> {
  const rows: (string | number)[][] = [];
  const goals: Goal[] = [];
  const chains: Chain[] = bench.quick
    ? [{ engine: 'ours', steps: 400, after: 0, part: 100 }]
    : [
        { engine: 'ours', steps: 1_000, after: 0, part: 100 },
        { engine: 'ours', steps: 10_000, after: 100, part: 500 },
        { engine: 'ours, cold', steps: 1_000, after: 0, part: 100 },
        { engine: 'native', steps: 1_000, after: 0, part: 100 },
      ];
  for (const chain of chains) {
    const { engine, steps, after, part } = chain;
    if (!bench.hasEngine(engine)) continue;
    const schema = bench.newSchema();
    if (engine !== 'native') {
      await (await bench.provider(schema)).close();
      await fillFinished(bench, schema, FINISHED);
    }
    const watch = watchHistory(bench, schema, 'b-0', chain);
    const { elapsedMs } = await bench.measure(
      engine,
      { kind: 'sequence', orchestration: 'chain', input: steps, count: 1, warmUpInput: engine === 'native' ? 20 : 200 },
      schema,
    );
    const { first, last } = await watch.costs();
    rows.push([
      engine,
      steps,
      short(elapsedMs / 1000),
      ...[first.ms, last.ms, first.rows, last.rows, first.buffers, last.buffers].map(short),
    ]);
    if (engine === 'ours') {
      const text = (what: string) =>
        `${what} of a step in the last ${part} of ${steps}, by step ${after + 1} to ${after + part}`;
      goals.push(atMost(text('ms'), last.ms / first.ms, 1.1));
      goals.push(atMost(text('rows'), last.rows / first.rows, 1.1));
      goals.push(atMost(text('buffers'), last.buffers / first.buffers, 1.1));
    }
    await bench.drop(schema);
  }
  return {
    header: ['', 'steps', 's', 'first: ms each', 'last', 'first: rows each', 'last', 'first: buffers each', 'last'],
    rows,
    goals,
  };
}

async function fanIn(bench: Bench): Promise<ScenarioResult> {
  const rows: (string | number)[][] = [];
  const seconds = new Map<string, number>();
  const runs: [EngineName, number][] = bench.quick
    ? [['ours', 1_500]]
    : [
        ['ours', 1_500],
        ['ours', 5_000],
        ['native', 1_500],
      ];
  for (const [engine, width] of runs) {
    if (!bench.hasEngine(engine)) continue;
    const input = (width: number) => ({ width, activity: 'echo', input: 1 });
    const { elapsedMs } = await bench.measure(engine, {
      kind: 'sequence',
      orchestration: 'fanOut',
      input: input(width),
      count: 1,
      warmUpInput: input(engine === 'native' ? 50 : 1_000),
    });
    seconds.set(`${engine} ${width}`, elapsedMs / 1000);
    rows.push([engine, width, short(elapsedMs / 1000)]);
  }
  const of = (key: string) => seconds.get(key) ?? NaN;
  const goals: Goal[] = [];
  if (seconds.has('native 1500')) goals.push(atMost('1,500 by native', of('ours 1500') / of('native 1500'), 0.1));
  if (seconds.has('ours 5000')) goals.push(atMost('5,000 by 1,500', of('ours 5000') / of('ours 1500'), 4));
  return { header: ['', 'width', 's'], rows, goals };
}
