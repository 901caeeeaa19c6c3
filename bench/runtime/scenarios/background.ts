import { connectNative } from '../../../test/oracle/native.js';
import { short } from '../../harness/table.js';
import { atLeast, atMost } from '../../harness/goal.js';
import type { Bench, Scenario, ScenarioResult } from '../bench.js';
import { EngineProcess } from '../run-child.js';
import { difference } from '../server-counters.js';
import { compare, helloLoad, perSecond } from './compare.js';

export const backgroundScenarios: readonly Scenario[] = [
  {
    name: 'future-timers',
    about: 'hello beside 100,000 timers that are not due',
    run: futureTimers,
  },
  { name: 'waiters', about: 'hello beside 2,000 clients that wait for results', run: waiters },
  { name: 'idle', about: 'a runtime that has nothing to do', run: idle },
];

async function futureTimers(bench: Bench): Promise<ScenarioResult> {
  const timers = bench.quick ? 10_000 : 100_000;
  const result = await compare(
    bench,
    () => perSecond(bench, helloLoad(bench)),
    async () => {
      const schema = bench.newSchema();
      await (await bench.provider(schema)).close();
      await bench.control.query(`
        insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
          select 'sleeper-' || n, '{"TimerFired":{"instance":"sleeper-' || n || '","execution_id":1,"id":2,"fire_at_ms":4102444800000}}',
            now() + interval '1 day' + n * interval '1 second', now() from generate_series(1, ${timers}) n`);
      await bench.control.query(`vacuum analyze ${schema}.orchestrator_queue`);
      const rate = await perSecond(bench, helloLoad(bench), { schema });
      await bench.drop(schema);
      return rate;
    },
  );
  return {
    header: ['', '/s'],
    rows: [
      ['without', short(result.without)],
      [`with ${timers} timers`, short(result.with)],
    ],
    goals: [atLeast('with timers by without', result.ratio, 0.9)],
  };
}

async function waiters(bench: Bench): Promise<ScenarioResult> {
  const count = bench.quick ? 500 : 2_000;
  const seconds = bench.quick ? 3 : 30;
  const runtime = await idleFor(bench, { seconds });
  const alone = await idleFor(bench, { waiters: count, seconds });
  const queriesPerSecond = Math.max(0, alone.queriesPerSecond - runtime.queriesPerSecond);
  const result = await compare(
    bench,
    () => perSecond(bench, helloLoad(bench)),
    () => perSecond(bench, helloLoad(bench, count)),
  );
  return {
    header: ['', 'hello/s', 'queries/s of the waiters alone'],
    rows: [
      ['without', short(result.without), ''],
      [`with ${count} waiters`, short(result.with), short(queriesPerSecond)],
    ],
    goals: [
      atMost('queries per second of all waiters', queriesPerSecond, 5),
      atLeast('with waiters by without', result.ratio, 0.95),
    ],
  };
}

async function idle(bench: Bench): Promise<ScenarioResult> {
  const own = await idleFor(bench, { seconds: bench.quick ? 3 : 60 });
  const rows = [['ours', short(own.queriesPerSecond), short(own.cpuPercent)]];
  const goals = [atMost('queries per second', own.queriesPerSecond, 1), atMost('CPU % of a core', own.cpuPercent, 0.5)];
  if (!bench.quick && bench.hasEngine('native')) {
    const schema = bench.newSchema();
    await connectNative(bench.server.url, schema);
    const shared = await idleFor(bench, { seconds: 30, schema });
    rows.push(['ours, shared with native', short(shared.queriesPerSecond), short(shared.cpuPercent)]);
    goals.push(atMost('queries per second, shared with native without triggers', shared.queriesPerSecond, 10));
  }
  return { header: ['', 'queries/s', 'CPU % of a core'], rows, goals };
}

interface IdleParams {
  readonly seconds: number;
  readonly waiters?: number;
  /** @defaultValue one of its own */
  readonly schema?: string;
}

/** What a runtime without anything to do costs. */
async function idleFor(bench: Bench, { seconds, waiters = 0, schema = bench.newSchema() }: IdleParams) {
  const child = new EngineProcess({
    engine: 'ours',
    url: bench.server.url,
    schema,
    workload: { kind: 'serve', waiters },
    name: 'idle',
    seed: bench.args.seed,
  });
  await child.hear('ready');
  child.tell('go');
  await child.hear('begin');
  // Polling backs off first, and so do the looks of waiters.
  await new Promise((resolve) => setTimeout(resolve, bench.quick ? 2_000 : waiters > 0 ? 8_000 : 3_000));
  child.tell('go');
  const before = await bench.counters.read();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const { statements } = difference(await bench.counters.read(), before);
  child.tell('go');
  const { result } = await child.hear('end');
  await child.stop();
  await bench.drop(schema);
  return {
    // One of the statements was our own look at the counters.
    queriesPerSecond: (statements - 1) / seconds,
    cpuPercent: (result.clientCpuMs / result.elapsedMs) * 100,
  };
}
