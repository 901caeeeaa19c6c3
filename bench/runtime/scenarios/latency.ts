import type pg from 'pg';
import { median, percentile } from '../../harness/statistics.js';
import { short } from '../../harness/table.js';
import { atLeast, atMost, type Goal } from '../../harness/goal.js';
import type { Bench, Scenario, ScenarioResult } from '../bench.js';
import type { EngineName } from '../engines.js';

/**
 * Before a lone instance is measured, in ms: JavaScript compiles what it sees a thousand times,
 * which takes some seconds of lone instances, and the life of a worker is longer than that.
 */
export function loneWarmUpMs({ quick }: Bench): number {
  return quick ? 2_000 : 8_000;
}

export const latencyScenarios: readonly Scenario[] = [
  {
    name: 'latency',
    about: 'a lone hello, one after the other, from the start to the result seen',
    run: loneHello,
  },
  {
    name: 'lone-chain',
    about: 'one chain of 20 at a time; steps per second',
    run: loneChain,
  },
];

async function loneHello(bench: Bench): Promise<ScenarioResult> {
  const commitsMs = [await emptyCommitMs(bench.control)];
  const p50 = new Map<EngineName, number>();
  const rows: (string | number)[][] = [];
  let p99OfOurs = NaN;
  const all = ['ours', 'stored-function', 'native', 'native, poll 5 ms'] as const;
  for (const engine of bench.quick ? (['ours', 'native'] as const) : all) {
    if (!bench.hasEngine(engine)) continue;
    const { children } = await bench.measure(engine, {
      kind: 'sequence',
      orchestration: 'hello',
      input: 1,
      count: !bench.quick ? 200 : engine === 'ours' ? 60 : 20,
      warmUpMs: loneWarmUpMs(bench),
    });
    const latencies = children.flatMap(({ latenciesMs }) => latenciesMs);
    p50.set(engine, median(latencies));
    if (engine === 'ours') {
      p99OfOurs = percentile(latencies, 0.99);
      commitsMs.push(await emptyCommitMs(bench.control));
    }
    rows.push([engine, ...[median(latencies), percentile(latencies, 0.95), percentile(latencies, 0.99)].map(short)]);
  }
  // Before and after ours: the disk is not always equally fast.
  const commitMs = commitsMs.reduce((sum, each) => sum + each, 0) / commitsMs.length;
  rows.unshift(['(an empty writing transaction)', short(commitMs), '', '']);
  const ours = p50.get('ours') ?? NaN;
  const goals: Goal[] = [
    atMost('p50 of ours, ms (5 + 7 commits)', ours, short(5 + 7 * commitMs)),
    atMost('p99 of ours by its p50', p99OfOurs / ours, 3),
  ];
  const native = p50.get('native');
  if (native !== undefined) goals.push(atMost('p50 of ours by native', ours / native, 0.5));
  return { header: ['', 'p50 ms', 'p95', 'p99'], rows, goals };
}

async function loneChain(bench: Bench): Promise<ScenarioResult> {
  const steps = new Map<EngineName, number>();
  for (const engine of bench.quick ? (['ours'] as const) : (['ours', 'native', 'native, poll 5 ms'] as const)) {
    if (!bench.hasEngine(engine)) continue;
    const { children, elapsedMs } = await bench.measure(engine, {
      kind: 'sequence',
      orchestration: 'chain',
      input: 20,
      count: bench.quick ? 3 : engine === 'ours' ? 20 : 8,
    });
    const completed = children.reduce((sum, child) => sum + child.completed, 0);
    steps.set(engine, (completed * 20 * 1000) / elapsedMs);
  }
  const ours = steps.get('ours') ?? NaN;
  const goals: Goal[] = [];
  for (const [engine, limit] of [
    ['native', 6],
    ['native, poll 5 ms', 3],
  ] as const) {
    const theirs = steps.get(engine);
    if (theirs !== undefined) goals.push(atLeast(`steps/s of ${engine}`, ours / theirs, limit));
  }
  return { header: ['', 'steps/s'], rows: [...steps].map(([engine, each]) => [engine, short(each)]), goals };
}

/** What the smallest durable transaction costs here and now. */
export async function emptyCommitMs(client: pg.ClientBase): Promise<number> {
  await client.query('create table if not exists public.bench_commit (n bigint)');
  const times: number[] = [];
  for (let n = 0; n < 60; n++) {
    const startMs = performance.now();
    await client.query('begin; insert into public.bench_commit values (1); commit');
    times.push(performance.now() - startMs);
  }
  return median(times);
}
