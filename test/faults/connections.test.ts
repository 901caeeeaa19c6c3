import { afterEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { DrizzleProviderOptions } from '../../src/provider/drizzle/options.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { FailpointProxy } from '../support/failpoints.js';
import { findPgbouncer, NO_PGBOUNCER, startPgbouncer } from '../support/pgbouncer.js';
import { type Handlers, register } from '../support/runtime-harness.js';
import { RecordingLogger, waitFor } from '../support/waiting.js';
import { bundleProgram } from './suite/bundle.js';
import { Relay } from './suite/relay.js';

let cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

function freshSchema(): string {
  const schema = uniqueSchema('conn');
  cleanUps.push(() => dropSchema(schema));
  return schema;
}

async function open(pool: pg.PoolConfig, options: DrizzleProviderOptions): Promise<DrizzleProvider> {
  const made = new pg.Pool({ connectionString: databaseUrl(), ...pool });
  const provider = await DrizzleProvider.fromPool(made, { logger: silentLogger, ownsClient: true, ...options });
  cleanUps.push(() => provider.close());
  return provider;
}

async function run(provider: DrizzleProvider, handlers: Handlers, options = {}): Promise<void> {
  const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off', ...options });
  register(runtime, handlers);
  await runtime.start();
  cleanUps.push(() => runtime.shutdown(0));
}

const echo: Handlers = {
  activities: { Echo: (_ctx, input) => input },
  orchestrations: {
    *Echo(ctx, input) {
      return yield ctx.scheduleActivity('Echo', input);
    },
  },
};

describe('C-09 connections that die while nobody uses them', () => {
  test.each([false, true])('a process with an idle client lives on, with a pool of its own: %s', async (ownPool) => {
    const schema = freshSchema();
    const program = await bundleProgram('test/faults/suite/idle-client.ts', 'idle-client');
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, DDZ_IDLE_CLIENT: JSON.stringify({ url: databaseUrl(), schema, ownPool }) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    cleanUps.push(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    expect(await once(child, 'message')).toEqual(['ready', undefined]);
    const backends = 'pid from pg_stat_activity where application_name = $1';
    await withClient(async (client) => {
      const { rowCount } = await client.query(`select pg_terminate_backend(pid), ${backends}`, [schema]);
      expect(rowCount).toBeGreaterThan(0);
      await waitFor(
        'the server is rid of them',
        async () => (await client.query(`select ${backends}`, [schema])).rowCount === 0,
      );
    });
    const answer = once(child, 'message');
    child.send('ask');
    expect(await answer).toEqual(['NotFound', undefined]);
    expect(child.exitCode).toBeNull();
  });
});

describe('C-10 a pool of one', () => {
  test('connects, migrates, starts, runs and reads eight orchestrations at once', async () => {
    const schema = freshSchema();
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
    const provider = await DrizzleProvider.fromPool(pool, { schema, logger: silentLogger, ownsClient: true });
    cleanUps.push(() => provider.close());
    await run(provider, echo);
    const client = new Client(provider);
    const ids = Array.from({ length: 8 }, (_, n) => `i${n}`);
    await Promise.all(ids.map((id) => client.startOrchestration(id, 'Echo', id)));
    expect(await Promise.all(ids.map((id) => client.waitForOrchestrationTyped(id, 60_000)))).toEqual(ids);
    expect(await client.readExecutionHistory('i0', 1)).toHaveLength(4);
    expect(pool.totalCount).toBe(1);
    // On a connection beside the pool, which the only one of it stays free of.
    await waitFor('it listens', () => provider.wakeUps().listening);
  });
});

describe('C-11 a call that nobody awaited', () => {
  test('belongs to the transaction, and goes with it; one after its end is refused', async () => {
    const schema = freshSchema();
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2 });
    const db = drizzle(pool);
    const provider = await DrizzleProvider.fromDrizzle(db, { schema, logger: silentLogger, ownsClient: true });
    cleanUps.push(() => provider.close());
    const client = new Client(provider);
    let forgotten: Promise<unknown> = Promise.resolve();
    let late: (() => Promise<unknown>) | undefined;
    const transaction = db.transaction(async (tx) => {
      const inside = client.withTransaction(tx);
      late = () => inside.startOrchestration('t2', 'Echo', 2);
      forgotten = inside.startOrchestration('t1', 'Echo', 1);
      forgotten.catch(() => {});
      throw new Error('rolled back');
    });
    await expect(transaction).rejects.toThrow('rolled back');
    await forgotten.catch(() => {});
    await expect(late!()).rejects.toThrow(/the transaction of this scope has ended; nothing was written/);
    await withClient(async (connection) => {
      const { rowCount } = await connection.query(`select 1 from "${schema}".orchestrator_queue`);
      expect(rowCount).toBe(0);
    });
  });
});

const withPooler = findPgbouncer() === undefined ? describe.skip : describe;
withPooler(`C-12 pgbouncer in transaction mode ${findPgbouncer() === undefined ? NO_PGBOUNCER : ''}`, () => {
  const many = async (provider: DrizzleProvider) => {
    const handlers: Handlers = {
      ...echo,
      orchestrations: {
        ...echo.orchestrations,
        *Everything(ctx, id) {
          ctx.setValue('k', id);
          yield ctx.scheduleTimer(20);
          const [first] = yield ctx.all([ctx.scheduleActivity('Echo', id), ctx.scheduleSubOrchestration('Echo', id)]);
          return [first.ok, yield ctx.waitForEvent('go')];
        },
      },
    };
    await run(provider, handlers, { maxPollIntervalMs: 50 });
    const client = new Client(provider);
    const ids = Array.from({ length: 12 }, (_, n) => `i${n}`);
    await Promise.all(ids.map((id) => client.startOrchestration(id, 'Everything', id)));
    for (const id of ids) {
      await waitFor('it waits', async () =>
        (await provider.read(id)).some(({ kind }) => kind === 'ExternalSubscribed'),
      );
      await client.raiseEvent(id, 'go', 'went');
      expect(await client.waitForOrchestrationTyped(id, 60_000)).toEqual([id, 'went']);
    }
  };

  test('everything works without being told, with at most one warning about listening', async () => {
    const schema = freshSchema();
    const pooler = await startPgbouncer(databaseUrl(), { poolSize: 2 });
    cleanUps.push(() => pooler.close());
    const logger = new RecordingLogger();
    const provider = await open({ connectionString: pooler.url, max: 6 }, { schema, logger });
    await many(provider);
    const warnings = logger.at('warn');
    expect(warnings.filter((line) => /LISTEN/.test(line)).length).toBeLessThanOrEqual(1);
    expect(warnings.filter((line) => !/LISTEN|statement/.test(line))).toEqual([]);
  });

  test('told by options it names no statements, listens to nobody and leaves no session state', async () => {
    const schema = freshSchema();
    const pooler = await startPgbouncer(databaseUrl(), { poolSize: 2 });
    cleanUps.push(() => pooler.close());
    const proxy = await FailpointProxy.open(pooler.url);
    cleanUps.push(() => proxy.close());
    const logger = new RecordingLogger();
    const options = { schema, logger, notifications: false, namedStatements: false };
    const provider = await open({ connectionString: proxy.url, max: 6 }, options);
    await many(provider);
    expect(logger.at('warn')).toEqual([]);
    const texts = proxy.statements.map(({ text }) => text.toLowerCase());
    expect(texts.length).toBeGreaterThan(50);
    expect(texts.filter((text) => /^\s*(listen|notify|unlisten|discard|prepare)\b/.test(text))).toEqual([]);
    // Whatever is set, or locked by advice, ends with its transaction.
    expect(texts.filter((text) => /^\s*set\s+(?!local|transaction)/.test(text))).toEqual([]);
    expect(texts.filter((text) => /set_config\((?:[^()]|\([^()]*\))*,\s*false\)/.test(text))).toEqual([]);
    expect(texts.filter((text) => /pg_(try_)?advisory_lock\(/.test(text))).toEqual([]);
    // Nothing is prepared on the connections that the pooler shares out.
    await withClient(async (client) => {
      const prepared = await client.query(`select name from pg_prepared_statements where name like 'ddz%'`);
      expect(prepared.rowCount).toBe(0);
    }, pooler.url);
  });
});

describe('C-13 a listener that loses its connection', () => {
  test.each(['terminated', 'cut'] as const)('comes back, and work is found without polling: %s', async (how) => {
    const schema = freshSchema();
    const relay = await Relay.open(databaseUrl());
    cleanUps.push(() => relay.close());
    const provider = await open({ connectionString: relay.url, max: 2, application_name: schema }, { schema });
    // A poll would come too late for the guard of this test.
    await run(provider, echo, { dispatcherPollIntervalMs: 600_000, maxPollIntervalMs: 600_000 });
    await waitFor('it listens', () => provider.wakeUps().listening);
    if (how === 'cut') relay.cut();
    else {
      await withClient((client) =>
        client.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [schema]),
      );
    }
    await waitFor('it noticed', () => !provider.wakeUps().listening);
    // While it is deaf: found at the reconnection, without any notification.
    const other = await open({ max: 1 }, { schema });
    const client = new Client(other);
    await client.startOrchestration('while deaf', 'Echo', 1);
    expect(await client.waitForOrchestrationTyped('while deaf', 60_000)).toBe(1);
    await waitFor('it listens again', () => provider.wakeUps().listening);
    await client.startOrchestration('afterwards', 'Echo', 2);
    expect(await client.waitForOrchestrationTyped('afterwards', 60_000)).toBe(2);
  });
});
