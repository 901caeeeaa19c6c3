import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { InstanceExistsError, InstanceNotFoundError, InvalidInputError } from '../../src/client/errors.js';
import { StartQueueError } from '../../src/client/start-queue-limits.js';
import { withCodec } from '../../src/provider/codec/codec-provider.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import { TransactionEndedError, UnsupportedError } from '../../src/provider/provider-error.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { dropSchema, uniqueSchema, databaseUrl, withClient } from '../support/database.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { waitFor } from '../support/waiting.js';
import { echo, held, mailbox, type Process, processOn } from './support.js';

describe.each([
  ['DrizzleProvider', DrizzleProvider],
  ['StoredFunctionProvider', StoredFunctionProvider],
] as const)('a start that waits in a start queue of %s', (name, Provider) => {
  const schema = uniqueSchema('starts');
  const clock = new FakeClock();
  let pool: pg.Pool;
  let db: NodePgDatabase & { $client: pg.Pool };
  let p: Process;

  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: databaseUrl(), max: 4 });
    db = drizzle(pool);
    const options = { schema, clock, logger: silentLogger, notifications: false };
    const first = await DrizzleProvider.fromDrizzle(db, options);
    if (Provider === StoredFunctionProvider) await first.migrate({ storedFunctions: true });
    p = processOn(await Provider.fromDrizzle(db, options), clock);
  });
  afterEach(async () => {
    for (const { id } of await p.client.startQueues.list())
      await p.client.startQueues.delete(id, { waiting: 'discard' });
    for (const id of await p.client.listAllInstances()) await p.client.deleteInstance(id, true);
  });
  afterAll(async () => {
    await p.provider.close();
    await pool.end();
    await dropSchema(schema);
  });

  const queue = 'q';
  /** A queue that admits nothing until {@link open}. */
  const closed = (limits: object = {}) => p.client.startQueues.create({ id: queue, paused: true, ...limits });
  const open = async () => {
    await p.client.startQueues.resume(queue);
    const { admitted } = await p.loop.look();
    await p.settle();
    return admitted;
  };
  const waiting = async () => (await p.client.startQueues.get(queue)).waiting;

  test('messages to it are kept, and arrive in their order with the start', async () => {
    await closed();
    const handle = await p.client.start(mailbox, undefined, { id: 'm', queue });
    await handle.events.enqueue('m', 1);
    await handle.events.enqueue('m', 2);
    // Nobody takes them from the orchestrator queue meanwhile, where they would be dropped.
    await p.settle();
    expect(await open()).toBe(1);
    expect(await handle.result()).toEqual([1, 2]);
  });

  test('cancelled, it ends as cancelled at once, past the limits and without a slot', async () => {
    await p.client.startQueues.create({ id: queue, concurrency: 1, rate: { limit: 1, periodMs: 1_000 } });
    await p.client.start(held, undefined, { id: 'runs', queue });
    await p.loop.look();
    await p.settle();
    const handle = await p.client.start(held, undefined, { id: 'waits', queue });
    await p.client.start(echo, 'next', { id: 'next', queue });
    await handle.cancel('no longer');
    await p.settle();
    await expect(handle.result()).rejects.toThrow(/no longer/);
    await p.client.raiseEvent('runs', 'go', 'on');
    await p.settle();
    clock.advance(1_000);
    expect((await p.loop.look()).admitted).toBe(1);
    await p.settle();
    expect(await p.client.handle(echo, 'next').result()).toBe('next');
  });

  test('deleted, it is gone from the queue', async () => {
    await closed();
    await p.client.start(echo, 'x', { id: 'x', queue });
    expect(await p.client.deleteInstance('x')).toMatchObject({ instancesDeleted: 0, queueMessagesDeleted: 1 });
    await expect(p.client.deleteInstance('x')).rejects.toBeInstanceOf(InstanceNotFoundError);
    expect(await open()).toBe(0);
  });

  test('in a transaction: there after its commit, gone after its rollback, and not after its end', async () => {
    await closed();
    let late: unknown;
    await db.transaction(async (tx) => {
      const client = p.client.withTransaction(tx);
      await client.start(mailbox, undefined, { id: 'kept', queue, key: 'k', priority: 3 });
      expect(await waiting()).toBe(0);
      await client.enqueueEvent('kept', 'm', 'in the same transaction');
      // Nothing was stored, and the transaction is as good as before.
      await expect(client.start(echo, 'x', { queue: 'none' })).rejects.toThrow(/start queue 'none': there is no queue/);
      await expect(client.start(echo, 'x', { id: 'kept', queue, ifExists: 'error' })).rejects.toThrow(/exists already/);
      late = client;
    });
    const rolledBack = db.transaction(async (tx) => {
      const client = p.client.withTransaction(tx);
      await client.start(echo, 'x', { id: 'gone', queue });
      await client.enqueueEvent('kept', 'm', 'rolled back');
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    const tooLate = (late as ReturnType<Client['withTransaction']>).start(echo, 'x', { id: 'late', queue });
    await expect(tooLate).rejects.toBeInstanceOf(TransactionEndedError);
    await db.transaction((tx) => p.client.withTransaction(tx).enqueueEvent('kept', 'm', 'afterwards'));
    expect(await waiting()).toBe(1);
    expect(await open()).toBe(1);
    expect(await p.client.handle(mailbox, 'kept').result()).toEqual(['in the same transaction', 'afterwards']);
    expect(await p.client.listAllInstances()).toEqual(['kept']);
  });

  // The rest is the same code in both.
  if (name === 'StoredFunctionProvider') return;

  test('exists for ifExists: the first one stands; other starts of its id are no-ops or refused', async () => {
    await closed();
    const first = await p.client.start(echo, 'first', { id: 'x', queue });
    expect(await first.status()).toMatchObject({ status: 'NotFound' });
    await p.client.start(echo, 'second', { id: 'x', queue, ifExists: 'use', priority: 5 });
    const refused = p.client.start(echo, 'third', { id: 'x', queue, ifExists: 'error' });
    await expect(refused).rejects.toBeInstanceOf(InstanceExistsError);
    // Also of a start that would not wait in the queue.
    await expect(p.client.start(echo, 'fourth', { id: 'x', ifExists: 'error' })).rejects.toBeInstanceOf(
      InstanceExistsError,
    );
    expect(await waiting()).toBe(1);
    expect(await open()).toBe(1);
    expect(await first.result()).toBe('first');
    // It ran: that exists, too, for as long as it is not deleted.
    await p.client.start(echo, 'fifth', { id: 'x', queue });
    await expect(p.client.start(echo, 'x', { id: 'x', queue, ifExists: 'error' })).rejects.toThrow(/exists already/);
    expect(await waiting()).toBe(0);
    await p.client.deleteInstance('x');
    await p.client.start(echo, 'again', { id: 'x', queue, ifExists: 'error' });
    expect((await p.loop.look()).admitted).toBe(1);
    await p.settle();
    expect(await first.result()).toBe('again');
  });

  test.each(['commits', 'rolls back'])(
    'other starts of its id wait for the transaction that has enqueued it, which %s',
    async (ending) => {
      await closed();
      let other: Promise<unknown> | undefined;
      const transaction = db.transaction(async (tx) => {
        await p.client.withTransaction(tx).start(echo, 'first', { id: 'x', queue });
        other = p.client.start(echo, 'other', { id: 'x', ifExists: 'error' }).catch((error: unknown) => error);
        const locks = sql`select 1 from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))`;
        await waitFor('it waits', async () => (await tx.execute(locks)).rows.length > 0);
        if (ending === 'rolls back') throw new Error(ending);
      });
      await transaction.catch((error: Error) => expect(error.message).toBe('rolls back'));
      if (ending === 'commits') expect(await other).toBeInstanceOf(InstanceExistsError);
      else expect(await other).toMatchObject({ id: 'x' });
      expect(await waiting()).toBe(ending === 'commits' ? 1 : 0);
      await p.settle();
    },
  );

  test('of many that start one id at the same time, with and without a queue, exactly one passes', async () => {
    await closed();
    const starts = Array.from({ length: 12 }, (_, i) =>
      p.client.start(echo, `${i}`, { id: 'one', ifExists: 'error', ...(i % 3 > 0 && { queue }) }),
    );
    const outcomes = await Promise.allSettled(starts);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(InstanceExistsError);
    }
    await open();
    expect(await p.client.listAllInstances()).toEqual(['one']);
  });

  test('a start of its id past the queue runs at once, and it never runs twice', async () => {
    await closed({ concurrency: 1 });
    const handle = await p.client.start(echo, 'in the queue', { id: 'x', queue });
    await p.client.start(echo, 'past it', { id: 'x' });
    await p.client.start(echo, 'y', { id: 'y', queue });
    await p.settle();
    expect(await handle.result()).toBe('past it');
    // It leaves the queue without having taken a slot.
    await open();
    await p.loop.look();
    await p.settle();
    expect(await p.client.handle(echo, 'y').result()).toBe('y');
    expect(await waiting()).toBe(0);
    expect(await handle.result()).toBe('past it');
    expect(await p.client.listExecutions('x')).toEqual([1]);
  });

  test('an event raised before it begins is what it is to a start in the ordinary queue', async () => {
    await closed();
    const inQueue = await p.client.start(held, undefined, { id: 'in-queue', queue });
    const ordinary = await p.client.start(held, undefined, { id: 'ordinary' });
    for (const handle of [inQueue, ordinary]) await handle.events.raise('go', 'early');
    await open();
    await p.settle();
    const statuses = await Promise.all([inQueue, ordinary].map((handle) => handle.status()));
    expect(statuses[0]).toEqual(statuses[1]);
    for (const handle of [inQueue, ordinary]) await handle.events.raise('go', 'late');
    await p.settle();
    expect(await inQueue.result()).toBe(await ordinary.result());
  });

  test('a queue in which starts wait is not deleted, unless one says what becomes of them', async () => {
    const { startQueues } = p.client;
    await closed();
    for (const id of ['a', 'b']) await p.client.start(mailbox, undefined, { id, queue });
    await p.client.enqueueEvent('a', 'm', 1);
    await expect(startQueues.delete(queue)).rejects.toThrow(/not deleted: 2 starts wait in it; pass waiting/);
    await expect(startQueues.delete(queue, { waiting: 'no' as never })).rejects.toThrow(
      /'refuse', 'discard' or 'start', got 'no'/,
    );
    expect(await startQueues.delete(queue, { waiting: 'start' })).toBe(true);
    await p.settle();
    expect((await p.client.listAllInstances()).sort()).toEqual(['a', 'b']);
    await p.client.enqueueEvent('a', 'm', 2);
    await p.settle();
    expect(await p.client.handle(mailbox, 'a').result()).toEqual([1, 2]);
    await closed();
    await p.client.start(echo, 'c', { id: 'c', queue });
    expect(await startQueues.delete(queue, { waiting: 'discard' })).toBe(true);
    expect(await startQueues.delete(queue)).toBe(false);
    await closed();
    expect(await open()).toBe(0);
  });

  test('bad input gives an error that names the queue, what was given and what was expected; nothing is stored', async () => {
    const { startQueues } = p.client;
    const limits: readonly [limits: object, says: RegExp][] = [
      [{ id: '' }, /the id must be a non-empty string, got ''/],
      [{ id: 7 }, /the id must be a non-empty string, got 7/],
      [{ id: 'x'.repeat(300) }, /at most 256 bytes long, got 300/],
      [{ id: 'a\u0000' }, /free of NUL/],
      [{ concurrency: 0 }, /start queue 'bad': concurrency must be a whole number from 1 to 1000000, got 0/],
      [{ concurrency: '5' }, /concurrency must be a whole number .*, got string/],
      [{ concurrencyPerKey: 1.5 }, /concurrencyPerKey must be a whole number .*, got 1.5/],
      [{ rate: 5 }, /rate must be \{ limit, periodMs \}, got 5/],
      [{ rate: { limit: 0, periodMs: 5 } }, /rate\.limit must be a whole number .*, got 0/],
      [{ rate: { limit: 5 } }, /rate\.periodMs must be a whole number from 1 to \d+, got undefined/],
      [{ ratePerKey: { limit: null, periodMs: 5 } }, /ratePerKey\.limit must be a whole number, got null/],
      [{ ratePerKey: { limit: 1, periodMs: 1e12 } }, /ratePerKey\.periodMs must be .*, got 1000000000000/],
      [{ paused: 'yes' }, /paused must be true or false, got string/],
      [{ ifExists: 'use' }, /ifExists must be 'error' or 'update', got 'use'/],
    ];
    for (const [options, says] of limits) {
      const refused = await startQueues.create({ id: 'bad', ...options }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(StartQueueError);
      expect((refused as Error).message).toMatch(says);
    }
    expect(await startQueues.list()).toEqual([]);
    await closed({ concurrency: 1, rate: { limit: 5, periodMs: 1_000 } });
    await expect(startQueues.create({ id: queue })).rejects.toThrow(
      /start queue 'q': it exists already; change it by update/,
    );
    // Exactly what was given: the rate is gone. It stays paused.
    const updated = await startQueues.create({ id: queue, concurrency: 2, ifExists: 'update' });
    expect(updated).toMatchObject({ concurrency: 2, rate: null, isPaused: true });
    for (const call of ['get', 'pause', 'resume'] as const) {
      await expect(startQueues[call]('none')).rejects.toThrow(/start queue 'none': there is no queue of this id/);
    }
    await expect(startQueues.update('none', {})).rejects.toThrow(/there is no queue of this id/);
    await expect(startQueues.update(queue, { concurrency: -1 })).rejects.toThrow(/got -1/);

    const starts: readonly [options: object, type: unknown, says: RegExp][] = [
      [{ queue: 'none' }, StartQueueError, /start queue 'none': there is no queue of this id; create it by/],
      [{ queue: '' }, StartQueueError, /the id must be a non-empty string/],
      [{ queue, key: '' }, StartQueueError, /start queue 'q': key must be a non-empty string, got ''/],
      [{ queue, key: 5 }, StartQueueError, /key must be a non-empty string, got 5/],
      [{ queue, priority: 0.5 }, StartQueueError, /priority must be a whole number from -1000000 to 1000000, got 0.5/],
      [{ queue, priority: 'high' }, StartQueueError, /priority must be a whole number .*, got string/],
      [{ key: 'k' }, InvalidInputError, /key means nothing without a queue/],
      [{ priority: 1 }, InvalidInputError, /priority means nothing without a queue/],
      [{ queue, id: 'sub::1' }, InvalidInputError, /reserved/],
    ];
    for (const [options, type, says] of starts) {
      const refused = await p.client.start(echo, 'x', options).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(type);
      expect((refused as Error).message).toMatch(says);
    }
    expect(await waiting()).toBe(0);
    expect(await p.client.listAllInstances()).toEqual([]);
  });

  test('its input is stored through the codec, and so are the messages to it', async () => {
    const codec = {
      name: 'rot',
      encode: (text: string) => Buffer.from(text).toString('hex'),
      decode: (text: string) => Buffer.from(text, 'hex').toString(),
    };
    const coded = processOn(withCodec(p.provider, codec) as DrizzleProvider, clock);
    await closed();
    await coded.client.start(echo, 'secret', { id: 'a', queue });
    await db.transaction((tx) =>
      coded.client
        .withTransaction(tx)
        .start(mailbox, undefined, { id: 'b', queue })
        .then(() => undefined),
    );
    for (const message of ['secret', 'secret']) await coded.client.enqueueEvent('b', 'm', message);
    const { rows } = await pool.query(`select concat(work_item, messages) as text from "${schema}".ddz_queued_starts`);
    expect(rows).toHaveLength(2);
    for (const { text } of rows as { text: string }[]) expect(text).not.toContain('secret');
    await p.client.startQueues.resume(queue);
    expect((await coded.loop.look()).admitted).toBe(2);
    await coded.settle();
    expect(await coded.client.handle(echo, 'a').result()).toBe('secret');
    expect(await coded.client.handle(mailbox, 'b').result()).toEqual(['secret', 'secret']);
  });
});

test('without the tables a clear error says how to get them; messages, deletions and runtimes go on', async () => {
  const schema = uniqueSchema('starts');
  const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger, maxConnections: 3 });
  try {
    await withClient((connection) =>
      connection.query(`drop table "${schema}".ddz_start_queues, "${schema}".ddz_queued_starts`),
    );
    const client = new Client(provider);
    const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
    runtime.register(held, echo);
    await runtime.start();
    const handle = await client.start(held, undefined, { id: 'i' });
    await handle.events.raise('go', 'too early or not');
    await client.start(echo, 'x', { id: 'e', ifExists: 'error' });
    expect(await client.waitForOrchestrationTyped('e')).toBe('x');
    await handle.cancel();
    await client.waitForOrchestration('i');
    await client.deleteInstance('e');
    for (const call of [() => client.startQueues.create({ id: 'q' }), () => client.start(echo, 'x', { queue: 'q' })]) {
      const refused = call();
      await expect(refused).rejects.toBeInstanceOf(UnsupportedError);
      await expect(refused).rejects.toThrow(
        /no table ddz_start_queues \(of migration 0003_start_queues\); run .*adoptTables: true/,
      );
    }
    expect(runtime.metricsSnapshot()?.providerErrors).toBe(0);
    await runtime.shutdown();
  } finally {
    await provider.close();
    await dropSchema(schema);
  }
});

test('a store without start queues says so', async () => {
  const client = new Client(new MemoryProvider());
  await expect(client.startQueues.list()).rejects.toThrow(/keeps no start queues/);
  await expect(client.start(echo, 'x', { queue: 'q' })).rejects.toBeInstanceOf(UnsupportedError);
});
