import { afterEach, describe, expect, test } from '@jest/globals';
import { FakeClock, SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { Due, QueueName } from '../../src/provider/provider.js';
import type { RuntimeCore } from '../../src/runtime/core.js';
import { IdleProbe } from '../../src/runtime/idle-probe.js';
import { newMetrics } from '../../src/runtime/metrics.js';
import { resolveRuntimeOptions } from '../../src/runtime/options.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { register, waitFor } from '../support/runtime-harness.js';

async function ticks(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('idle probe', () => {
  function probeOn(options = {}, due: Partial<Due> = {}) {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const looks: number[] = [];
    const startedAtMs = clock.nowMs();
    provider.due = async () => {
      looks.push(clock.nowMs() - startedAtMs);
      return { orchestrator: false, worker: false, nextVisibleAtMs: null, ...due };
    };
    const stop = new AbortController();
    const core = {
      provider,
      clock,
      options: resolveRuntimeOptions({ logger: silentLogger, ...options }),
      logger: silentLogger,
      metrics: newMetrics(),
      stopping: stop.signal,
      random: () => 0,
    } as unknown as RuntimeCore;
    const woken: QueueName[] = [];
    const asked: [QueueName, boolean, boolean][] = [];
    const probe = new IdleProbe(core, (queue) => ({
      wake: () => void woken.push(queue),
      sawAmongMany: (isDue, areSeveral) => void asked.push([queue, isDue, areSeveral]),
    }));
    void probe.run();
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 10) {
        clock.advance(10);
        await ticks();
      }
    };
    return { clock, provider, probe, looks, woken, asked, pass, stop, startedAtMs };
  }

  test('R:LK-11 first wait 100 ms, doubling to 1 s: an idle process asks once a second', async () => {
    const { probe, looks, pass } = probeOn();
    probe.enterIdle('orchestrator');
    probe.enterIdle('worker');
    await pass(6_000);
    expect(looks).toEqual([100, 300, 700, 1_500, 2_500, 3_500, 4_500, 5_500]);
  });

  test('R:LK-11 custom intervals; in a schema shared with native without triggers the ceiling is 100 ms', async () => {
    const custom = probeOn({ dispatcherPollIntervalMs: 20, maxPollIntervalMs: 50 });
    custom.probe.enterIdle('worker');
    await custom.pass(200);
    expect(custom.looks).toEqual([20, 60, 110, 160]);
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    provider.sharedWithNative = true;
    const core = {
      provider,
      clock,
      options: resolveRuntimeOptions({}),
      stopping: new AbortController().signal,
      random: () => 0,
    } as unknown as RuntimeCore;
    const nobody = { wake: () => undefined, sawAmongMany: () => undefined };
    expect((new IdleProbe(core, () => nobody) as unknown as { maxStepMs: number }).maxStepMs).toBe(100);
  });

  test('what is due wakes the dispatchers that wait, and the waits grow all the same', async () => {
    const { probe, looks, woken, pass } = probeOn({}, { orchestrator: true, worker: true });
    probe.enterIdle('worker');
    await pass(1_500);
    expect(looks).toEqual([100, 300, 700, 1_500]);
    expect(new Set(woken)).toEqual(new Set(['worker']));
  });

  test('C-27 of what a dispatcher asked for after news for all it is told, and not woken', async () => {
    const { probe, looks, woken, asked, pass } = probeOn({}, { orchestrator: true, several: ['orchestrator'] });
    probe.enterIdle('orchestrator');
    probe.enterIdle('worker');
    probe.lookWithin(30);
    probe.lookWithin(50);
    await pass(60);
    expect(looks).toEqual([30]);
    expect(woken).toEqual([]);
    expect(asked).toEqual([
      ['orchestrator', true, true],
      ['worker', false, false],
    ]);
  });

  test('a fetch that found something begins the waits anew', async () => {
    const { probe, looks, pass } = probeOn();
    probe.enterIdle('worker');
    await pass(2_000);
    looks.length = 0;
    probe.found();
    await pass(100);
    expect(looks).toEqual([2_100]);
  });

  test('the next moment that the store told is asked at, and not the next interval', async () => {
    const due: { nextVisibleAtMs?: number } = {};
    const { probe, looks, startedAtMs, pass } = probeOn({}, due);
    due.nextVisibleAtMs = startedAtMs + 150;
    probe.enterIdle('worker');
    await pass(160);
    expect(looks).toEqual([100, 150]);
  });

  test('R:TM-10 a timer of this process wakes the dispatcher at its moment, without a query', async () => {
    const { probe, looks, woken, startedAtMs, pass } = probeOn();
    probe.enterIdle('orchestrator');
    probe.noteTimer(startedAtMs + 50);
    probe.noteTimer(startedAtMs + 30);
    await pass(60);
    expect(woken).toEqual(['orchestrator', 'orchestrator']);
    expect(looks).toEqual([]);
  });

  test('while nobody is idle nothing is asked, and a failing query is repeated with back-off', async () => {
    const { probe, provider, looks, pass } = probeOn();
    await pass(500);
    expect(looks).toEqual([]);
    let failures = 0;
    provider.due = () => {
      failures += 1;
      return Promise.reject(new Error('down'));
    };
    probe.enterIdle('worker');
    await pass(1_000);
    expect(failures).toBeGreaterThan(1);
    expect(failures).toBeLessThan(5);
  });
});

const echo: Handlers = {
  activities: { Echo: (_ctx, input) => input },
  orchestrations: {
    *Echo(ctx, input) {
      return yield ctx.scheduleActivity('Echo', input);
    },
    *Wait(ctx) {
      return yield ctx.waitForEvent('go');
    },
  },
};
/** Polling as good as off: only wake-ups can be what brings the work. */
const NO_POLLING = { dispatcherPollIntervalMs: 600_000, maxPollIntervalMs: 600_000 };

let stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.reverse()) await stop();
  stops = [];
});

async function runtimeOn(provider: DrizzleProvider | MemoryProvider, handlers = echo, options = {}): Promise<Runtime> {
  const runtime = new Runtime(provider, { ...NO_POLLING, logger: silentLogger, logLevel: 'off', ...options });
  register(runtime, handlers);
  await runtime.start();
  stops.push(() => runtime.shutdown(0));
  return runtime;
}

describe('inside a process', () => {
  test('a whole flow runs on wake-ups alone, and timers on their moment', async () => {
    const provider = new MemoryProvider(new SystemClock());
    await runtimeOn(provider, {
      ...echo,
      orchestrations: {
        ...echo.orchestrations,
        *Flow(ctx) {
          yield ctx.scheduleTimer(5);
          const child = yield ctx.scheduleSubOrchestration('Echo', 1);
          return child + (yield ctx.scheduleActivity('Echo', 1));
        },
      },
    });
    const client = new Client(provider);
    await client.startOrchestration('i', 'Flow');
    expect(await client.waitForOrchestrationTyped('i')).toBe(2);
  });

  test('a message that comes while its instance is locked is not left behind', async () => {
    const provider = new MemoryProvider(new SystemClock());
    const client = new Client(provider);
    const runtime = await runtimeOn(provider);
    await client.startOrchestration('i', 'Wait');
    await waitFor('it waits', () => provider.statusOf('i') === 'Running');
    const ack = provider.ackOrchestrationItems.bind(provider);
    let release = () => {};
    let holding = false;
    provider.ackOrchestrationItems = async (turns) => {
      if (!holding) {
        holding = true;
        await new Promise<void>((resolve) => (release = resolve));
      }
      return ack(turns);
    };
    await client.enqueueEvent('i', 'box', 'a turn that changes little');
    await waitFor('the turn is being acknowledged', () => holding);
    await client.raiseEvent('i', 'go', 'in between');
    await waitFor('the dispatcher has looked in vain', () => {
      return provider.orchestratorQueue.some(({ token }) => token === null);
    });
    release();
    expect(await client.waitForOrchestrationTyped('i')).toBe('in between');
    expect(runtime.metricsSnapshot()?.orchCompletions).toBe(1);
  });
});

describe('what a look had to leave is looked for again', () => {
  const manyAtOnce: Handlers = {
    activities: { Echo: (_ctx, input) => input, Where: (ctx) => ctx.sessionId },
    orchestrations: {
      *Many(ctx, count) {
        return (yield ctx.all(Array.from({ length: count }, (_, i) => ctx.scheduleActivity('Echo', i)))).length;
      },
      *Sessions(ctx, count) {
        const sessions = Array.from({ length: count }, (_, i) => `s${i}`);
        return (yield ctx.all(sessions.map((session) => ctx.scheduleActivityOnSession('Where', null, session)))).length;
      },
    },
  };

  test('more handlers end at once than may wait for their acknowledgement', async () => {
    const provider = new MemoryProvider(new SystemClock());
    await runtimeOn(provider, manyAtOnce, { workerConcurrency: 1_000 });
    const client = new Client(provider);
    await client.startOrchestration('i', 'Many', 1_001);
    expect(await client.waitForOrchestrationTyped('i', 10_000)).toBe(1_001);
  });

  test('R:ST-06 sessions that were one too many follow as soon as others are done', async () => {
    const provider = new MemoryProvider(new SystemClock());
    await runtimeOn(provider, manyAtOnce, { maxSessionsPerRuntime: 2 });
    const client = new Client(provider);
    await client.startOrchestration('i', 'Sessions', 7);
    expect(await client.waitForOrchestrationTyped('i', 10_000)).toBe(7);
  });
});

describe('between processes, on PostgreSQL', () => {
  async function store() {
    const schema = uniqueSchema('wake');
    stops.push(() => dropSchema(schema));
    const open = async () => {
      const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
      stops.push(() => provider.close());
      return provider;
    };
    return { schema, open };
  }
  const listens = (provider: DrizzleProvider) => waitFor('it listens', () => provider.wakeUps().listening);

  test('C-14 eight starts in one transaction wake the slots of two processes with polling off', async () => {
    const { open } = await store();
    const workers = [await open(), await open()];
    const started: string[] = [];
    const ends: (() => void)[] = [];
    for (const provider of workers) {
      await runtimeOn(
        provider,
        {
          activities: {
            Hold: (ctx) => {
              started.push(ctx.instanceId);
              return new Promise<void>((resolve) => ends.push(resolve));
            },
          },
          orchestrations: {
            *Hold(ctx) {
              return yield ctx.scheduleActivity('Hold');
            },
          },
        },
        { workerConcurrency: 4, orchestrationConcurrency: 4 },
      );
      await listens(provider);
    }
    const outside = await open();
    const items = Array.from({ length: 8 }, (_, i) => ({
      item: {
        kind: 'StartOrchestration',
        instance: `i${i}`,
        orchestration: 'Hold',
        input: 'null',
        version: null,
        parentInstance: null,
        parentId: null,
        executionId: 1,
      } as const,
    }));
    await outside.enqueueForOrchestrator(items);
    await waitFor('all eight run', () => started.length === 8, { state: () => started });
    for (const end of ends) end();
    const client = new Client(outside);
    await Promise.all(items.map(({ item }) => client.waitForOrchestration(item.instance)));
  });

  test('enqueues faster than the throttle leave nothing waiting', async () => {
    const { open } = await store();
    const worker = await open();
    await runtimeOn(worker);
    await listens(worker);
    const client = new Client(await open());
    for (let i = 0; i < 40; i++) await client.startOrchestration(`i${i}`, 'Echo', i);
    const outputs = await Promise.all(Array.from({ length: 40 }, (_, i) => client.waitForOrchestrationTyped(`i${i}`)));
    expect(outputs).toEqual(Array.from({ length: 40 }, (_, i) => i));
  });

  test('C-13 a listener whose backend is terminated comes back and fetches once', async () => {
    const { open } = await store();
    const worker = await open();
    await runtimeOn(worker);
    await listens(worker);
    const pids = await listeningPids();
    await withClient((client) =>
      client.query('select pg_terminate_backend(pid) from unnest($1::int[]) as p(pid)', [pids]),
    );
    await waitFor('it notices', async () => (await listeningPids()).every((pid) => !pids.includes(pid)));
    const client = new Client(await open());
    await client.startOrchestration('while deaf', 'Echo', 1);
    expect(await client.waitForOrchestrationTyped('while deaf')).toBe(1);
    await listens(worker);
    await client.startOrchestration('again', 'Echo', 2);
    expect(await client.waitForOrchestrationTyped('again')).toBe(2);
  });

  async function listeningPids(): Promise<number[]> {
    return withClient(async (client) => {
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and query ilike 'listen%'`,
      );
      return rows.map(({ pid }) => pid);
    });
  }

  test('an activity of a session that another process owns wakes that one', async () => {
    const { open, schema } = await store();
    const [a, b] = [await open(), await open()];
    const handlers: Handlers = {
      activities: { Where: (ctx) => ctx.workerId },
      orchestrations: {
        *Where(ctx) {
          return yield ctx.scheduleActivityOnSession('Where', null, 'of-b');
        },
      },
    };
    await runtimeOn(a, handlers, { workerNodeId: 'a' });
    await runtimeOn(b, handlers, { workerNodeId: 'b', orchestrationConcurrency: 0 });
    await listens(a);
    await listens(b);
    await withClient((client) =>
      client.query(`insert into ${schema}.sessions values ('of-b', 'b', $1, $2)`, [b.nowMs() + 600_000, b.nowMs()]),
    );
    const client = new Client(a);
    await client.startOrchestration('i', 'Where');
    expect(await client.waitForOrchestrationTyped('i', 10_000)).toMatch(/-b$/);
  });

  test('an activity that this process leaves to others wakes them', async () => {
    const { open } = await store();
    const [a, b] = [await open(), await open()];
    const handlers: Handlers = {
      activities: { Where: (ctx) => ctx.workerId },
      orchestrations: {
        *Tagged(ctx) {
          return yield ctx.scheduleActivity('Where').withTag('gpu');
        },
      },
    };
    await runtimeOn(a, handlers, { workerNodeId: 'plain' });
    await runtimeOn(b, handlers, {
      workerNodeId: 'gpu',
      workerTagFilter: { tags: ['gpu'] },
      orchestrationConcurrency: 0,
    });
    await listens(a);
    await listens(b);
    const client = new Client(a);
    await client.startOrchestration('i', 'Tagged');
    expect(await client.waitForOrchestrationTyped('i')).toMatch(/-gpu$/);
  });
});
