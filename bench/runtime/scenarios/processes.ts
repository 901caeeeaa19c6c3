import { short } from '../../harness/table.js';
import { atLeast, atMost, type Bench, type Goal, type Scenario, type ScenarioResult } from '../bench.js';
import type { EngineName } from '../engines.js';
import { EngineProcess } from '../run-child.js';
import { difference } from '../server-counters.js';
import { startMany } from './start-many.js';

export const processScenarios: readonly Scenario[] = [
  {
    name: 'processes',
    about: 'a preloaded queue of hellos, drained by one and more processes',
    run: drainWithProcesses,
  },
];

async function drainWithProcesses(bench: Bench): Promise<ScenarioResult> {
  const rows: (string | number)[][] = [];
  const ours = new Map<number, number>();
  let statementsOfMost = NaN;
  const counts = bench.quick ? [1, 2, 3] : [1, 2, 3, 8];
  for (const engine of bench.quick ? (['ours'] as const) : (['ours', 'native'] as const)) {
    if (!bench.hasEngine(engine)) continue;
    for (const processes of counts) {
      const instances = engine === 'native' ? 600 : bench.quick ? 4_000 : 12_000;
      const { perSecond, statements } = await drain(bench, engine, processes, instances);
      rows.push([engine, processes, short(perSecond), short(statements)]);
      if (engine === 'ours') {
        ours.set(processes, perSecond);
        statementsOfMost = statements;
      }
    }
  }
  const best = Math.max(...ours.values());
  const goals: Goal[] = [atLeast('three processes by the best number', (ours.get(3) ?? NaN) / best, 0.8)];
  if (ours.has(8)) goals.push(atLeast('eight processes by the best number', (ours.get(8) ?? NaN) / best, 0.8));
  goals.push(atMost(`statements per hello with ${counts.at(-1)} processes`, statementsOfMost, 6));
  return { header: ['', 'processes', '/s', 'statements each'], rows, goals };
}

async function drain(bench: Bench, engine: EngineName, processes: number, instances: number) {
  const schema = bench.newSchema();
  const children = [];
  for (let n = 0; n < processes; n++) {
    const child = new EngineProcess({
      engine,
      url: bench.server.url,
      schema,
      workload: { kind: 'serve' },
      name: `p${n}`,
      seed: bench.args.seed,
    });
    await child.hear('ready');
    child.tell('go');
    await child.hear('begin');
    child.tell('go');
    children.push(child);
  }
  const provider = await bench.provider(schema);
  // A few to warm up, then all.
  for (const [prefix, count] of [
    ['warm', 200],
    ['load', instances],
  ] as const) {
    const before = await bench.counters.read();
    const startMs = performance.now();
    await startMany(provider, 'hello', prefix, count);
    await untilCompleted(bench, schema, prefix, count);
    if (prefix === 'warm') continue;
    const perSecond = (instances * 1000) / (performance.now() - startMs);
    const { statements } = difference(await bench.counters.read(), before);
    for (const child of children) child.tell('go');
    for (const child of children) await child.hear('end');
    for (const child of children) await child.stop();
    await provider.close();
    await bench.drop(schema);
    return { perSecond, statements: statements / instances };
  }
  throw new Error('unreachable');
}

async function untilCompleted(bench: Bench, schema: string, prefix: string, count: number): Promise<void> {
  for (;;) {
    const { rows } = await bench.control.query<{ n: number }>(
      `select count(*)::int as n from ${schema}.executions where instance_id like $1 and status = 'Completed'`,
      [`${prefix}-%`],
    );
    if ((rows[0]?.n ?? 0) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
