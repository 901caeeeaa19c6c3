import { short } from '../../harness/table.js';
import { atMost } from '../../harness/goal.js';
import type { Bench, Scenario, ScenarioResult } from '../bench.js';
import { EngineProcess } from '../run-child.js';
import { startMany } from './start-many.js';

export const memoryScenarios: readonly Scenario[] = [
  {
    name: 'memory',
    about: 'the memory of a runtime whose instances wait for events',
    run: memoryOfWaiting,
  },
];

async function memoryOfWaiting(bench: Bench): Promise<ScenarioResult> {
  const counts = bench.quick ? [500, 2_500] : [1_000, 100_000];
  const rss: number[] = [];
  for (const count of counts) rss.push(await rssWith(bench, count));
  const [few = NaN, many = NaN] = rss;
  return {
    header: ['waiting instances', 'RSS MB'],
    rows: counts.map((count, n) => [count, short((rss[n] ?? NaN) / 1024 / 1024)]),
    goals: [atMost(`RSS with ${counts[1]} by ${counts[0]}`, many / few, 1.1)],
  };
}

async function rssWith(bench: Bench, count: number): Promise<number> {
  const schema = bench.newSchema();
  const child = new EngineProcess({
    engine: 'ours',
    url: bench.server.url,
    schema,
    workload: { kind: 'serve' },
    name: 'm',
    seed: bench.args.seed,
  });
  await child.hear('ready');
  child.tell('go');
  await child.hear('begin');
  child.tell('go');
  const provider = await bench.provider(schema);
  // The same work before both readings, so that what differs is what waits: hellos come and go.
  const hellos = bench.quick ? 1_000 : 10_000;
  await startMany(provider, 'hello', 'h', hellos);
  await until(bench, `select count(*) = ${hellos} as done from ${schema}.executions where status = 'Completed'`);
  await startMany(provider, 'waiting', 'w', count);
  await until(
    bench,
    `select count(*) = ${count} as done from ${schema}.executions e where e.status = 'Running' and exists
      (select from ${schema}.history h where h.instance_id = e.instance_id and h.event_id = 2)`,
  );
  await startMany(provider, 'hello', 'after', hellos / 5);
  await until(bench, `select count(*) = ${1.2 * hellos} as done from ${schema}.executions where status = 'Completed'`);
  await provider.close();
  child.tell('go');
  const { result } = await child.hear('end');
  await child.stop();
  await bench.drop(schema);
  return result.rssBytes;
}

async function until({ control }: Bench, question: string): Promise<void> {
  for (;;) {
    const { rows } = await control.query<{ done: boolean }>(question);
    if (rows[0]?.done) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
