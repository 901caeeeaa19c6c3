import { availableParallelism } from 'node:os';
import { short } from '../../harness/table.js';
import { atLeast, atMost, type Goal } from '../../harness/goal.js';
import type { Bench, Scenario, ScenarioResult } from '../bench.js';
import type { EngineName } from '../engines.js';
import { EngineProcess } from '../run-child.js';
import { difference } from '../server-counters.js';
import { startMany } from './start-many.js';

export const processScenarios: readonly Scenario[] = [
  {
    name: 'processes',
    about: 'a preloaded queue of hellos, all due at one moment, drained by one and more processes',
    run: drainWithProcesses,
  },
];

async function drainWithProcesses(bench: Bench): Promise<ScenarioResult> {
  const rows: (string | number)[][] = [];
  const ours = new Map<number, number>();
  let statementsOfMost = NaN;
  const runs: [EngineName, readonly number[]][] = bench.quick
    ? [['ours', [1, 3]]]
    : [
        ['ours', [1, 2, 3, 8]],
        ['native', [1, 3]],
      ];
  for (const [engine, counts] of runs) {
    if (!bench.hasEngine(engine)) continue;
    for (const processes of counts) {
      const instances = engine === 'native' ? 600 : bench.quick ? 2_000 : 24_000;
      const { perSecond, statements } = await drain(bench, engine, processes, instances);
      rows.push([engine, processes, short(perSecond), short(statements)]);
      if (engine === 'ours') {
        ours.set(processes, perSecond);
        statementsOfMost = statements;
      }
    }
  }
  const best = Math.max(...ours.values());
  const goals: Goal[] = [];
  for (const processes of [3, 8]) {
    const rate = ours.get(processes);
    if (rate === undefined) continue;
    goals.push(atLeast(`${processes} processes by the best number`, rate / best, 0.8));
    if (availableParallelism() < 2 * processes) continue;
    goals.push(atLeast(`${processes} processes by one, cores enough`, rate / (ours.get(1) ?? NaN), 1));
  }
  if (ours.size > 0)
    goals.push(atMost(`statements per hello with ${Math.max(...ours.keys())} processes`, statementsOfMost, 6));
  return { header: ['', 'processes', '/s', 'statements each'], rows, goals };
}

async function drain(bench: Bench, engine: EngineName, processes: number, instances: number) {
  const schema = bench.newSchema();
  const children: EngineProcess[] = [];
  for (let n = 0; n < processes; n++) {
    const child = new EngineProcess({
      engine,
      url: bench.server.url,
      schema,
      workload: { kind: 'serve' },
      name: `p${n}`,
      seed: bench.args.seed,
    });
    children.push(child);
    await child.hear('ready');
    child.tell('go');
    await child.hear('begin');
    child.tell('go');
  }
  const provider = await bench.provider(schema);
  // Code that JavaScript has not compiled yet would count against those that share the queue.
  const warmUps = engine === 'native' || bench.quick ? 200 : 12_000 * processes;
  await startMany(provider, 'hello', 'warm', warmUps);
  await lastCompletionMs(bench, schema, 'warm', warmUps);
  // Enqueued before it is due: what is measured is the draining alone.
  const dueAtMs = Date.now() + 1_000 + instances / 4;
  await startMany(provider, 'hello', 'load', instances, dueAtMs);
  if (Date.now() > dueAtMs) throw new Error('the queue was not loaded before it was due: the machine is too busy');
  const before = await bench.counters.read();
  const drainedMs = (await lastCompletionMs(bench, schema, 'load', instances)) - dueAtMs;
  const { statements } = difference(await bench.counters.read(), before);
  for (const child of children) child.tell('go');
  for (const child of children) await child.hear('end');
  for (const child of children) await child.stop();
  await provider.close();
  await bench.drop(schema);
  return { perSecond: (instances * 1000) / drainedMs, statements: statements / instances };
}

/** When the last of them was completed, by the stamp in the store: looking often would itself cost time. */
async function lastCompletionMs(bench: Bench, schema: string, prefix: string, count: number): Promise<number> {
  for (;;) {
    const { rows } = await bench.control.query<{ n: number; at: number }>(
      `select count(*)::int as n, (extract(epoch from max(completed_at)) * 1000)::float8 as at
        from ${schema}.executions where instance_id like $1 and status = 'Completed'`,
      [`${prefix}-%`],
    );
    const [row] = rows;
    if (row && row.n >= count) return row.at;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
