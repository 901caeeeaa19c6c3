import { startDelayProxy } from '../../harness/delay-proxy.js';
import { median, percentile } from '../../harness/statistics.js';
import { short } from '../../harness/table.js';
import { connectOurs } from '../../../test/oracle/ours.js';
import { findPgbouncer, startPgbouncer } from '../../../test/support/pgbouncer.js';
import { atLeast, atMost } from '../../harness/goal.js';
import type { Bench, Scenario, ScenarioResult } from '../bench.js';
import { EngineProcess } from '../run-child.js';
import { compare, helloLoad, perSecond } from './compare.js';
import { emptyCommitMs, loneWarmUpMs } from './latency.js';

export const networkScenarios: readonly Scenario[] = [
  {
    name: 'two-processes',
    about: 'a lone hello every now and then, started and awaited in one process, run by another that NOTIFY wakes',
    run: acrossProcesses,
  },
  { name: 'delay', about: 'hello through a network that takes 1 ms each way', run: throughDelay },
  { name: 'pgbouncer', about: 'hello through pgbouncer in transaction mode', run: throughPgbouncer },
];

async function acrossProcesses(bench: Bench): Promise<ScenarioResult> {
  const schema = bench.newSchema();
  const child = new EngineProcess({
    engine: 'ours',
    url: bench.server.url,
    schema,
    workload: { kind: 'serve' },
    name: 'a',
    seed: bench.args.seed,
  });
  await child.hear('ready');
  child.tell('go');
  await child.hear('begin');
  child.tell('go');
  const commitBeforeMs = await emptyCommitMs(bench.control);
  const sdk = await connectOurs(bench.server.url, schema);
  const client = sdk.client();
  const latencies: number[] = [];
  const warmUntilMs = performance.now() + loneWarmUpMs(bench);
  for (let n = 0; latencies.length < (bench.quick ? 30 : 200); n++) {
    // Without it they would come faster than a process notifies, and no longer be lone ones.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const startMs = performance.now();
    await client.startOrchestration(`a-${n}`, 'hello', n);
    const { status } = await client.waitForOrchestration(`a-${n}`, 60_000);
    if (status !== 'Completed') throw new Error(`a-${n} ended as ${status}`);
    if (startMs > warmUntilMs) latencies.push(performance.now() - startMs);
  }
  const commitMs = (commitBeforeMs + (await emptyCommitMs(bench.control))) / 2;
  await sdk.close();
  child.tell('go');
  await child.hear('end');
  await child.stop();
  await bench.drop(schema);
  const p50 = median(latencies);
  const p99 = percentile(latencies, 0.99);
  return {
    header: ['', 'p50 ms', 'p95', 'p99'],
    rows: [
      ['(an empty writing transaction)', short(commitMs), '', ''],
      ['ours', short(p50), short(percentile(latencies, 0.95)), short(p99)],
    ],
    goals: [atMost('p50, ms (5 + 7 commits)', p50, short(5 + 7 * commitMs)), atMost('p99 by p50', p99 / p50, 3)],
  };
}

async function throughDelay(bench: Bench): Promise<ScenarioResult> {
  const target = new URL(bench.server.url);
  const proxy = await startDelayProxy(Number(target.port), 1);
  target.port = String(proxy.port);
  const direct = await perSecond(bench, helloLoad(bench));
  const delayed = await perSecond(bench, helloLoad(bench), { url: target.href });
  const loneDirect = await loneMs(bench, bench.server.url);
  const loneDelayed = await loneMs(bench, target.href);
  await proxy.close();
  return {
    header: ['', '/s', 'lone, p50 ms', 'round trips of a lone one'],
    rows: [
      ['direct', short(direct), short(loneDirect), ''],
      // What each round trip takes longer: 1 ms each way, and what timers of the proxy add.
      ['1 ms each way', short(delayed), short(loneDelayed), short((loneDelayed - loneDirect) / ROUND_TRIP_MS)],
    ],
    goals: [],
  };
}

const ROUND_TRIP_MS = 2;

async function loneMs(bench: Bench, url: string): Promise<number> {
  const workload = { kind: 'sequence', orchestration: 'hello', input: 1, count: bench.quick ? 20 : 100 } as const;
  const { children } = await bench.measure('ours', workload, undefined, url);
  return median(children.flatMap(({ latenciesMs }) => latenciesMs));
}

async function throughPgbouncer(bench: Bench): Promise<ScenarioResult> {
  if (!findPgbouncer()) {
    return { header: ['pgbouncer is neither on PATH nor named by PGBOUNCER_PATH'], rows: [], goals: [] };
  }
  const pooler = await startPgbouncer(bench.server.url);
  const result = await compare(
    bench,
    () => perSecond(bench, helloLoad(bench)),
    () => perSecond(bench, helloLoad(bench), { engine: 'ours, pooled', url: pooler.url }),
  );
  await pooler.close();
  return {
    header: ['', '/s'],
    rows: [
      ['direct', short(result.without)],
      ['through pgbouncer', short(result.with)],
    ],
    goals: [atLeast('through pgbouncer by direct', result.ratio, 0.8)],
  };
}
