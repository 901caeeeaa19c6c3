import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { StartAdmission } from '../../src/provider/drizzle/start-queues/admit-starts.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { StartQueueLoop } from '../../src/runtime/start-queue-loop.js';
import { type Bench, openBench } from '../provider/drizzle/operations/support.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { waitFor } from '../support/waiting.js';
import { echo, held, openProcess, type Process } from './support.js';

describe('several processes on one PostgreSQL', () => {
  const schema = uniqueSchema('starts');
  const clock = new FakeClock();
  let processes: Process[] = [];
  const at = (index: number) => processes[index % processes.length] as Process;
  const first = () => at(0);

  beforeAll(async () => {
    await openProcess(schema, clock).then(({ provider }) => provider.close());
    processes = await Promise.all([1, 2, 3].map(() => openProcess(schema, clock, { notifications: false })));
  });
  afterAll(async () => {
    for (const { provider } of processes) await provider.close();
    await dropSchema(schema);
  });

  test('that all look at the same moment never exceed concurrency, concurrency per key and rate; every start runs once', async () => {
    const { client } = first();
    await client.startQueues.create({
      id: 'q',
      concurrency: 4,
      concurrencyPerKey: 2,
      rate: { limit: 5, periodMs: 1_000 },
    });
    const ids = Array.from({ length: 30 }, (_, i) => `i${i}`);
    await Promise.all(ids.map((id, i) => at(i).client.start(held, undefined, { id, queue: 'q', key: `k${i % 4}` })));
    const starts: { readonly atMs: number; readonly ids: readonly string[] }[] = [];
    const known = new Set<string>();
    for (let round = 0; known.size < ids.length || starts.at(-1)?.ids.length; round++) {
      expect(round).toBeLessThan(100);
      const looks = await Promise.all(processes.map(({ loop }) => loop.look()));
      await Promise.all(processes.map(({ settle }) => settle()));
      const running = await client.listInstancesByStatus('Running');
      const fresh = running.filter((id) => !known.has(id));
      expect(looks.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(fresh.length);
      for (const id of fresh) known.add(id);
      starts.push({ atMs: clock.nowMs(), ids: fresh });
      expect(running.length).toBeLessThanOrEqual(4);
      const perKey = [0, 1, 2, 3].map((key) => running.filter((id) => Number(id.slice(1)) % 4 === key).length);
      expect(Math.max(...perKey)).toBeLessThanOrEqual(2);
      const recent = starts.filter(({ atMs }) => atMs > clock.nowMs() - 1_000).flatMap((start) => start.ids);
      expect(recent.length).toBeLessThanOrEqual(5);
      const [ends] = running.slice(round % Math.max(running.length, 1));
      if (ends !== undefined) await at(round).client.raiseEvent(ends, 'go', 'on');
      await at(round + 1).settle();
      clock.advance(150);
    }
    expect([...known].sort()).toEqual([...ids].sort());
    for (const id of ids) {
      await client.raiseEvent(id, 'go', 'on');
      expect(await client.listExecutions(id)).toEqual([1]);
    }
    await first().settle();
  });

  test('nobody waits for the lock of a queue, nor for a start that somebody is about to cancel', async () => {
    const { client, loop } = first();
    clock.advance(5_000);
    await client.startQueues.create({ id: 'busy' });
    for (const id of ['b1', 'b2', 'b3']) await client.start(echo, id, { id, queue: 'busy' });
    await withClient(async (other) => {
      await other.query('begin');
      await other.query(`select from "${schema}".ddz_start_queues where queue_id = 'busy' for no key update`);
      expect(await loop.look()).toMatchObject({ admitted: 0, busy: true });
      await other.query('rollback');
      await other.query('begin');
      await other.query(`delete from "${schema}".ddz_queued_starts where instance_id = 'b1'`);
      expect(await loop.look()).toMatchObject({ admitted: 2, busy: true });
      await other.query('commit');
    });
    expect((await loop.look()).admitted).toBe(0);
    await first().settle();
  });

  test('a transaction that has enqueued keeps nobody from admitting, only from deleting the queue', async () => {
    const { client, loop } = first();
    await client.startQueues.create({ id: 'shared' });
    await client.start(echo, 'x', { id: 's1', queue: 'shared' });
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2 });
    const provider = await DrizzleProvider.fromDrizzle(drizzle(pool), { schema, clock, logger: silentLogger });
    let deletion: Promise<unknown> | undefined;
    await drizzle(pool).transaction(async (tx) => {
      await new Client(provider).withTransaction(tx).start(echo, 'x', { id: 's2', queue: 'shared' });
      expect((await loop.look()).admitted).toBe(1);
      deletion = client.startQueues.delete('shared').catch((error: unknown) => error);
      await withClient((watch) =>
        waitFor('the deletion waits', async () => {
          const { rows } = await watch.query(
            `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%${schema}%ddz_start_queues%'`,
          );
          return rows.length > 0;
        }),
      );
    });
    expect(String(await deletion)).toMatch(/not deleted: 1 starts wait in it/);
    expect((await loop.look()).admitted).toBe(1);
    await provider.close();
    await pool.end();
    await first().settle();
  });

  test('what waits and what runs is known after all processes have gone', async () => {
    await first().client.startQueues.create({ id: 'lasting', concurrency: 1, rate: { limit: 10, periodMs: 60_000 } });
    for (const id of ['l1', 'l2']) await first().client.start(held, undefined, { id, queue: 'lasting' });
    await first().loop.look();
    await first().settle();
    for (const { provider } of processes) await provider.close();
    processes = [await openProcess(schema, clock)];
    const { client, loop, settle } = first();
    expect(await client.startQueues.get('lasting')).toMatchObject({ waiting: 1, running: 1 });
    expect((await loop.look()).admitted).toBe(0);
    await client.raiseEvent('l1', 'go', 'on');
    await settle();
    clock.advance(1_000);
    expect((await loop.look()).admitted).toBe(1);
    await settle();
    expect((await client.handle(held, 'l2').status()).status).toBe('Running');
  });

  test('runtimes admit by themselves: what another process or a transaction enqueues, and when one has ended', async () => {
    const real = { schema, logger: silentLogger, maxConnections: 4 };
    const providers = await Promise.all([1, 2, 3].map(() => DrizzleProvider.connect(databaseUrl(), real)));
    const [one, two, three] = providers as [DrizzleProvider, DrizzleProvider, DrizzleProvider];
    const runtimes = [one, two].map((provider) => {
      const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
      runtime.register(echo, held);
      return runtime;
    });
    for (const runtime of runtimes) await runtime.start();
    for (const provider of [one, two]) await waitFor('it listens', () => provider.wakeUps().listening);
    const client = new Client(three);
    await client.startQueues.create({ id: 'live', concurrency: 2 });
    const handles = await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.start(echo, `${i}`, { id: `live-${i}`, queue: 'live' })),
    );
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(handles.map((_, i) => `${i}`));
    for (const runtime of runtimes) expect(runtime.metricsSnapshot()?.providerErrors).toBe(0);
    for (const runtime of runtimes) await runtime.shutdown();
    for (const provider of providers) await provider.close();
  });
});

describe('an admission', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench({ max: 4 });
  });
  afterAll(() => bench.close());

  test('that is under way lets nobody else admit from the queue: two at the same moment are as one', async () => {
    await bench.sql(
      `insert into ddz_start_queues (queue_id, concurrency, is_paused, created_ms, updated_ms) values ('two', 2, false, 0, 0)`,
    );
    await bench.sql(
      `insert into ddz_queued_starts (instance_id, queue_id, start_key, priority, work_item, enqueued_ms)
       select 'two-' || n, 'two', '', 0, '{"StartOrchestration":{}}', 0 from generate_series(1, 6) n`,
    );
    const reached = deferred();
    const goOn = deferred();
    const slow = new StartAdmission(
      bench.another(async ({ text }) => {
        if (!text.includes('with chosen')) return;
        reached.resolve();
        await goOn.promise;
      }),
    );
    const quick = new StartAdmission(bench.ctx);
    const first = slow.admit([]);
    await reached.promise;
    const meanwhile = await quick.admit([]).finally(goOn.resolve);
    expect(meanwhile).toMatchObject({ admitted: 0, busy: true });
    expect((await first).admitted).toBe(2);
    expect(await quick.admit([])).toMatchObject({ admitted: 0, busy: false, blocked: true });
    await bench.sql('delete from ddz_start_queues');
    await bench.sql('delete from ddz_queued_starts');
    await bench.sql('delete from orchestrator_queue');
  });

  test('that fails before any of its statements has done nothing, and the next one does everything', async () => {
    const enqueue = async (id: string) =>
      bench.sql(
        `insert into ddz_queued_starts (instance_id, queue_id, start_key, priority, work_item, enqueued_ms)
         values ($1, 'q', 'k', 0, '{"StartOrchestration":{}}', 0)`,
        [id],
      );
    await bench.sql(
      `insert into ddz_start_queues (queue_id, concurrency_per_key, key_rate_limit, key_rate_period_ms, is_paused, created_ms, updated_ms)
       values ('q', 1000, 1000, 1, false, 0, 0)`,
    );
    let statements = 0;
    let failsAt = Infinity;
    const admission = new StartAdmission(
      bench.another(async () => {
        if (statements++ === failsAt) throw new Error('the process is gone');
      }),
    );
    const state = () =>
      bench.sql(
        `select q.instance_id, q.admitted_ms is not null as admitted, count(o.id)::int as messages
         from ddz_queued_starts q left join orchestrator_queue o on o.instance_id = q.instance_id group by 1, 2`,
      );
    // The first look tells how many there are.
    await enqueue('first');
    expect((await admission.admit([])).admitted).toBe(1);
    const count = statements;
    expect(count).toBeGreaterThan(5);
    for (let at = 0; at < count; at++) {
      await bench.sql('delete from ddz_queued_starts');
      await bench.sql('delete from orchestrator_queue');
      await enqueue(`at-${at}`);
      statements = 0;
      failsAt = at;
      // Sweeps belong to it, too.
      bench.clock.advance(1_000);
      await expect(admission.admit([])).rejects.toThrow();
      expect(await state()).toEqual([{ instance_id: `at-${at}`, admitted: false, messages: 0 }]);
      failsAt = Infinity;
      bench.clock.advance(1_000);
      expect((await admission.admit([])).admitted).toBe(1);
      expect(await state()).toEqual([{ instance_id: `at-${at}`, admitted: true, messages: 1 }]);
    }
  });
});

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

describe('how often a runtime looks', () => {
  const nothing = { admitted: 0, inUse: false, again: false, busy: false, blocked: false, nextMs: null };

  /** In which seconds it looked. */
  async function looksIn(seconds: number, answer: (second: number) => object, endings = 0): Promise<number[]> {
    const clock = new FakeClock();
    const beganMs = clock.nowMs();
    const stop = new AbortController();
    const looks: number[] = [];
    let ended: (ids: readonly string[]) => void = () => {};
    const store = {
      admit: async () => {
        const second = Math.floor((clock.nowMs() - beganMs) / 1_000);
        looks.push(second);
        return { ...nothing, ...answer(second) };
      },
      onChanged: () => () => {},
    };
    const provider = Object.assign(new MemoryProvider(clock), {
      onEnded: (listener: typeof ended) => {
        ended = listener;
        return () => {};
      },
    });
    const core = { clock, provider, logger: silentLogger, metrics: {}, stopping: stop.signal, random: () => 0 };
    const running = new StartQueueLoop(core as never, store as never).run();
    const laps = async () => {
      for (let i = 0; i < 8; i++) await new Promise((resolve) => setImmediate(resolve));
    };
    for (let second = 0; second < seconds; second++) {
      await laps();
      for (let i = 0; i < endings; i++) ended([`${second}-${i}`]);
      await laps();
      clock.advance(1_000);
    }
    stop.abort();
    await running;
    return looks;
  }

  test('while nothing waits: once in half a minute, whatever ends', async () => {
    expect(await looksIn(300, () => ({}))).toHaveLength(10);
    expect(await looksIn(300, () => ({ inUse: true }), 5)).toHaveLength(10);
  });

  test('while starts wait for others to end: once a second, and what ends together is one look', async () => {
    const blocked = () => ({ inUse: true, blocked: true });
    expect(await looksIn(60, blocked)).toHaveLength(60);
    expect((await looksIn(60, blocked, 100)).length).toBeLessThanOrEqual(121);
  });

  test('while a rate is waited for: at its moment', async () => {
    const opensMs = new FakeClock().nowMs() + 20_000;
    expect(await looksIn(29, (second) => ({ inUse: true, nextMs: second < 20 ? opensMs : null }))).toEqual([0, 20]);
  });
});
