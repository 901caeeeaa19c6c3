import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { activity, orchestration, type TransactionOf } from '../../src/index.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { PgPool } from '../../src/provider/drizzle/drivers/node-postgres-client.js';
import { PgListener } from '../../src/provider/drizzle/drivers/node-postgres-listener.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { register } from '../support/runtime-harness.js';
import { RecordingLogger, waitFor } from '../support/waiting.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { Relay } from './suite/relay.js';

let cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

/** Long enough for a busy machine to answer, and short enough to wait for. */
const ANSWER_TIMEOUT_MS = 400;

async function open(pool: pg.PoolConfig = {}, { notifications = false } = {}) {
  const schema = uniqueSchema('half');
  cleanUps.push(() => dropSchema(schema));
  const relay = await Relay.open(databaseUrl());
  cleanUps.push(() => relay.close());
  const made = new pg.Pool({ connectionString: relay.url, max: 3, ...pool });
  const logger = new RecordingLogger();
  const provider = await DrizzleProvider.fromPool(made, {
    schema,
    logger,
    ownsClient: true,
    notifications,
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  });
  cleanUps.push(() => provider.close());
  return { schema, relay, pool: made, provider, logger };
}

const start = (id: string) =>
  ({
    item: {
      kind: 'StartOrchestration',
      instance: id,
      orchestration: 'X',
      input: '1',
      version: null,
      parentInstance: null,
      parentId: null,
      executionId: 1,
    },
  }) as const;

test('C-39 an operation on a half-open connection ends as one whose connection was lost, and the next one works', async () => {
  const { relay, provider, logger } = await open({ max: 1 });
  await provider.enqueueForOrchestrator([start('before')]);
  expect(relay.hush()).toBe(1);
  // Sent with its COMMIT, whose answer never comes: it may have happened.
  const [lost] = await provider.enqueueForOrchestrator([start('lost')]);
  expect(lost).toMatchObject({ ok: false, error: { retryable: true, outcome: 'unknown' } });
  expect(await provider.enqueueForOrchestrator([start('after')])).toEqual([{ ok: true, value: undefined }]);
  expect(logger.at('warn').filter((line) => /does not answer/.test(line))).toHaveLength(1);
});

test('C-39 a provider whose listening connection fell silent can be closed all the same', async () => {
  const { relay, provider } = await open({}, { notifications: true });
  provider.onWakeUp(() => undefined);
  await waitFor(
    'it listens',
    () => provider.wakeUps().listening,
    (listening) => listening,
  );
  relay.hush();
  await provider.close();
});

test('C-39 a listening connection that is never made can be closed', async () => {
  const silent = createServer();
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const pool = { options: { host: '127.0.0.1', port, user: 'nobody' }, Client: pg.Client } as unknown as PgPool;
  const told: string[] = [];
  const handlers = {
    onNotification: () => told.push('notification'),
    onConnected: () => told.push('connected'),
    onLost: () => told.push('lost'),
  };
  const listener = new PgListener(pool, 'channel', handlers);
  const [accepted] = (await once(silent, 'connection')) as [Socket];
  await listener.close();
  expect(told).toEqual([]);
  accepted.destroy();
  silent.close();
});

test('C-39 a slow statement is not taken for a half-open connection', async () => {
  const { schema, provider, logger } = await open();
  await withClient(async (blocker) => {
    await blocker.query(`begin; lock table "${schema}".orchestrator_queue in exclusive mode`);
    const enqueued = provider.enqueueForOrchestrator([start('patient')]);
    const waited = () =>
      withClient(async (watcher) => {
        const { rows } = await watcher.query<{ n: number }>(
          `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and state = 'active'
             and query like '%"${schema}"%' and now() - query_start > $1::interval`,
          [`${ANSWER_TIMEOUT_MS * 3} ms`],
        );
        return rows[0]?.n ?? 0;
      });
    await waitFor('the statement waits for several of the time-outs', waited, (n) => n === 1);
    await blocker.query('commit');
    expect(await enqueued).toEqual([{ ok: true, value: undefined }]);
  });
  expect(logger.at('warn')).toEqual([]);
});

test.each([false, true])(
  'C-39 C-13 a runtime whose connections all fall silent goes on by itself, pipeline: %s',
  async (pipeline) => {
    const { relay, provider } = await open(pipeline ? { pipeline } : {});
    const runtime = new Runtime(provider, {
      logLevel: 'off',
      logger: new RecordingLogger(),
      maxPollIntervalMs: 50,
      orchestratorLockTimeoutMs: 1_000,
      workerLockTimeoutMs: 1_000,
    });
    let hushed = 0;
    register(runtime, {
      activities: {
        // In the middle of the turn, the acknowledgement still to come.
        Hush: () => {
          if (hushed === 0) hushed = relay.hush();
          return 'quiet';
        },
      },
      orchestrations: {
        *Quiet(ctx) {
          return yield ctx.scheduleActivity('Hush');
        },
      },
    });
    const client = new Client(provider);
    await runtime.start();
    cleanUps.push(() => runtime.shutdown(0));
    await client.startOrchestration('i', 'Quiet');
    expect(await client.waitForOrchestrationTyped('i', 60_000)).toBe('quiet');
    expect(hushed).toBeGreaterThan(0);
  },
);

test('C-39 a transactional activity whose connection falls silent is rolled back and runs again, and its effect happens once', async () => {
  const schema = uniqueSchema('half');
  cleanUps.push(() => dropSchema(schema));
  const relay = await Relay.open(databaseUrl());
  cleanUps.push(() => relay.close());
  const pool = new pg.Pool({ connectionString: relay.url, max: 3 });
  const db = drizzle(pool);
  const provider = await DrizzleProvider.fromDrizzle(db, {
    schema,
    logger: new RecordingLogger(),
    ownsClient: true,
    notifications: false,
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  });
  cleanUps.push(() => provider.close());
  await withClient((client) => client.query(`create table "${schema}".payments (id text)`));
  let runs = 0;
  const pay = activity.transactional('pay', async (_ctx, tx: TransactionOf<typeof db>, id: string) => {
    await tx.execute(sql`insert into ${sql.raw(`"${schema}".payments`)} values (${id})`);
    if (++runs === 1) relay.hush();
    await tx.execute(sql`select 1`);
    return id;
  });
  const payment = orchestration('payment', async (ctx, id: string) => ctx.call(pay, id));
  const runtime = new Runtime(provider, {
    logLevel: 'off',
    logger: new RecordingLogger(),
    maxPollIntervalMs: 50,
    workerLockTimeoutMs: 1_000,
  });
  runtime.register(pay, payment);
  await runtime.start();
  cleanUps.push(() => runtime.shutdown(0));
  const handle = await new Client(provider).start(payment, 'p1', { id: 'i' });
  expect(await handle.result()).toBe('p1');
  expect(runs).toBeGreaterThanOrEqual(2);
  await withClient(async (client) => {
    expect((await client.query(`select id from "${schema}".payments`)).rows).toEqual([{ id: 'p1' }]);
  });
});
