import type { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import { percentile } from '../../harness/statistics.js';
import { short } from '../../harness/table.js';
import { atMost, type Goal } from '../../harness/goal.js';
import type { Bench, Scenario, ScenarioResult } from '../bench.js';
import { difference } from '../server-counters.js';

export const backlogScenarios: readonly Scenario[] = [
  {
    name: 'backlog',
    about: 'fetch beside 300,000 rows in each queue that are locked or not due',
    run: fetchBesideBacklog,
  },
  {
    name: 'finished',
    about: 'what a hello reads beside 1,000,000 finished instances',
    run: helloBesideFinished,
  },
];

/** Ready instances and activities; a fetch of 50 takes some and gives them back. */
const READY = 3_000;
const LIMIT = 50;

async function fetchBesideBacklog(bench: Bench): Promise<ScenarioResult> {
  const rowsBeside = bench.quick ? 30_000 : 300_000;
  const goals: Goal[] = [];
  const rows: (string | number)[][] = [];
  for (const kind of ['not due', 'locked'] as const) {
    const [without, beside] = [bench.newSchema(), bench.newSchema()];
    for (const schema of [without, beside]) {
      await (await bench.provider(schema)).close();
      await fillReady(bench, schema);
    }
    await fillBeside(bench, beside, kind, rowsBeside);
    const measured = await fetchInTurns(bench, [without, beside]);
    for (const [n, what] of [`without`, `beside ${rowsBeside} ${kind}`].entries()) {
      const { orchestrator, worker } = measured[n] ?? { orchestrator: NaN, worker: NaN };
      rows.push([what, short(orchestrator), short(worker)]);
    }
    for (const queue of ['orchestrator', 'worker'] as const) {
      const ratio = (measured[1]?.[queue] ?? NaN) / (measured[0]?.[queue] ?? NaN);
      goals.push(atMost(`${queue} fetch p95 beside ${kind} by without`, ratio, 1.2));
    }
    for (const schema of [without, beside]) await bench.drop(schema);
  }
  return { header: ['', 'orchestrator p95 ms', 'worker p95 ms'], rows, goals };
}

async function fillReady({ control }: Bench, schema: string): Promise<void> {
  await control.query(`
    insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
      select 'r-' || n, '{"ExternalRaised":{"instance":"r-' || n || '","name":"Go","data":"1"}}', now() - interval '1 hour', now()
      from generate_series(1, ${READY}) n`);
  await control.query(`
    insert into ${schema}.worker_queue (work_item, visible_at, created_at, instance_id, execution_id, activity_id)
      select '{"ActivityExecute":{"instance":"r-' || n || '","execution_id":1,"id":2,"name":"echo","input":"1"}}',
        now() - interval '1 hour', now(), 'r-' || n, 1, 2 from generate_series(1, ${READY}) n`);
  await control.query(`vacuum analyze ${schema}.orchestrator_queue, ${schema}.worker_queue`);
}

async function fillBeside(
  { control }: Bench,
  schema: string,
  kind: 'not due' | 'locked',
  count: number,
): Promise<void> {
  const visible =
    kind === 'not due' ? `now() + interval '1 day' + n * interval '1 second'` : `now() - interval '2 hours'`;
  const lock = kind === 'locked' ? `'held', 9000000000000` : 'null, null';
  await control.query(`
    insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at, lock_token, locked_until)
      select 'b-' || n, '{"ExternalRaised":{"instance":"b-' || n || '","name":"Go","data":"1"}}', ${visible}, now(), ${lock}
      from generate_series(1, ${count}) n`);
  await control.query(`
    insert into ${schema}.worker_queue (work_item, visible_at, created_at, instance_id, execution_id, activity_id, lock_token, locked_until)
      select '{"ActivityExecute":{"instance":"b-' || n || '","execution_id":1,"id":2,"name":"echo","input":"1"}}',
        ${visible}, now(), 'b-' || n, 1, 2, ${lock} from generate_series(1, ${count}) n`);
  await control.query(`vacuum analyze ${schema}.orchestrator_queue, ${schema}.worker_queue`);
}

interface FetchMs {
  readonly orchestrator: number;
  readonly worker: number;
}

/** The p95 in each schema, one fetch here and the next one there: whatever else the machine does meets both. */
async function fetchInTurns(bench: Bench, schemas: readonly string[]): Promise<FetchMs[]> {
  const opened = [];
  for (const schema of schemas) {
    opened.push({ provider: await bench.provider(schema), times: [] as FetchMs[] });
  }
  const rounds = bench.quick ? 60 : 400;
  for (let n = 0; n < rounds + 10; n++) {
    // The first in one round is the last in the next.
    for (const { provider, times } of n % 2 === 0 ? opened : [...opened].reverse()) {
      const ms = await fetchAndGiveBack(provider);
      if (n >= 10) times.push(ms);
    }
  }
  for (const { provider } of opened) await provider.close();
  return opened.map(({ times }) => ({
    orchestrator: percentile(
      times.map(({ orchestrator }) => orchestrator),
      0.95,
    ),
    worker: percentile(
      times.map(({ worker }) => worker),
      0.95,
    ),
  }));
}

async function fetchAndGiveBack(provider: DrizzleProvider): Promise<FetchMs> {
  const beginMs = performance.now();
  const { items } = await provider.fetchOrchestrationItems({ limit: LIMIT, lockTimeoutMs: 30_000 });
  const middleMs = performance.now();
  const work = await provider.fetchWorkItems({
    limit: LIMIT,
    lockTimeoutMs: 30_000,
    tagFilter: { kind: 'defaultOnly' },
  });
  const endMs = performance.now();
  if (items.length !== LIMIT || work.length !== LIMIT) {
    throw new Error(`fetched ${items.length} and ${work.length} of ${LIMIT}`);
  }
  await provider.abandonOrchestrationItems(
    items.map(({ instance, lockToken }) => ({ instance, lockToken, ignoreAttempt: true })),
  );
  await provider.abandonWorkItems(
    work.map(({ instance, lockToken }) => ({ instance, lockToken, ignoreAttempt: true })),
  );
  return { orchestrator: middleMs - beginMs, worker: endMs - middleMs };
}

async function helloBesideFinished(bench: Bench): Promise<ScenarioResult> {
  const finished = bench.quick ? 20_000 : 1_000_000;
  const empty = await readsOfHello(bench, 0);
  const full = await readsOfHello(bench, finished);
  return {
    header: ['finished instances', 'rows read each', 'buffers each', '/s'],
    rows: [
      [0, short(empty.rows), short(empty.buffers), short(empty.perSecond)],
      [finished, short(full.rows), short(full.buffers), short(full.perSecond)],
    ],
    goals: [
      // Batches are not equally full in two runs; bench/plans.ts counts without such noise.
      atMost('rows read by a hello beside them by without', full.rows / empty.rows, 1.02),
      atMost('buffers of a hello beside them by without', full.buffers / empty.buffers, 1.1),
    ],
  };
}

async function readsOfHello(bench: Bench, finished: number) {
  const schema = bench.newSchema();
  await (await bench.provider(schema)).close();
  if (finished > 0) await fillFinished(bench, schema, finished);
  // Over the whole run and not its window: sessions report what they read with a delay, or when they end.
  await untilReported(bench);
  const before = await bench.counters.read();
  const { children, elapsedMs } = await bench.measure(
    'ours',
    {
      kind: 'load',
      orchestration: 'hello',
      input: 1,
      inFlight: 200,
      warmUpMs: bench.quick ? 1_500 : 6_000,
      windowMs: bench.quick ? 2_000 : 15_000,
    },
    schema,
  );
  await untilReported(bench);
  const { rowsRead, buffers } = difference(await bench.counters.read(), before);
  const { rows } = await bench.control.query<{ n: number }>(
    `select count(*)::int as n from ${schema}.executions where status = 'Completed' and instance_id like 'b-%'`,
  );
  const done = rows[0]?.n ?? NaN;
  await bench.drop(schema);
  const inWindow = children.reduce((sum, child) => sum + child.completed, 0);
  return { rows: rowsRead / done, buffers: buffers / done, perSecond: (inWindow * 1000) / elapsedMs };
}

async function untilReported({ control }: Bench): Promise<void> {
  for (;;) {
    const { rows } = await control.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    if (rows[0]?.n === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // Our own figures come with the end of this statement's transaction.
  await control.query('select pg_stat_force_next_flush()');
}

/** Instances that ended long ago, with two events each. */
export async function fillFinished({ control }: Bench, schema: string, count: number): Promise<void> {
  const long = `now() - interval '30 days' + n * interval '1 millisecond'`;
  await control.query(`
    insert into ${schema}.instances (instance_id, orchestration_name, orchestration_version, current_execution_id, created_at, updated_at)
      select 'f-' || n, 'hello', '1.0.0', 1, ${long}, ${long} from generate_series(1, ${count}) n`);
  await control.query(`
    insert into ${schema}.executions (instance_id, execution_id, status, output, started_at, completed_at)
      select 'f-' || n, 1, 'Completed', '1', ${long}, ${long} from generate_series(1, ${count}) n`);
  await control.query(`
    insert into ${schema}.history (instance_id, execution_id, event_id, event_type, event_data, created_at)
      select 'f-' || n, 1, e, 'Event', '{}', ${long} from generate_series(1, ${count}) n, generate_series(1, 2) e`);
  await control.query(`vacuum analyze ${schema}.instances, ${schema}.executions, ${schema}.history`);
}
