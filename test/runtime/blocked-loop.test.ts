import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { bundledProgram } from '../support/bundled-program.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { LineProcess } from '../support/line-process.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { waitFor } from '../support/runtime-harness.js';

/** Short, so that a lock that nobody renews ends soon. */
const LOCK_MS = 1_000;
const LOCKS = { orchestratorLockTimeoutMs: LOCK_MS, workerLockTimeoutMs: LOCK_MS };
const PLACES = ['activity', 'turn'] as const;
type Where = (typeof PLACES)[number];

let program: { readonly file: string; remove(): Promise<void> };
beforeAll(async () => {
  program = await bundledProgram('test/runtime/programs/blocked-loop.ts');
});
afterAll(() => program.remove());

let cleanUps: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

class Scene {
  readonly schema = uniqueSchema('blocked');
  provider!: DrizzleProvider;
  client!: Client;
  blocked!: LineProcess;
  private releaseFile = '';
  private readonly ran: string[] = [];

  async set(
    where: Where,
    options: object,
    { storedFunctions = false, via = 'url', run = where === 'turn' ? 'BlockTurn' : 'BlockActivity' } = {},
  ): Promise<void> {
    const folder = await mkdtemp(path.join(tmpdir(), 'ddz-blocked-'));
    this.releaseFile = path.join(folder, 'release');
    cleanUps.push(
      () => rm(folder, { recursive: true }),
      () => dropSchema(this.schema),
    );
    this.provider = await DrizzleProvider.connect(databaseUrl(), { schema: this.schema, logger: silentLogger });
    cleanUps.push(() => this.provider.close());
    if (storedFunctions) await this.provider.migrate({ storedFunctions: true });
    const { schema, releaseFile } = this;
    const job = { url: databaseUrl(), schema, releaseFile, storedFunctions, via, options };
    this.blocked = new LineProcess([program.file, JSON.stringify(job)]);
    cleanUps.push(() => this.blocked.kill());
    this.client = new Client(this.provider);
    await this.blocked.line('the runtime starts', (line) => line['started'] === true);
    await this.client.startOrchestration('blocked', run, 'x');
    await this.blocked.line('it is blocked', (line) => line['blocked'] === where);
  }

  /** A healthy runtime that takes whatever is not locked. */
  async startNeighbour(): Promise<void> {
    const runtime = new Runtime(this.provider, { logger: silentLogger, logLevel: 'off', ...LOCKS });
    const { ran } = this;
    runtime.registerActivity('Block', () => {
      ran.push('activity');
      return 'by the neighbour';
    });
    runtime.registerOrchestration('BlockActivity', function* (ctx) {
      return yield ctx.scheduleActivity('Block');
    });
    runtime.registerOrchestration('BlockTurn', function* (_ctx, name: string) {
      ran.push('turn');
      return `${name}: by the neighbour`;
    });
    runtime.registerOrchestration('Neighbour', function* () {
      return 'fine';
    });
    await runtime.start();
    cleanUps.push(() => runtime.shutdown(0));
  }

  neighbourRan(): readonly string[] {
    return this.ran;
  }

  async lockedUntilMs(where: Where): Promise<number> {
    const table = where === 'turn' ? 'instance_locks' : 'worker_queue';
    const { rows } = await withClient((client) =>
      client.query<{ at: string | null }>(`select locked_until as at from ${this.schema}.${table}`),
    );
    return Number(rows[0]?.at ?? 0);
  }

  release(): Promise<void> {
    return writeFile(this.releaseFile, '');
  }

  /** How often each event of the instance is there. */
  async events(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { kind } of await this.provider.read('blocked')) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }
}

const ONCE = {
  activity: { OrchestrationStarted: 1, ActivityScheduled: 1, ActivityCompleted: 1, OrchestrationCompleted: 1 },
  turn: { OrchestrationStarted: 1, OrchestrationCompleted: 1 },
};

describe('C-04 C-05 a blocked event loop, locks renewed by the event loop', () => {
  test.each(PLACES)('%s: the lock ends, another worker does it, and the late write is refused', async (where) => {
    const scene = new Scene();
    await scene.set(where, LOCKS);
    await scene.startNeighbour();
    const { output } = await scene.client.waitForOrchestration('blocked', 60_000);
    expect(output).toContain('by the neighbour');
    expect(scene.neighbourRan()).toEqual([where]);
    const before = await scene.events();
    await scene.release();
    await scene.blocked.line('the late renewal is noticed', (line) =>
      String(line['message']).includes('event loop was blocked'),
    );
    const lines = await scene.blocked.end();
    expect(await scene.events()).toEqual(before);
    expect(before).toEqual(ONCE[where]);
    expect(lines.at(-1)).toMatchObject({ metrics: { lateRenewals: 1 } });
    expect((await scene.client.getStatus('blocked')).status).toBe('Completed');
  });
});

describe('C-05 a blocked event loop, locks renewed from a thread', () => {
  const threaded = { ...LOCKS, lockRenewal: 'worker-thread' };
  const cases = [
    ...PLACES.map((where) => ({ where, storedFunctions: false })),
    { where: 'activity' as const, storedFunctions: true },
  ];
  test.each(cases)(
    '$where, stored functions $storedFunctions: nobody else takes it, and its result counts',
    async ({ where, storedFunctions }) => {
      const scene = new Scene();
      await scene.set(where, threaded, { storedFunctions });
      await scene.startNeighbour();
      const firstMs = await scene.lockedUntilMs(where);
      await waitFor(
        'the lock lives on far beyond its first end',
        async () => (await scene.lockedUntilMs(where)) > firstMs + LOCK_MS,
      );
      // The neighbour looks all the time: it does what is not locked.
      await scene.client.startOrchestration('other', 'Neighbour');
      expect(await scene.client.waitForOrchestrationTyped('other', 60_000)).toBe('fine');
      expect(scene.neighbourRan()).toEqual([]);
      await scene.release();
      const { output } = await scene.client.waitForOrchestration('blocked', 60_000);
      expect(output).toContain('by the one that was blocked');
      expect(await scene.events()).toEqual(ONCE[where]);
      const lines = await scene.blocked.end();
      expect(lines.at(-1)).toMatchObject({ metrics: { locksLost: 0 } });
      expect(scene.neighbourRan()).toEqual([]);
    },
  );

  test.each(['pool', 'postgres-js'])('connected by a %s of the application: likewise', async (via) => {
    const scene = new Scene();
    await scene.set('activity', threaded, { via });
    await scene.startNeighbour();
    const firstMs = await scene.lockedUntilMs('activity');
    await waitFor('the lock lives on', async () => (await scene.lockedUntilMs('activity')) > firstMs + LOCK_MS);
    await scene.release();
    const { output } = await scene.client.waitForOrchestration('blocked', 60_000);
    expect(output).toBe('by the one that was blocked');
    expect(scene.neighbourRan()).toEqual([]);
    await scene.blocked.end();
  });

  test('its session stays its own, too', async () => {
    const scene = new Scene();
    await scene.set('activity', { ...threaded, sessionLockTimeoutMs: LOCK_MS }, { run: 'BlockSession' });
    const heldUntilMs = async () =>
      withClient(async (client) => {
        const { rows } = await client.query<{ at: string }>(`select locked_until as at from ${scene.schema}.sessions`);
        return Number(rows[0]?.at ?? 0);
      });
    const firstMs = await heldUntilMs();
    await waitFor('the session is renewed', async () => (await heldUntilMs()) > firstMs + LOCK_MS);
    await scene.release();
    expect((await scene.client.waitForOrchestration('blocked', 60_000)).output).toBe('by the one that was blocked');
    await scene.blocked.end();
  });

  test('one that hangs for too long gives its locks up', async () => {
    const scene = new Scene();
    await scene.set('activity', { ...threaded, maxEventLoopBlockMs: 2_000 });
    await scene.startNeighbour();
    const { output } = await scene.client.waitForOrchestration('blocked', 60_000);
    expect(output).toContain('by the neighbour');
    await scene.release();
    const lines = await scene.blocked.end();
    expect(lines.map((line) => line['message'])).toContain(
      'the event loop has not answered for too long: its locks are no longer renewed',
    );
    expect(scene.neighbourRan()).toEqual(['activity']);
    expect(await scene.events()).toEqual(ONCE.activity);
  });
});

describe("lockRenewal: 'worker-thread' where it cannot be had", () => {
  async function startError(provider: ConstructorParameters<typeof Runtime>[0]): Promise<unknown> {
    const runtime = new Runtime(provider, { logger: silentLogger, lockRenewal: 'worker-thread' });
    return runtime.start().then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  test('is refused on PGlite, by name', async () => {
    const provider = await DrizzleProvider.embedded({ logger: silentLogger });
    cleanUps.push(() => provider.close());
    expect(await startError(provider)).toMatchObject({
      name: 'UnsupportedError',
      message: expect.stringMatching(/on this database \(pglite\).*'event-loop'/),
    });
    // The same runtime works without it.
    const runtime = new Runtime(provider, { logger: silentLogger });
    await runtime.start();
    await runtime.shutdown();
  });

  test('is refused with a provider that has no such thread', async () => {
    expect(await startError(new MemoryProvider(new FakeClock()))).toMatchObject({ name: 'UnsupportedError' });
  });

  test('is refused with a clock that another thread cannot have', async () => {
    const schema = uniqueSchema('blocked');
    const provider = await DrizzleProvider.connect(databaseUrl(), {
      schema,
      logger: silentLogger,
      clock: new FakeClock(),
    });
    cleanUps.push(
      () => dropSchema(schema),
      () => provider.close(),
    );
    expect(await startError(provider)).toMatchObject({ message: expect.stringContaining('FakeClock') });
  });

  test('anything else than the two names is refused', () => {
    const provider = new MemoryProvider(new FakeClock());
    expect(() => new Runtime(provider, { lockRenewal: 'thread' as never })).toThrow(
      /lockRenewal must be 'event-loop' or 'worker-thread'/,
    );
  });
});
