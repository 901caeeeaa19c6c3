import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import postgres from 'postgres';
import { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import { type DrizzleDatabase, driverFor } from '../../../src/provider/drizzle/drivers/index.js';
import type { Driver, ListenHandlers, Subscription } from '../../../src/provider/drizzle/executor.js';
import { Notifications } from '../../../src/provider/drizzle/notifications.js';
import type { QueueName } from '../../../src/provider/provider.js';
import { notifyChannel } from '../../../src/schema/notify-channel.js';
import { CuttingProxy } from '../../support/cutting-proxy.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../support/database.js';
import { RecordingLogger, waitFor } from '../../support/waiting.js';

/** What one process hears. */
function hearing(notifications: Notifications, answer?: boolean) {
  const heard: QueueName[] = [];
  const stop = notifications.onWakeUp((queue) => {
    heard.push(queue);
    return answer;
  });
  return { heard, stop };
}

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (let close = closers.pop(); close; close = closers.pop()) await close();
});

interface OpenOptions {
  readonly enabled?: boolean;
  readonly closeDb?: () => Promise<unknown>;
}

function open(db: DrizzleDatabase, schema: string, { enabled = true, closeDb }: OpenOptions = {}) {
  const logger = new RecordingLogger();
  const driver = driverFor(db, { logger });
  const notifications = new Notifications({ schema, driver, logger, enabled });
  closers.push(async () => {
    await notifications.close();
    await driver.close();
    await closeDb?.();
  });
  return { notifications, driver, logger };
}

function openPg(schema: string, { url = databaseUrl(), max = 1, enabled = true } = {}) {
  const pool = new pg.Pool({ connectionString: url, max });
  return open(drizzlePg(pool), schema, { enabled, closeDb: () => pool.end() });
}

function openPostgresJs(schema: string) {
  const client = postgres(databaseUrl(), { max: 1, onnotice: () => {} });
  return open(drizzlePostgresJs(client), schema, { closeDb: () => client.end({ timeout: 1 }) });
}

/** Listens until the echo of its own has come. */
async function listening({ notifications }: { notifications: Notifications }, answer?: boolean) {
  const ears = hearing(notifications, answer);
  await waitFor('it listens', () => notifications.isListening);
  ears.heard.length = 0;
  return ears;
}

/** The backends that LISTEN on a channel of this schema. */
async function listenersOf(schema: string): Promise<number[]> {
  return withClient(async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity where query = $1', [
      `LISTEN "${notifyChannel(schema)}"`,
    ]);
    return rows.map(({ pid }) => pid);
  });
}

describe.each([
  ['node-postgres with a pool of one', openPg],
  ['postgres-js', openPostgresJs],
])('wake-ups between processes over %s', (_, openKind) => {
  test('work of another process is heard of, on the same schema only', async () => {
    const schema = uniqueSchema('note');
    const [here, there, elsewhere] = [openKind(schema), openKind(schema), openKind(uniqueSchema('note'))];
    const ears = await listening(here);
    const strangers = await listening(elsewhere);
    there.notifications.wake('worker');
    await waitFor('the notification', () => ears.heard, (heard) => heard.length > 0);
    expect(ears.heard).toEqual(['worker']);
    there.notifications.wake('orchestrator');
    await waitFor('the other one', () => ears.heard, (heard) => heard.length > 1);
    expect(ears.heard).toEqual(['worker', 'orchestrator']);
    expect(strangers.heard).toEqual([]);
  });
});

describe('wake-ups', () => {
  test('C-10 a listener does not use up a pool of one, and none is opened without a listener', async () => {
    const schema = uniqueSchema('note');
    const here = openPg(schema);
    expect(await listenersOf(schema)).toEqual([]);
    await listening(here);
    expect(await listenersOf(schema)).toHaveLength(1);
    await here.driver.withTransaction(async (tx) => tx.script('select 1'));
  });

  test('listeners are told in this process, without a database', async () => {
    const { notifications, logger } = openPg(uniqueSchema('note'), { enabled: false });
    const first = hearing(notifications);
    const second = hearing(notifications);
    notifications.wake('worker');
    expect([first.heard, second.heard]).toEqual([['worker'], ['worker']]);
    first.stop();
    notifications.wake('orchestrator');
    expect([first.heard, second.heard]).toEqual([['worker'], ['worker', 'orchestrator']]);
    expect(notifications.isListening).toBe(false);
    expect(logger.lines).toEqual([]);
  });

  test('a listener that fails stops nobody', () => {
    const { notifications, logger } = openPg(uniqueSchema('note'), { enabled: false });
    notifications.onWakeUp(() => {
      throw new Error('broken');
    });
    const ears = hearing(notifications);
    notifications.wake('worker');
    expect(ears.heard).toEqual(['worker']);
    expect(logger.at('error')).toHaveLength(1);
  });

  test('what this process takes is not told to others; the rest is', async () => {
    const schema = uniqueSchema('note');
    const [taker, other] = [openPg(schema), openPg(schema)];
    const ears = await listening(other);
    const taking = await listening(taker, true);
    taker.notifications.wake('worker');
    taking.stop();
    taker.notifications.wake('orchestrator');
    await waitFor('the second one', () => ears.heard, (heard) => heard.length > 0);
    expect(ears.heard).toEqual(['orchestrator']);
  });

  test('C-14 a burst becomes a few notifications, and its last one is not lost', async () => {
    const schema = uniqueSchema('note');
    const [here, there] = [openPg(schema), openPg(schema)];
    const ears = await listening(here);
    for (let n = 0; n < 1_000; n++) there.notifications.wake('worker');
    await there.notifications.close();
    await waitFor('both', () => ears.heard, (heard) => heard.length === 2);
    // The first at once, the others together.
    expect(ears.heard).toEqual(['worker', 'worker']);
  });

  test('a process that runs nothing may let its transaction tell; what it does meanwhile is not lost', async () => {
    const schema = uniqueSchema('note');
    const [here, there] = [openPg(schema), openPg(schema)];
    const ears = await listening(here);
    const notice = there.notifications.notice('orchestrator')!;
    const { statement, values } = notice.step();
    await there.driver.withTransaction((tx) => tx.runLast(statement, values));
    await waitFor('the notification', () => ears.heard, (heard) => heard.length === 1);
    expect(there.notifications.notice('orchestrator')).toBeUndefined();
    there.notifications.wake('orchestrator');
    notice.release();
    await waitFor('the other one', () => ears.heard, (heard) => heard.length === 2);
    expect(ears.heard).toEqual(['orchestrator', 'orchestrator']);
  });

  test('a process that may take the work itself, or tells nobody, has no notice', async () => {
    const schema = uniqueSchema('note');
    const silent = openPg(schema, { enabled: false });
    expect(silent.notifications.notice('orchestrator')).toBeUndefined();
    const { notifications } = openPg(schema);
    hearing(notifications);
    expect(notifications.notice('orchestrator')).toBeUndefined();
  });

  test('closing sends what is held back', async () => {
    const schema = uniqueSchema('note');
    const [here, there] = [openPg(schema), openPg(schema)];
    const ears = await listening(here);
    there.notifications.wake('worker');
    there.notifications.wake('orchestrator');
    await there.notifications.close();
    await waitFor('both', () => ears.heard, (heard) => heard.length === 2);
    expect([...ears.heard].sort()).toEqual(['orchestrator', 'worker']);
  });

  test('C-13 a lost listener comes back, and looks without waiting for a notification', async () => {
    const schema = uniqueSchema('note');
    const [here, there] = [openPg(schema), openPg(schema)];
    const ears = await listening(here);
    for (let round = 0; round < 2; round++) {
      ears.heard.length = 0;
      const [pid] = await listenersOf(schema);
      await withClient((client) => client.query('select pg_terminate_backend($1)', [pid]));
      await waitFor('both queues are looked at', () => ears.heard, (heard) => heard.length >= 2);
      expect([...ears.heard].sort()).toEqual(['orchestrator', 'worker']);
      await waitFor('it listens again', () => here.notifications.isListening);
      there.notifications.wake('worker');
      await waitFor('a notification', () => ears.heard, (heard) => heard.length === 3);
    }
    expect(here.logger.at('warn')).toEqual([]);
  });

  test('C-13 a server that is away for a while is waited for', async () => {
    const schema = uniqueSchema('note');
    let proxy = await CuttingProxy.open(databaseUrl());
    const { port } = new URL(proxy.url);
    const here = openPg(schema, { url: proxy.url });
    await listening(here);
    await proxy.close();
    await waitFor('it notices', () => !here.notifications.isListening);
    proxy = await CuttingProxy.open(databaseUrl(), Number(port));
    closers.unshift(() => proxy.close());
    await waitFor('it listens again', () => here.notifications.isListening);
    expect(here.logger.at('info')).toHaveLength(1);
  });

  test('the last listener that goes takes the connection along', async () => {
    const schema = uniqueSchema('note');
    const here = openPg(schema);
    const ears = await listening(here);
    ears.stop();
    await waitFor('nobody listens', () => listenersOf(schema), (pids) => pids.length === 0);
    expect(here.notifications.isListening).toBe(false);
    await listening(here);
  });
});

/** A driver whose LISTEN succeeds but whose notifications never come, as behind a pooler in transaction mode. */
class DeafDriver {
  subscriptions = 0;
  closed = 0;
  readonly kind = 'node-postgres';
  readonly canOpenSecondConnection = true;

  constructor(private readonly inner: Driver) {}

  withConnection: Driver['withConnection'] = (use) => this.inner.withConnection(use);
  withTransaction: Driver['withTransaction'] = (use) => this.inner.withTransaction(use);
  scopeOf = () => undefined;
  close = async () => {};

  listen(_channel: string, handlers: ListenHandlers): Subscription {
    this.subscriptions++;
    queueMicrotask(() => handlers.onConnected());
    return { close: async () => void this.closed++ };
  }
}

test('C-12 a connection that hears nothing is given up, with one warning', async () => {
  const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
  const logger = new RecordingLogger();
  const driver = new DeafDriver(driverFor(drizzlePg(pool), { logger }));
  const notifications = new Notifications({
    schema: uniqueSchema('note'),
    driver,
    logger,
    enabled: true,
    echoTimeoutMs: 50,
  });
  const ears = hearing(notifications);
  await waitFor('it gives up', () => logger.at('warn'), (warnings) => warnings.length > 0);
  expect(logger.at('warn')).toHaveLength(1);
  expect(logger.at('warn')[0]).toContain('pooler');
  expect(driver).toMatchObject({ subscriptions: 1, closed: 1 });
  expect(notifications.isListening).toBe(false);
  // It has looked when it seemed to be connected, and goes on to be told inside of this process.
  notifications.wake('worker');
  expect(ears.heard).toEqual(['orchestrator', 'worker', 'worker']);
  await notifications.close();
  await driver.close();
  await pool.end();
});

describe('PGlite', () => {
  let client: PGlite;
  beforeAll(async () => {
    client = await PGlite.create();
  });
  afterAll(() => client.close());

  test("a notification in somebody's transaction is heard after its commit, and not after a rollback", async () => {
    const schema = uniqueSchema('note');
    const here = open(drizzlePglite(client), schema);
    const ears = await listening(here);
    const notify = `select pg_notify('${notifyChannel(schema)}', 'w')`;
    await client.transaction((tx) => tx.query(notify).then(() => tx.rollback()));
    expect(ears.heard).toEqual([]);
    await client.transaction((tx) => tx.query(notify));
    await waitFor('the notification', () => ears.heard, (heard) => heard.length > 0);
    expect(ears.heard).toEqual(['worker']);
  });
});

describe('a message of a process that runs nothing', () => {
  const start = { kind: 'StartOrchestration', orchestration: 'O', input: '1', version: null, parentInstance: null, parentId: null, executionId: 1 } as const;

  test('is told by its own transaction when it is alone, and by one of its own with others', async () => {
    const schema = uniqueSchema('note');
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: new RecordingLogger() });
    closers.push(() => provider.close(), () => dropSchema(schema));
    const ears = await listening(openPg(schema));
    const sends = jest.spyOn(provider['parts'].notifications, 'send');
    await provider.enqueueForOrchestrator([{ item: { ...start, instance: 'a' } }]);
    await waitFor('it is heard', () => ears.heard, (heard) => heard.length === 1);
    expect(sends).not.toHaveBeenCalled();
    await provider.enqueueForOrchestrator(['b', 'c'].map((instance) => ({ item: { ...start, instance } })));
    await waitFor('they are heard', () => ears.heard, (heard) => heard.length === 2);
    expect(sends).toHaveBeenCalledTimes(1);
  });
});
