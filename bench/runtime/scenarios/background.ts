import { short } from '../../harness/table.js';
import { atLeast, atMost, type Bench, type Scenario, type ScenarioResult } from '../bench.js';
import type { Workload } from '../protocol.js';
import { EngineProcess } from '../run-child.js';
import { difference } from '../server-counters.js';

export const backgroundScenarios: readonly Scenario[] = [
  {
    name: 'future-timers',
    about: 'hello beside 100,000 timers that are not due',
    run: futureTimers,
  },
  { name: 'waiters', about: 'hello beside 2,000 clients that wait for results', run: waiters },
  { name: 'idle', about: 'a runtime that has nothing to do', run: idle },
];

function hello(bench: Bench, waiting = 0): Workload {
  return {
    kind: 'load',
    orchestration: 'hello',
    input: 1,
    inFlight: 200,
    warmUpMs: bench.quick ? 2_000 : 6_000,
    windowMs: bench.quick ? 3_000 : 10_000,
    waiters: waiting,
  };
}

/** Alternately without and with something in the way, because the machine may change meanwhile. */
async function compare(
  bench: Bench,
  without: () => Promise<number>,
  with_: () => Promise<number>,
): Promise<{ without: number; with: number; ratio: number }> {
  const pairs = bench.quick ? 1 : 3;
  const ratios: number[] = [];
  let sum = { without: 0, with: 0 };
  for (let n = 0; n < pairs; n++) {
    const a = await without();
    const b = await with_();
    ratios.push(b / a);
    sum = { without: sum.without + a, with: sum.with + b };
  }
  ratios.sort((a, b) => a - b);
  return {
    without: sum.without / pairs,
    with: sum.with / pairs,
    ratio: ratios[Math.floor(ratios.length / 2)] ?? NaN,
  };
}

async function perSecond(bench: Bench, workload: Workload, schema?: string): Promise<number> {
  const { children, elapsedMs } = await bench.measure('ours', workload, schema);
  return (children.reduce((sum, child) => sum + child.completed, 0) * 1000) / elapsedMs;
}

async function futureTimers(bench: Bench): Promise<ScenarioResult> {
  const result = await compare(
    bench,
    () => perSecond(bench, hello(bench)),
    async () => {
      const schema = bench.newSchema();
      await (await bench.provider(schema)).close();
      await bench.control.query(`
        insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
          select 'sleeper-' || n, '{"TimerFired":{"instance":"sleeper-' || n || '","execution_id":1,"id":2,"fire_at_ms":4102444800000}}',
            now() + interval '1 day' + n * interval '1 second', now() from generate_series(1, 100000) n`);
      await bench.control.query(`vacuum analyze ${schema}.orchestrator_queue`);
      const rate = await perSecond(bench, hello(bench), schema);
      await bench.drop(schema);
      return rate;
    },
  );
  return {
    header: ['', '/s'],
    rows: [
      ['without', short(result.without)],
      ['with 100,000 timers', short(result.with)],
    ],
    goals: [atLeast('with timers by without', result.ratio, 0.9)],
  };
}

async function waiters(bench: Bench): Promise<ScenarioResult> {
  const count = bench.quick ? 500 : 2_000;
  const result = await compare(
    bench,
    () => perSecond(bench, hello(bench)),
    () => perSecond(bench, hello(bench, count)),
  );
  return {
    header: ['', '/s'],
    rows: [
      ['without', short(result.without)],
      [`with ${count} waiters`, short(result.with)],
    ],
    goals: [atLeast('with waiters by without', result.ratio, 0.95)],
  };
}

async function idle(bench: Bench): Promise<ScenarioResult> {
  const schema = bench.newSchema();
  const seconds = bench.quick ? 8 : 60;
  const child = new EngineProcess({
    engine: 'ours',
    url: bench.server.url,
    schema,
    workload: { kind: 'serve' },
    name: 'idle',
    seed: bench.args.seed,
  });
  await child.hear('ready');
  child.tell('go');
  await child.hear('begin');
  // Polling backs off first.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  child.tell('go');
  const before = await bench.counters.read();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const { statements } = difference(await bench.counters.read(), before);
  child.tell('go');
  const { result } = await child.hear('end');
  await child.stop();
  await bench.drop(schema);
  // One of the statements was our own look at the counters.
  const perSecondIdle = (statements - 1) / seconds;
  const cpuPercent = (result.clientCpuMs / result.elapsedMs) * 100;
  return {
    header: ['', 'queries/s', 'CPU % of a core'],
    rows: [['ours', short(perSecondIdle), short(cpuPercent)]],
    goals: [atMost('queries per second', perSecondIdle, 1), atMost('CPU % of a core', cpuPercent, 0.5)],
  };
}
