import { short } from '../../harness/table.js';
import { atMost, type Bench, type Goal, type Scenario, type ScenarioResult } from '../bench.js';
import type { EngineName } from '../engines.js';

export const longHistoryScenarios: readonly Scenario[] = [
  {
    name: 'long-history',
    about: 'activities in a row in one execution: time of a step at the beginning and at the end',
    run: longHistory,
  },
  {
    name: 'fan-in',
    about: 'many activities at once in one instance',
    run: fanIn,
  },
];

async function longHistory(bench: Bench): Promise<ScenarioResult> {
  const rows: (string | number)[][] = [];
  const goals: Goal[] = [];
  const lengths: Partial<Record<EngineName, readonly number[]>> = bench.quick
    ? { ours: [1_000] }
    : { ours: [1_000, 10_000], native: [1_000] };
  for (const [engine, all] of Object.entries(lengths) as [EngineName, readonly number[]][]) {
    if (!bench.hasEngine(engine)) continue;
    for (const length of all) {
      const schema = bench.newSchema();
      const { elapsedMs } = await bench.measure(
        engine,
        { kind: 'sequence', orchestration: 'chain', input: length, count: 1 },
        schema,
      );
      const { first, last } = await stepTimes(bench, schema);
      rows.push([engine, length, short(elapsedMs / 1000), short(first), short(last), short(last / first)]);
      if (engine === 'ours') goals.push(atMost(`last 100 of ${length} steps by the first 100`, last / first, 1.1));
      await bench.drop(schema);
    }
  }
  return { header: ['', 'steps', 's', 'first 100: ms each', 'last 100', 'ratio'], rows, goals };
}

/** By the stamps of the outcomes in the history of the measured instance. */
async function stepTimes(bench: Bench, schema: string): Promise<{ first: number; last: number }> {
  const { rows } = await bench.control.query<{ at: string }>(
    `select event_data::json ->> 'timestamp_ms' as at from ${schema}.history
      where instance_id = 'b-0' and event_data like '%"type":"ActivityCompleted"%' order by event_id`,
  );
  const at = rows.map((row) => Number(row.at));
  const each = (from: number, to: number) => ((at[to] ?? NaN) - (at[from] ?? NaN)) / (to - from);
  return { first: each(0, 100), last: each(at.length - 101, at.length - 1) };
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
    const input = { width, activity: 'echo', input: 1 };
    const { elapsedMs } = await bench.measure(engine, { kind: 'sequence', orchestration: 'fanOut', input, count: 1 });
    seconds.set(`${engine} ${width}`, elapsedMs / 1000);
    rows.push([engine, width, short(elapsedMs / 1000)]);
  }
  const of = (key: string) => seconds.get(key) ?? NaN;
  const goals: Goal[] = [];
  if (seconds.has('native 1500')) goals.push(atMost('1,500 by native', of('ours 1500') / of('native 1500'), 0.1));
  if (seconds.has('ours 5000')) goals.push(atMost('5,000 by 1,500', of('ours 5000') / of('ours 1500'), 4));
  return { header: ['', 'width', 's'], rows, goals };
}
