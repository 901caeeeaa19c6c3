import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import pg from 'pg';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { checkInvariants, type InvariantOptions, type InvariantReport } from '../../src/doctor/index.js';
import { migrate } from '../../src/provider/drizzle/migrate/on-database.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { emptySchema, insertRows, orchestrations, recordedRows } from '../oracle/filled-schema.js';
import { connectNative, nativeAvailable, nativeUnavailableReason } from '../oracle/native.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { type Handlers, register, SteppedRuntime } from '../support/runtime-harness.js';

let schema: string;
let pool: pg.Pool;

beforeEach(async () => {
  schema = uniqueSchema('doctor');
  pool = new pg.Pool({ connectionString: databaseUrl(), max: 2 });
});
afterEach(async () => {
  await pool.end();
  await dropSchema(schema);
});

const check = (options: InvariantOptions = {}) => checkInvariants(drizzle(pool), { schema, ...options });

async function withPool<T>(use: (db: ReturnType<typeof drizzle>) => Promise<T>): Promise<T> {
  const own = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
  try {
    return await use(drizzle(own));
  } finally {
    await own.end();
  }
}

/** Finished, failed, waiting, unborn instances and all kinds of queue items, as native left them. */
async function fill(): Promise<void> {
  await migrate(drizzle(pool), { schema, logger: silentLogger });
  await withClient((client) => insertRows(client, schema, recordedRows()));
}

function runtimeWith(handlers: Handlers): Runtime {
  const runtime = new Runtime(new MemoryProvider(new FakeClock()), { logger: silentLogger, logLevel: 'off' });
  register(runtime, handlers);
  return runtime;
}

/** What was found, shortened to what the tests compare. */
function found({ violations }: InvariantReport): string[] {
  return violations.map(({ invariant, instance, problem }) => `${invariant} ${instance}: ${problem}`);
}

describe('a store without damage', () => {
  test('what native wrote, in the middle of its work, holds every promise', async () => {
    await fill();
    const report = await check();
    expect(found(report)).toEqual([]);
    expect(report.ok).toBe(true);
    expect(report.checked.instances).toBe(recordedRows().instances.length);
    expect(report.checked.events).toBe(recordedRows().history.length);
    expect(report.checked.orchestratorRows).toBe(recordedRows().orchestrator_queue.length);
    expect(report.checked.workerRows).toBe(recordedRows().worker_queue.length);
  });

  test('its histories lead the code to the same decisions', async () => {
    await fill();
    const report = await check({
      orchestrations: runtimeWith({ orchestrations: orchestrations as Handlers['orchestrations'] & object }),
    });
    expect(found(report)).toEqual([]);
    expect(report.checked.replayed).toBeGreaterThan(8);
  });

  const onNative = nativeAvailable ? test : test.skip;
  onNative(`in a schema that native created ${nativeUnavailableReason}`, async () => {
    const native = await connectNative(databaseUrl(), schema);
    await withClient((client) => insertRows(client, schema, recordedRows()));
    const report = await check();
    await native.close();
    expect(found(report)).toEqual([]);
    expect(report.checked.instances).toBe(recordedRows().instances.length);
  });

  test('on PGlite, with values, continue-as-new, children and a restart from pruned history', async () => {
    const client = await PGlite.create();
    const db = drizzlePglite(client);
    const clock = new FakeClock();
    const provider = await DrizzleProvider.fromDrizzle(db, { clock, logger: silentLogger });
    const handlers: Handlers = {
      activities: { Echo: (_ctx, input: unknown) => input },
      orchestrations: {
        *Rounds(ctx, n: number) {
          ctx.setValue(`round-${n}`, String(n));
          ctx.setCustomStatus(`round ${n}`);
          yield ctx.scheduleActivity('Echo', ctx.getValue('round-0') ?? 'none');
          if (n < 3) return yield ctx.continueAsNew(n + 1);
          ctx.setValue('waiting', 'yes');
          yield ctx.waitForEvent('go');
          return n;
        },
        *Parent(ctx) {
          yield ctx.scheduleTimer(1_000);
          return yield ctx.scheduleSubOrchestration('Rounds', 3);
        },
        *Breaks() {
          throw new Error('on purpose');
        },
        *LongKey(ctx) {
          ctx.setValue('k'.repeat(600), '1');
          yield ctx.scheduleActivity('Echo', 1);
        },
        *LongStatus(ctx) {
          ctx.setCustomStatus('s'.repeat(300_000));
          yield ctx.scheduleActivity('Echo', 1);
        },
      },
    };
    const runtime = new SteppedRuntime(provider, clock, handlers);
    await runtime.client.startOrchestration('rounds', 'Rounds', 0);
    await runtime.client.startOrchestration('parent', 'Parent');
    await runtime.client.startOrchestration('breaks', 'Breaks');
    // Limits end them whatever their code has decided.
    await runtime.client.startOrchestration('long key', 'LongKey');
    await runtime.client.startOrchestration('long status', 'LongStatus');
    await runtime.settle();
    await runtime.advance(2_000);
    const replay = runtimeWith(handlers);
    const first = await checkInvariants(db, { clock, orchestrations: replay });
    expect(found(first)).toEqual([]);
    expect(first.checked).toMatchObject({ instances: 6, replayed: 7, notReplayed: 2 });
    await runtime.client.pruneExecutions('rounds', { keepLast: 2 });
    await runtime.client.raiseEvent('rounds', 'go', 1);
    await runtime.settle();
    const second = await checkInvariants(db, { clock, orchestrations: replay });
    expect(found(second)).toEqual([]);
    // What the executions after the pruned ones began with is not known any more.
    expect(second.checked).toMatchObject({ notReplayed: 4 });
    const planted = `insert into instance_locks values ('nobody', 't', 1, 1)`;
    await client.exec(planted);
    expect(found(await checkInvariants(db, { clock }))).toEqual([
      'queue-owner nobody: a lock without an instance or a message',
    ]);
    await provider.close();
    await client.close();
  });

  test('an empty schema is fine', async () => {
    await migrate(drizzle(pool), { schema, logger: silentLogger });
    expect((await check()).ok).toBe(true);
  });

  test('bad options and missing tables are refused', async () => {
    await expect(check({ schema: 'No' })).rejects.toThrow(/schema name "No"/);
    await expect(check({ maxViolations: 0 })).rejects.toThrow('maxViolations must be a number above 0, got 0');
    await expect(check()).rejects.toThrow(/check_invariants: .*does not exist/);
    const stopped = AbortSignal.abort(new Error('enough'));
    await migrate(drizzle(pool), { schema, logger: silentLogger });
    await expect(check({ signal: stopped })).rejects.toThrow('enough');
  });
});

/** A history that belongs to `done` in the recorded rows; `steps` takes two activities. */
const planted: readonly {
  readonly what: string;
  readonly sql: string;
  readonly finds: readonly string[];
}[] = [
  {
    what: 'a lost activity',
    sql: `delete from worker_queue where instance_id = 'routes-1' and tag = 'gpu'`,
    finds: ['can-proceed routes-1: ActivityScheduled has no outcome, and nothing that will bring one'],
  },
  {
    what: 'a lost timer',
    sql: `delete from orchestrator_queue where work_item like '%"TimerFired"%'`,
    finds: ['can-proceed sleeps-1: TimerCreated has no outcome, and nothing that will bring one'],
  },
  {
    what: 'a lost outcome of an activity',
    sql: `delete from orchestrator_queue where instance_id = 'fails-1'`,
    finds: ['can-proceed fails-1: ActivityScheduled has no outcome, and nothing that will bring one'],
  },
  {
    what: 'a lost outcome of a child',
    sql: `delete from orchestrator_queue where instance_id = 'parents-1'`,
    finds: ['can-proceed parents-1: the child has no outcome here, and it is Completed'],
  },
  {
    what: 'a child that nobody starts',
    sql: `delete from orchestrator_queue where instance_id = 'misses-1::sub::2'`,
    finds: ['can-proceed misses-1: the child has no outcome here, and it does not exist or belongs to somebody else'],
  },
  {
    what: 'a lost continue-as-new',
    sql: `delete from orchestrator_queue where work_item like '%"ContinueAsNew"%'`,
    finds: ['can-proceed nowhere-1: the execution continued as new, and no message starts the next one'],
  },
  {
    what: 'nothing to wait for',
    sql: `delete from history where instance_id = 'starts-1' and event_data like '%"ExternalSubscribed"%'`,
    finds: [
      'can-proceed starts-1: the execution is running, and neither a message, a decision nor an event can move it on',
    ],
  },
  {
    what: 'a gap in a history',
    sql: `update history set event_id = 50, event_data = replace(event_data, '"event_id":2,', '"event_id":50,')
      where instance_id = 'sleeps-1' and event_id = 2`,
    finds: ['history-complete sleeps-1: event 50 follows event 1'],
  },
  {
    what: 'a history that begins in the middle',
    sql: `update history set event_data = replace(event_data, '"type":"OrchestrationStarted"', '"type":"KeyValuesCleared"')
      where instance_id = 'sleeps-1' and event_id = 1`,
    finds: ['history-complete sleeps-1: the first event is KeyValuesCleared, expected OrchestrationStarted'],
  },
  {
    what: 'an event of somebody else',
    sql: `update history set event_data = replace(event_data, '"instance_id":"sleeps-1"', '"instance_id":"other"')
      where instance_id = 'sleeps-1' and event_id = 1`,
    finds: ['history-complete sleeps-1: the event names another instance, execution or id than its row'],
  },
  {
    what: 'a decision after the end',
    sql: `insert into history select instance_id, execution_id, 50, event_type,
        replace(event_data, '"event_id":4,', '"event_id":50,'), created_at
      from history where instance_id = 'done' and event_data like '%"ActivityScheduled"%' limit 1`,
    finds: [expect.stringMatching(/^history-complete done: event 50 follows/) as unknown as string],
  },
  {
    what: 'an execution without events',
    sql: `delete from history where instance_id = 'sleeps-1'`,
    finds: ['history-complete sleeps-1: the execution has no events'],
  },
  {
    what: 'an event that is no JSON',
    sql: `update history set event_data = 'secret' where instance_id = 'done' and event_id = 2`,
    finds: [expect.stringMatching(/^history-readable done: the event cannot be read: /) as unknown as string],
  },
  {
    what: 'a second outcome of one decision',
    sql: `update history set event_data = replace(event_data, '"source_event_id":7,', '"source_event_id":4,')
      where instance_id = 'done' and event_id = 8`,
    finds: ['one-outcome done: ActivityCompleted is a second outcome of event 4'],
  },
  {
    what: 'an outcome that names something else',
    sql: `update history set event_data = replace(event_data, '"source_event_id":7,', '"source_event_id":2,')
      where instance_id = 'done' and event_id = 8`,
    finds: ['one-outcome done: ActivityCompleted names event 2, which is no such decision'],
  },
  {
    what: 'an end that is not in history',
    sql: `update history set event_data = replace(event_data, '"type":"OrchestrationCompleted","output"', '"type":"OrchestrationContinuedAsNew","input"')
      where instance_id = 'parents-1::sub::2'`,
    finds: ['counters-agree parents-1::sub::2: the row says Completed, the history ContinuedAsNew'],
  },
  {
    what: 'an outcome of no decision',
    sql: `update orchestrator_queue set work_item = replace(work_item, '"id":', '"id":9')
      where instance_id = 'fails-1'`,
    finds: [
      expect.stringMatching(
        /^one-outcome fails-1: an outcome waits for event 9\d, which is no such decision/,
      ) as unknown as string,
    ],
  },
  {
    what: 'a completion twice in the queue',
    sql: `insert into orchestrator_queue (instance_id, work_item, visible_at, created_at)
      select instance_id, work_item, visible_at, created_at from orchestrator_queue
      where instance_id = 'fails-1'`,
    finds: [expect.stringMatching(/^completion-once fails-1: 2 outcomes wait for one decision/) as unknown as string],
  },
  {
    what: 'a completion and the activity itself',
    sql: `insert into worker_queue (instance_id, execution_id, activity_id, work_item, visible_at, created_at)
      select instance_id, 1, (regexp_match(work_item, '"id": ?(\\d+)'))[1]::bigint,
        '{"ActivityExecute":{"instance":"fails-1","execution_id":1,"id":2,"name":"echo","input":"1"}}', visible_at, created_at
      from orchestrator_queue where instance_id = 'fails-1'`,
    finds: ['completion-once fails-1: an activity waits to run although its outcome waits, too'],
  },
  {
    what: 'an activity of nobody',
    sql: `insert into worker_queue (instance_id, execution_id, activity_id, work_item, visible_at, created_at) values
      ('ghost', 1, 2, '{"ActivityExecute":{"instance":"ghost","execution_id":1,"id":2,"name":"echo","input":"1"}}', now(), now())`,
    finds: ['queue-owner ghost: ActivityExecute for an instance that does not exist'],
  },
  {
    what: 'an activity of an ended execution',
    sql: `insert into worker_queue (instance_id, execution_id, activity_id, work_item, visible_at, created_at)
      select instance_id, 1, event_id, '{"ActivityExecute":{"instance":"broken","execution_id":1,"id":2,"name":"fail","input":"1"}}', now(), now()
      from history where instance_id = 'broken' and event_data like '%"ActivityScheduled"%'`,
    finds: [
      'completion-once broken: an activity whose outcome is recorded waits to run',
      'queue-owner broken: an activity waits in an execution that is Failed',
    ],
  },
  {
    what: 'an activity that nobody scheduled',
    sql: `update worker_queue set activity_id = 77 where instance_id = 'routes-1' and tag = 'gpu'`,
    finds: [
      'can-proceed routes-1: ActivityScheduled has no outcome, and nothing that will bring one',
      'queue-owner routes-1: an activity waits that no event scheduled',
    ],
  },
  {
    what: 'a message of nobody',
    sql: `insert into orchestrator_queue (instance_id, work_item, visible_at, created_at) values
      ('ghost', '{"ActivityCompleted":{"instance":"ghost","execution_id":1,"id":2,"result":"1"}}', now(), now())`,
    finds: ['queue-owner ghost: ActivityCompleted for an instance that does not exist'],
  },
  {
    what: 'a message that cannot be read',
    sql: `insert into orchestrator_queue (instance_id, work_item, visible_at, created_at) values ('sleeps-1', '{', now(), now())`,
    finds: [expect.stringMatching(/^queue-owner sleeps-1: a message cannot be read/) as unknown as string],
  },
  {
    what: 'a history of nobody',
    sql: `delete from instances where instance_id = 'done'`,
    finds: ['queue-owner done: history without an instance'],
  },
  {
    what: 'a lock without an end',
    sql: `update orchestrator_queue set lock_token = 'held', attempt_count = 1 where instance_id = 'unborn'`,
    finds: ['lock-expiry unborn: the row is locked and has no moment at which it ends'],
  },
  {
    what: 'an end of no lock',
    sql: `update worker_queue set locked_until = 1 where tag = 'gpu'`,
    finds: ['lock-expiry routes-1: the row has an end of a lock and no lock'],
  },
  {
    what: 'locks for ever',
    sql: `insert into instance_locks values ('sleeps-1', 't', 99999999999999, 1);
      insert into sessions values ('session-9', 'w', 99999999999999, 1)`,
    finds: [
      'lock-expiry sleeps-1: the lock ends too far in the future',
      'lock-expiry undefined: the lock ends too far in the future',
    ],
  },
  {
    what: 'attempts below zero',
    sql: `update orchestrator_queue set attempt_count = -1 where instance_id = 'unborn'`,
    finds: ['counters-agree unborn: -1 attempts at a unlocked row'],
  },
  {
    what: 'a current execution that is not there',
    sql: `update instances set current_execution_id = 2 where instance_id = 'sleeps-1'`,
    finds: [
      'counters-agree sleeps-1: the current execution is 2, the highest is 1',
      'counters-agree sleeps-1: executions before the current one are running: 1',
    ],
  },
  {
    what: 'a wrong status',
    sql: `update executions set status = 'Failed' where instance_id = 'done'`,
    finds: ['counters-agree done: the row says Failed, the history Completed'],
  },
  {
    what: 'a wrong output',
    sql: `update executions set output = '"other"' where instance_id = 'done'`,
    finds: ['counters-agree done: the output of the row is not that of the last event'],
  },
  {
    what: 'an end without its moment',
    sql: `update executions set completed_at = null where instance_id = 'broken'`,
    finds: ['counters-agree broken: executions ended without the moment of their end: 1'],
  },
  {
    what: 'a wrong custom status',
    sql: `update instances set custom_status = 'other' where instance_id = 'steps-1'`,
    finds: ['counters-agree steps-1: the custom status of the instance is not the last one in history'],
  },
  {
    what: 'lost and left-over key-value changes',
    sql: `update kv_delta set value = 'other' where instance_id = 'steps-1';
      insert into kv_delta values ('done', 'k', 'v', 1)`,
    finds: [
      'counters-agree steps-1: kv_delta is not what the history says',
      'counters-agree done: kv_delta has changes although the execution is Completed',
    ],
  },
];

describe('each violation is found', () => {
  const damaged = uniqueSchema('doctor');
  beforeAll(() => withPool((db) => migrate(db, { schema: damaged, logger: silentLogger })));
  afterAll(() => dropSchema(damaged));

  test.each(planted)('$what', async ({ sql, finds }) => {
    await withClient(async (client) => {
      await emptySchema(client, damaged);
      await insertRows(client, damaged, recordedRows());
      await client.query(`set search_path to "${damaged}"`);
      await client.query(sql);
    });
    const report = await check({ schema: damaged });
    expect(report.ok).toBe(false);
    for (const violation of finds) expect(found(report)).toContainEqual(violation);
    expect(JSON.stringify(report)).not.toContain('secret');
  });
});

describe('what else a report says', () => {
  test('a replay that decides otherwise', async () => {
    await fill();
    const report = await check({
      orchestrations: runtimeWith({
        activities: {},
        orchestrations: {
          *steps(ctx) {
            return yield ctx.scheduleTimer(1);
          },
          *sleeps() {
            return 'at once';
          },
          *subscribes(ctx) {
            return yield ctx.all([ctx.dequeueEvent('q'), ctx.waitForEvent('go'), ctx.scheduleActivity('new', 1)]);
          },
        },
      }),
    });
    expect(new Set(found(report).map((text) => text.replace(/: .*/, '')))).toEqual(
      new Set(['done', 'steps-1', 'steps-2', 'sleeps-1', 'subscribes-1'].map((id) => `history-replays ${id}`)),
    );
  });

  test('rows that were set aside are listed, and are no violation of their own', async () => {
    await fill();
    await withClient((client) =>
      client.query(
        `update "${schema}".orchestrator_queue set visible_at = '9999-12-31', attempt_count = 10 where instance_id = 'unborn'`,
      ),
    );
    const report = await check();
    expect(report.ok).toBe(true);
    expect(report.quarantined).toEqual([
      {
        table: 'orchestrator_queue',
        rowId: expect.any(Number) as unknown as number,
        instance: 'unborn',
        attemptCount: 10,
      },
    ]);
  });

  test('more rows than a page, more violations than are listed', async () => {
    await migrate(drizzle(pool), { schema, logger: silentLogger });
    await withClient(async (client) => {
      await client.query(`set search_path to "${schema}"`);
      await client.query(
        `insert into instances select 'i' || n, 'X', '1.0.0', 1, now(), now() from generate_series(1, 450) n`,
      );
      await client.query(
        `insert into executions select 'i' || n, 1, 'Running', null, now() from generate_series(1, 450) n`,
      );
      await client.query(`insert into history select 'i' || n, 1, e, 'Event',
        format('{"event_id":%s,"source_event_id":null,"instance_id":"i%s","execution_id":1,"timestamp_ms":1,"duroxide_version":"0.1.30",%s}',
          e, n, case e when 1 then '"type":"OrchestrationStarted","name":"X","version":"1.0.0","input":"1","parent_instance":null,"parent_id":null'
            else '"type":"TimerCreated","fire_at_ms":5' end), now()
        from generate_series(1, 450) n, generate_series(1, 3) e`);
    });
    const report = await check({ maxViolations: 7 });
    expect(report.checked).toMatchObject({ instances: 450, events: 1350 });
    expect(report.violations).toHaveLength(7);
    expect(report.violationCounts['can-proceed']).toBe(900);
  });
});
