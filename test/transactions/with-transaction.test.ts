import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { InstanceExistsError } from '../../src/client/errors.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { TransactionEndedError, UnsupportedError } from '../../src/provider/provider-error.js';
import type { QueueName } from '../../src/provider/provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { orchestration } from '../../src/typed/definitions.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { waitFor } from '../support/waiting.js';
import { closePglite, KINDS, openDatabase, type Opened, type Tx } from './databases.js';
import { overlappingQueries } from './overlapping-queries.js';

const hello = orchestration('hello', async (_ctx, who: string) => `Hello, ${who}`);
const listener = orchestration('listener', async (ctx) => {
  const event = await ctx.waitForEvent<string>('event');
  const message = await ctx.dequeue<string>('mailbox');
  return `${event} ${message}`;
});

afterAll(closePglite);

class RolledBack extends Error {}

describe.each(KINDS)('client.withTransaction over $name', (kind) => {
  let app: Opened;
  let client: Client;
  let runtime: Runtime;
  beforeAll(async () => {
    app = await openDatabase(kind);
    client = new Client(app.provider);
    // So long that nothing is ever found by polling within the time of a test.
    runtime = new Runtime(app.provider, {
      logger: silentLogger,
      logLevel: 'off',
      dispatcherPollIntervalMs: 600_000,
      maxPollIntervalMs: 600_000,
    });
    runtime.register(hello, listener);
    await runtime.start();
    if (kind.name !== "Drizzle's own transactions") await waitFor('it listens', () => app.provider.wakeUps().listening);
  });
  afterAll(async () => {
    await runtime.shutdown(0);
    await app.close();
  });

  /** Runs in a transaction that is rolled back in the end. */
  const inVain = (use: (tx: Tx) => Promise<void>) =>
    app.db
      .transaction(async (tx) => {
        await use(tx);
        throw new RolledBack();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RolledBack)) throw error;
      });

  test("starts, raises, enqueues and cancels with the application's rows, and wakes without a poll", async () => {
    await app.db.transaction(async (tx) => {
      await tx.insert(app.payments).values({ orderId: 'o-1', cents: 1 });
      const within = client.withTransaction(tx);
      await within.startOrchestration('started', 'hello', 'Ann');
      await within.startOrchestration('listening', 'listener');
      await within.startOrchestration('cancelled', 'listener');
    });
    expect(await client.waitForOrchestrationTyped('started', 60_000)).toBe('Hello, Ann');
    await waitFor('they listen', async () => (await client.getStatus('listening')).status === 'Running');
    await app.db.transaction(async (tx) => {
      const within = client.withTransaction(tx);
      await within.raiseEvent('listening', 'event', 'raised');
      await within.enqueueEvent('listening', 'mailbox', 'enqueued');
      await within.cancelInstance('cancelled', 'no more');
    });
    expect(await client.waitForOrchestrationTyped('listening', 60_000)).toBe('raised enqueued');
    expect((await client.waitForOrchestration('cancelled', 60_000)).error).toContain('no more');
    expect(await app.paid()).toContain('o-1');
  });

  test('typed: the handle finds the instance after the commit; nothing is there after a rollback', async () => {
    const handle = await app.db.transaction((tx) => client.withTransaction(tx).start(hello, 'Bob', { id: 'typed' }));
    expect(await handle.result()).toBe('Hello, Bob');
    await inVain(async (tx) => {
      await tx.insert(app.payments).values({ orderId: 'o-2', cents: 1 });
      await client.withTransaction(tx).start(hello, 'Eve', { id: 'rolled back' });
    });
    expect((await client.getStatus('rolled back')).status).toBe('NotFound');
    expect(await app.paid()).not.toContain('o-2');
    // The queue is empty, too: the same id can be started.
    await client.start(hello, 'Eve', { id: 'rolled back', ifExists: 'error' });
    expect(await client.waitForOrchestrationTyped('rolled back', 60_000)).toBe('Hello, Eve');
  });

  test("ifExists: 'error' knows instances, starts that wait, and those of the same transaction", async () => {
    await client.start(hello, 'first', { id: 'exists' });
    await client.waitForOrchestration('exists', 60_000);
    await inVain(async (tx) => {
      const within = client.withTransaction(tx);
      await expect(within.start(hello, 'x', { id: 'exists', ifExists: 'error' })).rejects.toBeInstanceOf(
        InstanceExistsError,
      );
      await within.start(hello, 'x', { id: 'twice', ifExists: 'error' });
      await expect(within.start(hello, 'x', { id: 'twice', ifExists: 'error' })).rejects.toBeInstanceOf(
        InstanceExistsError,
      );
      // The transaction is still of use.
      await within.start(hello, 'x', { id: 'exists', ifExists: 'use' });
    });
    expect((await client.getStatus('twice')).status).toBe('NotFound');
  });

  test('nobody is woken before the commit', async () => {
    const told: QueueName[] = [];
    const stop = app.provider.onWakeUp((queue) => told.push(queue));
    try {
      await app.db.transaction(async (tx) => {
        told.length = 0;
        await client.withTransaction(tx).start(hello, 'Cleo', { id: 'not too early' });
        // Whatever was notified by now would have come along with this answer.
        await tx.select().from(app.payments);
        expect(told).toEqual([]);
      });
      await waitFor('the wake-up', () => told.includes('orchestrator'));
    } finally {
      stop();
    }
    expect(await client.waitForOrchestrationTyped('not too early', 60_000)).toBe('Hello, Cleo');
  });

  test('C-11 a forgotten await is rolled back with the rest, and use after the end is refused and writes nothing', async () => {
    let forgotten: Promise<unknown> = Promise.resolve();
    await inVain(async (tx) => {
      forgotten = client.withTransaction(tx).startOrchestration('forgotten', 'hello', 'x');
      forgotten.catch(() => {});
    });
    await forgotten.catch(() => {});
    // On connections that nobody else uses: postgres-js may leave a late statement unanswered for
    // half a minute when the connection is in use.
    const quiet = await openDatabase(kind, { max: 2, notifications: false });
    const within = await quiet.db.transaction(async (tx) => new Client(quiet.provider).withTransaction(tx));
    const calls = [
      () => within.startOrchestration('late', 'hello', 'x'),
      () => within.start(hello, 'x', { id: 'late', ifExists: 'error' }),
      () => within.raiseEvent('late', 'event'),
      () => within.enqueueEvent('late', 'mailbox'),
      () => within.cancelInstance('late'),
    ];
    for (const call of calls) await expect(call()).rejects.toBeInstanceOf(TransactionEndedError);
    expect((await client.getStatus('forgotten')).status).toBe('NotFound');
    for (const { provider } of [app, quiet]) expect((await provider.due()).orchestrator).toBe(false);
    await quiet.close();
  });

  test('node-postgres never gets a query while another is under way, however many are issued at once', async () => {
    const ids = ['at-once-1', 'at-once-2', 'at-once-3', 'at-once-4'] as const;
    const found = await overlappingQueries(async () => {
      await app.db.transaction(async (tx) => {
        const insert = () => tx.insert(app.payments).values({ orderId: 'at-once', cents: 1 });
        // Over an unknown driver, opening a scope marks the transaction at once.
        const isUnknown = kind.name === "Drizzle's own transactions";
        if (isUnknown) await insert();
        const within = client.withTransaction(tx);
        // Elsewhere the client is free for the application's own statements.
        if (!isUnknown) await insert();
        await Promise.all([
          within.start(hello, 'One', { id: ids[0] }),
          within.start(hello, 'Two', { id: ids[1], ifExists: 'error' }),
          client.withTransaction(tx).startOrchestration(ids[2], 'hello', 'Three'),
          // Later than the others, while they are under way.
          Promise.resolve().then(() => within.startOrchestration(ids[3], 'hello', 'Four')),
        ]);
        await tx.transaction((nested) => client.withTransaction(nested).raiseEvent(ids[0], 'event'));
      });
    });
    expect(found).toEqual([]);
    const greetings = await Promise.all(ids.map((id) => client.waitForOrchestrationTyped(id, 60_000)));
    expect(greetings).toEqual(['Hello, One', 'Hello, Two', 'Hello, Three', 'Hello, Four']);
  });

  test('C-11 what nobody awaits is committed with the transaction, if it was issued before the end', async () => {
    await app.db.transaction(async (tx) => {
      const within = client.withTransaction(tx);
      await tx.insert(app.payments).values({ orderId: 'unawaited', cents: 1 });
      for (const id of ['unawaited-1', 'unawaited-2']) within.startOrchestration(id, 'hello', id).catch(() => {});
    });
    // Over an unknown driver each statement waits for the one before: those come too late, and are refused.
    const isUnknown = kind.name === "Drizzle's own transactions";
    for (const id of ['unawaited-1', 'unawaited-2']) {
      if (isUnknown) expect((await client.getStatus(id)).status).toBe('NotFound');
      else expect(await client.waitForOrchestrationTyped(id, 60_000)).toBe(`Hello, ${id}`);
    }
  });

  test('what is no transaction is refused with what was given and what was expected', () => {
    const cases: readonly [tx: unknown, got: RegExp][] = [
      [undefined, /got undefined/],
      [null, /got null/],
      [app.db, /got the database itself, not a transaction of it/],
      [{}, /got an object that is none/],
    ];
    for (const [tx, got] of cases) {
      expect(() => client.withTransaction(tx)).toThrow(UnsupportedError);
      expect(() => client.withTransaction(tx)).toThrow(got);
    }
  });
});

describe('a transaction of somewhere else', () => {
  test('of another driver is refused at once', async () => {
    const pglite = new PGlite();
    const provider = await DrizzleProvider.connect(databaseUrl(), {
      schema: uniqueSchema('elsewhere'),
      logger: silentLogger,
      maxConnections: 2,
    });
    try {
      await drizzlePglite(pglite).transaction(async (tx) => {
        expect(() => new Client(provider).withTransaction(tx)).toThrow(
          /over node-postgres, the driver of this provider, got a PgliteTransaction/,
        );
      });
    } finally {
      await provider.close();
      await dropSchema(provider['ctx'].schema);
      await pglite.close();
    }
  });

  test('of another database is refused, though it has the same tables, and nothing is written to either', async () => {
    const schema = uniqueSchema('elsewhere');
    const other = uniqueSchema('ddz_other');
    await withClient((connection) => connection.query(`create database ${other}`));
    const url = new URL(databaseUrl());
    url.pathname = `/${other}`;
    const pool = new pg.Pool({ connectionString: url.href, max: 2 });
    const db = drizzlePg(pool);
    const here = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger, maxConnections: 2 });
    const there = await DrizzleProvider.fromDrizzle(db, { schema, logger: silentLogger });
    try {
      const client = new Client(here);
      const elsewhere = db.transaction((tx) => client.withTransaction(tx).start(hello, 'x', { id: 'x' }));
      await expect(elsewhere).rejects.toBeInstanceOf(UnsupportedError);
      await expect(elsewhere).rejects.toThrow(
        /nothing was written, because the transaction belongs to another database/,
      );
      // Nor where nobody awaits it.
      await db.transaction(async (tx) => {
        client
          .withTransaction(tx)
          .start(hello, 'x', { id: 'x' })
          .catch(() => {});
      });
      for (const provider of [here, there]) expect((await provider.due()).orchestrator).toBe(false);
    } finally {
      await there.close();
      await pool.end();
      await here.close();
      await dropSchema(schema);
      await withClient((connection) => connection.query(`drop database ${other} with (force)`));
    }
  });

  test('of another Drizzle database on the same PostgreSQL is welcome', async () => {
    const schema = uniqueSchema('elsewhere');
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger, maxConnections: 2 });
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
    try {
      await drizzlePg(pool).transaction((tx) =>
        new Client(provider).withTransaction(tx).start(hello, 'x', { id: 'x' }),
      );
      expect((await provider.due()).orchestrator).toBe(true);
    } finally {
      await pool.end();
      await provider.close();
      await dropSchema(schema);
    }
  });

  test('of a single client, too: one query at a time, and nothing is written after the end', async () => {
    const schema = uniqueSchema('elsewhere');
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger, maxConnections: 2 });
    const connection = new pg.Client({ connectionString: databaseUrl() });
    await connection.connect();
    const db = drizzlePg(connection);
    const client = new Client(provider);
    try {
      const found = await overlappingQueries(() =>
        db.transaction(async (tx) => {
          const within = client.withTransaction(tx);
          await tx.execute('select 1');
          await Promise.all(['a', 'b', 'c'].map((id) => within.startOrchestration(id, 'hello', id)));
        }),
      );
      expect(found).toEqual([]);
      const { items } = await provider.fetchOrchestrationItems({ limit: 9, lockTimeoutMs: 60_000 });
      expect(items.map(({ instance }) => instance).sort()).toEqual(['a', 'b', 'c']);

      const late = await db.transaction(async (tx) => client.withTransaction(tx));
      await expect(late.startOrchestration('late', 'hello', 'x')).rejects.toBeInstanceOf(TransactionEndedError);
      // Nor into the next transaction on the same client.
      await db.transaction(async (tx) => {
        await tx.execute('select 1');
        await expect(late.startOrchestration('late', 'hello', 'x')).rejects.toBeInstanceOf(TransactionEndedError);
      });
      expect((await provider.due()).orchestrator).toBe(false);
    } finally {
      await connection.end();
      await provider.close();
      await dropSchema(schema);
    }
  });

  test('of another PGlite is refused', async () => {
    const [own, other] = [new PGlite(), new PGlite()];
    const provider = await DrizzleProvider.fromDrizzle(drizzlePglite(own), { logger: silentLogger });
    const there = await DrizzleProvider.fromDrizzle(drizzlePglite(other), { logger: silentLogger });
    try {
      const client = new Client(provider);
      const start = (on: PGlite) =>
        drizzlePglite(on).transaction((tx) => client.withTransaction(tx).start(hello, 'x', { id: 'x' }));
      await expect(start(other)).rejects.toThrow(/another database/);
      expect((await there.due()).orchestrator).toBe(false);
      await start(own);
      expect((await provider.due()).orchestrator).toBe(true);
    } finally {
      await provider.close();
      await there.close();
      await own.close();
      await other.close();
    }
  });
});
