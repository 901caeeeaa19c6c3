import { readFileSync } from 'node:fs';
import pg from 'pg';
import { FILLED_SCHEMA_FILE } from './fixture.js';
import type { DurableSdk, OrchestrationFunction, RuntimeOptions } from './sdk.js';
import { commonActivities } from './scenarios/scenario.js';

/** Tables in the order in which they can be filled. */
export const TABLES = [
  'instances',
  'executions',
  'history',
  'orchestrator_queue',
  'worker_queue',
  'instance_locks',
  'sessions',
  'kv_store',
  'kv_delta',
] as const;

export type FilledRows = Readonly<Record<(typeof TABLES)[number], readonly Record<string, unknown>[]>>;

/** The recorded rows, for machines without native. */
export function recordedRows(): FilledRows {
  return JSON.parse(readFileSync(FILLED_SCHEMA_FILE, 'utf8')) as FilledRows;
}

/** Puts rows into a schema whose tables exist and are empty. */
export async function insertRows(client: pg.ClientBase, schema: string, rows: FilledRows): Promise<void> {
  const own = pg.escapeIdentifier(schema);
  for (const table of TABLES) {
    await client.query(
      `insert into ${own}.${table} select * from jsonb_populate_recordset(null::${own}.${table}, $1::jsonb)`,
      [JSON.stringify(rows[table])],
    );
  }
  for (const queue of ['orchestrator_queue', 'worker_queue']) {
    await client.query(
      `select setval(pg_get_serial_sequence($1, 'id'), coalesce((select max(id) from ${own}.${queue}), 0) + 1, false)`,
      [`${own}.${queue}`],
    );
  }
}

/** Removes all rows. An idle runtime may look on: TRUNCATE would run into deadlocks with its polls. */
export async function emptySchema(client: pg.ClientBase, schema: string): Promise<void> {
  const own = pg.escapeIdentifier(schema);
  await client.query(TABLES.map((table) => `delete from ${own}.${table}`).join('; '));
}

/** All rows of a schema, as {@link insertRows} takes them. */
export async function readRows(client: pg.ClientBase, schema: string): Promise<FilledRows> {
  const rows: Partial<Record<(typeof TABLES)[number], Record<string, unknown>[]>> = {};
  for (const table of TABLES) {
    const result = await client.query<{ row: Record<string, unknown> }>(
      `select to_jsonb(t) as row from ${pg.escapeIdentifier(schema)}.${table} t order by 1`,
    );
    rows[table] = result.rows.map(({ row }) => row);
  }
  return rows as FilledRows;
}

/**
 * Lets an engine fill its schema and leaves it in the middle of its work: finished,
 * failed, waiting and unborn instances, and every kind of item in both queues.
 */
export async function fillSchema(sdk: DurableSdk, client: pg.ClientBase, schema: string): Promise<void> {
  const own = pg.escapeIdentifier(schema);
  const durable = sdk.client();
  const run = async (act: () => Promise<void>, options: RuntimeOptions, names = Object.keys(orchestrations)) => {
    const runtime = sdk.runtime({ dispatcherPollIntervalMs: 10, ...options });
    for (const name of names) {
      const fn = orchestrations[name];
      if (fn) runtime.registerOrchestration(name, fn);
    }
    for (const [name, fn] of Object.entries(commonActivities())) runtime.registerActivity(name, fn);
    await runtime.start();
    await act();
    await runtime.shutdown(250);
  };
  const until = async (condition: string) => {
    for (let tries = 0; ; tries++) {
      const { rows } = await client.query<{ yes: boolean }>(`select (${condition}) as yes`);
      if (rows[0]?.yes) return;
      if (tries > 2_000) throw new Error(`waited in vain for ${condition}`);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  };
  const events = (instance: string, kind: string, n = 1) =>
    `(select count(*) from ${own}.history where instance_id = '${instance}'
        and event_data like '%"type":"${kind}"%') >= ${n}`;
  const ended = (instance: string) =>
    `exists (select from ${own}.executions where instance_id = '${instance}' and status in ('Completed', 'Failed'))`;

  // Finished ones, with history, KV and status.
  await durable.startOrchestration('done', 'steps', { n: 1 });
  await durable.startOrchestration('broken', 'breaks', 'x');
  await run(async () => {
    await until(ended('done'));
    await until(ended('broken'));
  }, {});
  // Waiting ones; their worker items stay in the queue.
  for (const name of ['steps', 'routes', 'subscribes', 'sleeps', 'parents', 'nowhere', 'starts', 'misses']) {
    await durable.startOrchestration(`${name}-1`, name, { n: 2 });
  }
  await run(
    async () => {
      await until(events('steps-1', 'ActivityScheduled'));
      await until(events('routes-1', 'ActivityScheduled', 3));
      await until(events('subscribes-1', 'ExternalSubscribed'));
      await until(events('sleeps-1', 'TimerCreated'));
      await until(events('parents-1::sub::2', 'ExternalSubscribed'));
      await until(events('nowhere-1', 'OrchestrationContinuedAsNew'));
      await until(events('starts-1', 'OrchestrationChained'));
      await until(events('misses-1', 'SubOrchestrationScheduled'));
    },
    { workerTagFilter: 'none' },
  );
  // Outcomes that no turn has consumed yet: the child may run, its parent is locked.
  await client.query(`insert into ${own}.instance_locks values ('parents-1', 'lock_elsewhere', 99999999999999, 0)`);
  await durable.raiseEvent('parents-1::sub::2', 'go', 1);
  await run(() => until(ended('parents-1::sub::2')), { workerTagFilter: 'none' }, ['kid']);
  await client.query(`delete from ${own}.instance_locks`);
  await durable.startOrchestration('fails-1', 'breaks', 'y');
  await run(() => until(events('fails-1', 'ActivityScheduled')), { workerTagFilter: 'none' }, ['breaks']);
  // Activities only: their outcomes wait in the orchestrator queue.
  await run(() => until(`not exists (select from ${own}.worker_queue where tag is null)`), {
    orchestrationConcurrency: 0,
  });
  await durable.startOrchestration('steps-2', 'steps', 3);
  await run(() => until(events('steps-2', 'ActivityScheduled')), { workerTagFilter: 'none' }, ['steps']);
  // What clients send, with nobody there.
  await durable.startOrchestration('unborn', 'steps', { text: 'naïve 漢字 🎉 \u0000' });
  await durable.startOrchestrationVersioned('unborn-versioned', 'steps', null, '1.0.0');
  await durable.raiseEvent('subscribes-1', 'go', { a: 1 });
  await durable.enqueueEvent('subscribes-1', 'q', [1, 2]);
  await durable.cancelInstance('sleeps-1', 'filled');
}

/** Orchestrations of a filled schema, by name. */
export const orchestrations: Readonly<Record<string, OrchestrationFunction>> = {
  steps: function* (ctx, input) {
    ctx.setValue('input', JSON.stringify(input));
    ctx.setCustomStatus('stepping');
    const first = yield ctx.scheduleActivity('echo', input);
    ctx.setValue('first', 1);
    return [first, yield ctx.scheduleActivity('echo', 2)];
  },
  breaks: function* (ctx, input) {
    return yield ctx.scheduleActivity('fail', input);
  },
  routes: function* (ctx) {
    return yield ctx.all([
      ctx.scheduleActivity('echo', 1, { sessionId: 'session-1' }),
      ctx.scheduleActivity('echo', 2).withTag('gpu'),
      ctx.scheduleActivity('echo', 3),
    ]);
  },
  subscribes: function* (ctx) {
    return yield ctx.all([ctx.dequeueEvent('q'), ctx.waitForEvent('go')]);
  },
  sleeps: function* (ctx) {
    return yield ctx.scheduleTimer(86_400_000 * 365 * 50);
  },
  parents: function* (ctx) {
    return yield ctx.scheduleSubOrchestration('kid', 1);
  },
  kid: function* (ctx) {
    return yield ctx.waitForEvent('go');
  },
  nowhere: function* (ctx) {
    return yield ctx.continueAsNewVersioned('next', '9.9.9');
  },
  misses: function* (ctx) {
    return yield ctx.scheduleSubOrchestration('not registered', { child: true });
  },
  starts: function* (ctx) {
    yield ctx.startOrchestrationVersioned('steps', '8.8.8', 'detached-unborn', 1);
    return yield ctx.waitForEvent('never');
  },
};
