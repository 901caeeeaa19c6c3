import { startDelayProxy } from '../../harness/delay-proxy.js';
import { median, percentile } from '../../harness/statistics.js';
import { short } from '../../harness/table.js';
import { connectOurs } from '../../../test/oracle/ours.js';
import { findPgbouncer, startPgbouncer } from '../../../test/support/pgbouncer.js';
import { atLeast, atMost, type Bench, type Scenario, type ScenarioResult } from '../bench.js';
import type { Workload } from '../protocol.js';
import { EngineProcess } from '../run-child.js';
import { emptyCommitMs } from './latency.js';

export const networkScenarios: readonly Scenario[] = [
  {
    name: 'two-processes',
    about: 'a lone hello, started and awaited in one process, run by another that is woken by NOTIFY',
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
  const commitMs = await emptyCommitMs(bench.control);
  const sdk = await connectOurs(bench.server.url, schema);
  const client = sdk.client();
  const latencies: number[] = [];
  for (let n = 0; n < (bench.quick ? 60 : 210); n++) {
    const startMs = performance.now();
    await client.startOrchestration(`a-${n}`, 'hello', n);
    const { status } = await client.waitForOrchestration(`a-${n}`, 60_000);
    if (status !== 'Completed') throw new Error(`a-${n} ended as ${status}`);
    if (n >= 10) latencies.push(performance.now() - startMs);
  }
  await sdk.close();
  child.tell('go');
  await child.hear('end');
  await child.stop();
  await bench.drop(schema);
  const p50 = median(latencies);
  return {
    header: ['', 'p50 ms', 'p95', 'p99'],
    rows: [
      ['(an empty writing transaction)', short(commitMs), '', ''],
      ['ours', short(p50), short(percentile(latencies, 0.95)), short(percentile(latencies, 0.99))],
    ],
    goals: [atMost('p50, ms (5 + 7 commits)', p50, short(5 + 7 * commitMs))],
  };
}

function hello(bench: Bench): Workload {
  return {
    kind: 'load',
    orchestration: 'hello',
    input: 1,
    inFlight: 200,
    warmUpMs: bench.quick ? 2_500 : 6_000,
    windowMs: bench.quick ? 4_000 : 12_000,
  };
}

async function throughDelay(bench: Bench): Promise<ScenarioResult> {
  const target = new URL(bench.server.url);
  const proxy = await startDelayProxy(Number(target.port), 1);
  target.port = String(proxy.port);
  const direct = await perSecond(bench, bench.server.url);
  const delayed = await perSecond(bench, target.href);
  await proxy.close();
  return {
    header: ['', '/s'],
    rows: [
      ['direct', short(direct)],
      ['1 ms each way', short(delayed)],
    ],
    goals: [],
  };
}

async function throughPgbouncer(bench: Bench): Promise<ScenarioResult> {
  if (!findPgbouncer()) {
    return { header: ['pgbouncer is neither on PATH nor named by PGBOUNCER_PATH'], rows: [], goals: [] };
  }
  const pooler = await startPgbouncer(bench.server.url);
  const direct = await perSecond(bench, bench.server.url);
  const pooled = await perSecond(bench, pooler.url, 'ours, pooled');
  const directAgain = await perSecond(bench, bench.server.url);
  await pooler.close();
  return {
    header: ['', '/s'],
    rows: [
      ['direct', short((direct + directAgain) / 2)],
      ['through pgbouncer', short(pooled)],
    ],
    goals: [atLeast('through pgbouncer by direct', (2 * pooled) / (direct + directAgain), 0.8)],
  };
}

async function perSecond(bench: Bench, url: string, engine: 'ours' | 'ours, pooled' = 'ours'): Promise<number> {
  const { children, elapsedMs } = await bench.measure(engine, hello(bench), undefined, url);
  return (children.reduce((sum, child) => sum + child.completed, 0) * 1000) / elapsedMs;
}
