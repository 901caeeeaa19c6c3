import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import {
  Client,
  declareOrchestration,
  DrizzleProvider,
  InstanceExistsError,
  InstanceNotFoundError,
  ProviderError,
  silentLogger,
} from '../../src/index.js';
import { decideFire } from '../../src/schedule/decide.js';
import { encodeEvent } from '../../src/wire/event.js';
import { event, started } from '../provider/drizzle/operations/support.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { FailpointProxy } from '../support/failpoints.js';

// Each operation of clients that writes, cut off before and after every statement of it, COMMIT
// among them: it has happened or it has not, it says which as far as it can, and it can be done again.

/** How many of the statements are met in a run of all tests; `FAULTS_STATEMENTS=every` meets each. */
const SHARE = process.env['FAULTS_STATEMENTS'] === 'every' ? 1 : 5;

const schema = uniqueSchema('every');
const echo = declareOrchestration<string, string>('Hello');
let proxy: FailpointProxy;
let pool: pg.Pool;
let direct: pg.Pool;
let provider: DrizzleProvider;
let client: Client;

beforeAll(async () => {
  proxy = await FailpointProxy.open(databaseUrl());
  pool = new pg.Pool({ connectionString: proxy.url, max: 2 });
  // A client that a transaction of ours has in hand has nobody else who listens.
  pool.on('connect', (one) => one.on('error', () => {}));
  direct = new pg.Pool({ connectionString: databaseUrl(), max: 1, options: `-c search_path=${schema}` });
  provider = await DrizzleProvider.fromPool(pool, { schema, logger: silentLogger });
  client = new Client(provider);
  await direct.query('create table orders (instance_id text primary key)');
});
afterAll(async () => {
  await provider.close();
  await pool.end();
  await direct.end();
  await proxy.close();
  await dropSchema(schema);
});

interface Operation {
  readonly name: string;
  readonly prepare?: (id: string) => Promise<unknown>;
  readonly act: (id: string) => Promise<unknown>;
  /** What a repetition is told when it was done before. */
  readonly isDone?: (error: unknown) => boolean;
  /** A repetition is another one. */
  readonly adds?: true;
}

const never = () => false;
const isNotFound = (error: unknown) => error instanceof InstanceNotFoundError;
const isReset = (error: unknown) => ProviderError.is(error) && error.reason.includes('only a failed instance can be');
const schedule = (id: string) => ({ id, orchestration: echo, input: 'x', everyMs: 3_600_000 });

const operations: readonly Operation[] = [
  { name: 'start', act: (id) => client.start(echo, 'x', { id }), adds: true },
  {
    name: "start with ifExists: 'error'",
    act: (id) => client.start(echo, 'x', { id, ifExists: 'error' }),
    isDone: (error) => error instanceof InstanceExistsError,
  },
  { name: 'cancel', act: (id) => client.cancelInstance(id, 'enough'), adds: true },
  { name: 'withTransaction', act: buy },
  {
    name: 'resetInstance',
    prepare: (id) => put(id, 'Failed', 1),
    act: (id) => provider.asManagement().resetInstance(id, 2),
    isDone: isReset,
  },
  {
    name: 'deleteInstance by force',
    prepare: (id) => put(id, 'Running', 1),
    act: (id) => client.deleteInstance(id, true),
    isDone: isNotFound,
  },
  {
    name: 'deleteInstancesAtomic',
    prepare: (id) => put(id, 'Completed', 2),
    act: (id) => provider.asManagement().deleteInstancesAtomic([id], false),
  },
  {
    name: 'deleteInstanceBulk',
    prepare: (id) => put(id, 'Completed', 2),
    act: (id) => client.deleteInstanceBulk({ instanceIds: [id] }),
  },
  {
    name: 'pruneExecutions',
    prepare: (id) => put(id, 'Running', 3),
    act: (id) => client.pruneExecutions(id, { keepLast: 1 }),
  },
  { name: 'schedules.create', act: (id) => client.schedules.create({ ...schedule(id), ifExists: 'update' }) },
  {
    name: 'schedules.trigger',
    prepare: (id) => client.schedules.create(schedule(id)),
    act: (id) => client.schedules.trigger(id),
    adds: true,
  },
  {
    name: 'a schedule fires',
    prepare: async (id) => {
      await client.schedules.create(schedule(id));
      await direct.query('update ddz_schedules set next_fire_ms = anchor_ms where schedule_id = $1', [id]);
    },
    act: async () => provider.schedules().fireDue(decideFire),
  },
  {
    name: 'schedules.delete',
    prepare: (id) => client.schedules.create(schedule(id)),
    act: (id) => client.schedules.delete(id),
  },
];

test.each(operations)('C-09 P:T-35 $name, cut off at every statement, has happened or has not', async (operation) => {
  const { prepare, act, isDone = never, adds } = operation;
  const name = operation.name.replaceAll(/\W/g, '-');
  await prepare?.(`${name}-whole`);
  const before = await rowsOf(`${name}-whole`);
  await act(`${name}-whole`);
  const after = await rowsOf(`${name}-whole`);
  expect(after).not.toEqual(before);
  let met = 0;
  for (let at = 0; ; at += SHARE) {
    for (const when of ['before', 'after'] as const) {
      const id = `${name}-${at}-${when}`;
      await prepare?.(id);
      expect(await rowsOf(id)).toEqual(before);
      proxy.watch();
      let isMet = false;
      let isOver = false;
      void proxy.arm({ when, at }).then(() => {
        // An answer that was on its way when everything was cut must not cut the repetition.
        if (isOver) return;
        isMet = true;
        proxy.cut();
      });
      const failure: unknown = await act(id).then(
        () => undefined,
        (error: unknown) => error ?? 'nothing',
      );
      // Nothing is waited for any more.
      isOver = true;
      proxy.cut();
      if (isMet) met += 1;
      const isKnown = !ProviderError.is(failure) || failure.outcome !== 'unknown';
      const rows = await rowsOf(id);
      // An application's own COMMIT leaves it in doubt, too.
      const inDoubt = failure !== undefined && (!isKnown || !ProviderError.is(failure));
      if (failure === undefined) expect(rows).toEqual(after);
      else expect([before, ...(inDoubt ? [after] : [])]).toContainEqual(rows);
      if (failure !== undefined && !(adds && JSON.stringify(rows) === JSON.stringify(after))) {
        await act(id).catch((error: unknown) => {
          if (!isDone(error)) throw error;
        });
      }
      expect(await rowsOf(id)).toEqual(after);
      if (!isMet) {
        expect(met).toBeGreaterThan(0);
        return;
      }
    }
  }
});

/** A row of the application's, a start and a message; all of it at most once. */
async function buy(id: string): Promise<void> {
  const connection = await pool.connect();
  let isBroken = true;
  try {
    await drizzle(connection).transaction(async (tx) => {
      const { rows } = await tx.execute(
        sql`insert into ${sql.raw(`${schema}.orders`)} values (${id}) on conflict do nothing returning 1`,
      );
      if (rows.length === 0) return;
      const ours = client.withTransaction(tx);
      await ours.start(echo, 'x', { id, ifExists: 'error' });
      await ours.enqueueEvent(id, 'mail', 'x');
    });
    isBroken = false;
  } finally {
    connection.release(isBroken);
  }
}

/** An instance with so many executions; the last one scheduled an activity, which failed if the instance has. */
async function put(id: string, status: string, executions: number): Promise<void> {
  await direct.query(
    `insert into instances (instance_id, orchestration_name, orchestration_version, current_execution_id, created_at, updated_at)
     values ($1, 'Hello', '1.0.0', $2, now(), now())`,
    [id, executions],
  );
  const events = [
    started(id),
    event(id, 2, { kind: 'ActivityScheduled', name: 'Greet', input: '1' }),
    event(id, 3, { kind: 'OrchestrationCompleted', output: '1' }),
  ];
  for (let execution = 1; execution <= executions; execution++) {
    const own = execution === executions ? status : 'ContinuedAsNew';
    await direct.query(
      `insert into executions (instance_id, execution_id, status, started_at, completed_at) values ($1, $2, $3, now(), now())`,
      [id, execution, own],
    );
    await direct.query(
      `insert into history (instance_id, execution_id, event_id, event_type, event_data, created_at)
       select $1, $2, n, 'Event', e, now() from unnest($3::text[]) with ordinality as u(e, n)`,
      [id, execution, events.map((one) => encodeEvent({ ...one, executionId: execution }))],
    );
  }
}

/** How many rows the instance or the schedule has in each table, and what of them changes. */
async function rowsOf(id: string): Promise<Record<string, unknown>> {
  const counted = [
    'instances',
    'executions',
    'history',
    'ddz_history_archive',
    'worker_queue',
    'instance_locks',
    'orders',
  ];
  const counts = counted.map((table) => `(select count(*)::int from ${table} where instance_id = $1) as ${table}`);
  const { rows } = await direct.query<Record<string, unknown>>(
    `select ${counts.join(', ')},
      (select count(*)::int from orchestrator_queue where instance_id = $1 or instance_id like $1 || '@%') as messages,
      (select string_agg(status, ',' order by execution_id) from executions where instance_id = $1) as statuses,
      (select fired_count::int from ddz_schedules where schedule_id = $1) as fired`,
    [id],
  );
  return rows[0] ?? {};
}
