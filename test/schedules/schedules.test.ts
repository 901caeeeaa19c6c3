import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { UnsupportedError } from '../../src/provider/provider-error.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { ScheduleLoop } from '../../src/runtime/schedule-loop.js';
import { ScheduleError } from '../../src/schedule/definition.js';
import { orchestration } from '../../src/typed/definitions.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { waitFor } from '../support/waiting.js';

const NOON = Date.parse('2026-03-28T12:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const report = orchestration('report', async (_ctx, input: { readonly kind: string }) => input.kind);
const waiting = orchestration('waiting', async (ctx) => ctx.waitForEvent<string>('go'));

describe.each([
  ['PostgreSQL', (options: object) => DrizzleProvider.connect(databaseUrl(), { ...options, maxConnections: 4 })],
  ['PGlite', (options: object) => DrizzleProvider.embedded(options)],
] as const)('schedules on %s', (name, open) => {
  const schema = uniqueSchema('sched');
  const clock = new FakeClock(NOON);
  let provider: DrizzleProvider;
  let client: Client;

  beforeAll(async () => {
    provider = await open({ schema, clock, logger: silentLogger });
    client = new Client(provider);
  });
  afterEach(async () => {
    for (const { id } of await client.schedules.list()) await client.schedules.delete(id);
    await provider.fetchOrchestrationItems({ limit: 100, lockTimeoutMs: 1 });
    clock.set(NOON);
  });
  afterAll(async () => {
    await provider.close();
    if (name === 'PostgreSQL') await dropSchema(schema);
  });

  /** A runtime whose loops are stepped by hand, on a provider of its own where there can be two. */
  function stepped(on = provider) {
    const runtime = new Runtime(on, { clock, logger: silentLogger, logLevel: 'off' });
    runtime.register(report, waiting);
    const { core, parts } = runtime['prepare']();
    const loop = new ScheduleLoop(core, on.schedules());
    const settle = async () => {
      while ((await parts.orchestrations.runOnce()).fetched > 0);
    };
    return { loop, settle };
  }

  const instances = async (prefix: string) =>
    (await client.listAllInstances()).filter((id) => id.startsWith(`${prefix}@`)).sort();
  const at = (iso: string) => clock.set(Date.parse(iso));

  test('each fire time starts one instance, with the input, and the next time is known', async () => {
    const { loop, settle } = stepped();
    const created = await client.schedules.create({
      id: 'nightly',
      orchestration: report,
      input: { kind: 'sales' },
      cron: '0 2 * * *',
      timeZone: 'Europe/Berlin',
    });
    expect(created).toMatchObject({
      orchestration: 'report',
      input: { kind: 'sales' },
      cron: '0 2 * * *',
      timeZone: 'Europe/Berlin',
      catchUp: 'one',
      overlap: 'allow',
      isPaused: false,
      nextFireAt: new Date('2026-03-29T01:00:00Z'),
      lastFireAt: null,
    });
    at('2026-03-29T00:59:59.999Z');
    expect(await loop.look()).toBe(Date.parse('2026-03-29T01:00:00Z'));
    expect(await instances('nightly')).toEqual([]);
    // The clocks of Berlin go from 02:00 to 03:00 at this moment.
    at('2026-03-29T01:00:00.000Z');
    expect(await loop.look()).toBe(Date.parse('2026-03-30T00:00:00Z'));
    await settle();
    expect(await instances('nightly')).toEqual(['nightly@2026-03-29T01:00:00.000Z']);
    expect(await client.waitForOrchestrationTyped('nightly@2026-03-29T01:00:00.000Z')).toBe('sales');
    expect(await client.schedules.get('nightly')).toMatchObject({
      firedCount: 1,
      lastFireAt: new Date('2026-03-29T01:00:00Z'),
      lastInstanceId: 'nightly@2026-03-29T01:00:00.000Z',
      nextFireAt: new Date('2026-03-30T00:00:00Z'),
    });
  });

  // What the database has to do with it is the same on both; the other one is slow.
  if (name === 'PostgreSQL')
    test.each([
      ['Europe/Berlin', '2026-10-24T20:00:00Z', 25, '2026-10-25'],
      ['America/New_York', '2026-10-31T20:00:00Z', 25, '2026-11-01'],
      ['Europe/Berlin', '2026-03-28T20:00:00Z', 23, '2026-03-29'],
      ['America/New_York', '2026-03-07T20:00:00Z', 23, '2026-03-08'],
    ])(
      'a day in %s when the clocks change: a daily one fires once, an hourly one in each of %s hours',
      async (zone, from, hours, day) => {
        at(from);
        const { loop, settle } = stepped();
        const id = `day ${zone} ${day}`;
        const isDay = (ms: number) => new Date(ms).toLocaleDateString('sv-SE', { timeZone: zone }) === day;
        await client.schedules.create({
          id: `${id} daily`,
          orchestration: report,
          input: { kind: 'd' },
          cron: '30 2 * * *',
          timeZone: zone,
        });
        await client.schedules.create({
          id: `${id} hourly`,
          orchestration: report,
          input: { kind: 'h' },
          cron: '30 * * * *',
          timeZone: zone,
        });
        for (
          let next = await loop.look();
          next !== null && next < Date.parse(from) + 48 * HOUR_MS;
          next = await loop.look()
        ) {
          clock.set(next);
        }
        await settle();
        const fired = async (kind: string) =>
          (await instances(`${id} ${kind}`)).filter((instance) => isDay(Date.parse(instance.split('@')[1] ?? '')));
        expect(await fired('daily')).toHaveLength(1);
        expect(await fired('hourly')).toHaveLength(hours);
      },
    );

  test.each([
    ['one', {}, ['17:00']],
    ['all', {}, ['13:00', '14:00', '15:00', '16:00', '17:00']],
    ['all', { maxCatchUp: 2 }, ['16:00', '17:00']],
    ['skip', {}, []],
    ['skip', { graceMs: 30 * MINUTE_MS }, ['17:00']],
  ] as const)('nobody was there for five fire times: %s %j', async (catchUp, options, expected) => {
    const { loop, settle } = stepped();
    await client.schedules.create({
      id: 'late',
      orchestration: report,
      input: { kind: catchUp },
      everyMs: HOUR_MS,
      catchUp,
      ...options,
    });
    at('2026-03-28T17:20:00Z');
    const before = new Set(await instances('late'));
    expect(await loop.look()).toBe(Date.parse('2026-03-28T18:00:00Z'));
    const { firedCount } = await client.schedules.get('late');
    expect(firedCount).toBe(expected.length);
    await settle();
    for (const time of expected) before.add(`late@2026-03-28T${time}:00.000Z`);
    expect(await instances('late')).toEqual([...before].sort());
  });

  test("overlap 'skip': nothing is started while the last one runs or waits to begin; then it goes on", async () => {
    const { loop, settle } = stepped();
    await client.schedules.create({ id: 'alone', orchestration: waiting, everyMs: MINUTE_MS, overlap: 'skip' });
    clock.advance(MINUTE_MS);
    await loop.look();
    // Its start message waits: no runtime has taken it.
    clock.advance(MINUTE_MS);
    await loop.look();
    await settle();
    clock.advance(MINUTE_MS);
    await loop.look();
    expect(await instances('alone')).toHaveLength(1);
    expect(await client.schedules.get('alone')).toMatchObject({ firedCount: 1, overlapCount: 2 });
    const [first = ''] = await instances('alone');
    await client.raiseEvent(first, 'go', 'on');
    await settle();
    clock.advance(MINUTE_MS);
    await loop.look();
    await settle();
    expect(await instances('alone')).toHaveLength(2);
  });

  test('pause, resume, update, trigger, delete, list', async () => {
    const { loop, settle } = stepped();
    const { schedules } = client;
    await schedules.create({ id: 'b', orchestration: 'report', input: { kind: 'b' }, everyMs: HOUR_MS, paused: true });
    await schedules.create({ id: 'a', orchestration: report, input: { kind: 'a' }, everyMs: HOUR_MS });
    expect((await schedules.list()).map(({ id, isPaused }) => [id, isPaused])).toEqual([
      ['a', false],
      ['b', true],
    ]);
    await schedules.pause('a');
    clock.advance(3 * HOUR_MS + 1);
    expect(await loop.look()).toBeNull();
    await schedules.resume('a');
    // What came due during the pause is left out; an interval keeps its beat.
    expect((await schedules.get('a')).nextFireAt).toEqual(new Date(NOON + 4 * HOUR_MS));
    await schedules.update('a', { input: { kind: 'changed' }, overlap: 'skip' });
    expect(await schedules.get('a')).toMatchObject({
      input: { kind: 'changed' },
      overlap: 'skip',
      nextFireAt: new Date(NOON + 4 * HOUR_MS),
    });
    await schedules.update('a', { cron: '15 16 * * *', timeZone: 'Asia/Kolkata' });
    expect(await schedules.get('a')).toMatchObject({ everyMs: null, nextFireAt: new Date('2026-03-29T10:45:00Z') });
    await schedules.update('a', { cron: '30 16 * * *' });
    expect(await schedules.get('a')).toMatchObject({
      timeZone: 'Asia/Kolkata',
      nextFireAt: new Date('2026-03-29T11:00:00Z'),
    });
    const instance = await schedules.trigger('b');
    await settle();
    expect(await client.waitForOrchestrationTyped(instance)).toBe('b');
    expect(await schedules.get('b')).toMatchObject({ isPaused: true, lastInstanceId: instance, firedCount: 1 });
    const same = await schedules.create({
      id: 'a',
      orchestration: report,
      input: { kind: 'again' },
      cron: '30 16 * * *',
      timeZone: 'Asia/Kolkata',
      ifExists: 'update',
    });
    expect(same).toMatchObject({ input: { kind: 'again' }, nextFireAt: new Date('2026-03-29T11:00:00Z') });
    expect(await schedules.delete('b')).toBe(true);
    expect(await schedules.delete('b')).toBe(false);
    expect((await schedules.list()).map(({ id }) => id)).toEqual(['a']);
  });

  test('bad input gives an error that names the schedule, what was given and what was expected; nothing is stored', async () => {
    const { schedules } = client;
    const valid = { id: 'bad', orchestration: 'report', everyMs: HOUR_MS };
    const cases: readonly [options: object, says: RegExp][] = [
      [{ id: '' }, /non-empty string/],
      [{ id: 'x'.repeat(1_000) }, /beginning of an instance id/],
      [{ everyMs: undefined }, /schedule 'bad': expected either cron or everyMs, got neither/],
      [{ cron: '* * * * *' }, /got both/],
      [{ everyMs: 10 }, /at least 1000, got 10/],
      [{ everyMs: undefined, cron: 'every day' }, /cron 'every day' is not understood/],
      [{ everyMs: undefined, cron: '0 0 30 2 *' }, /never fires/],
      [
        { everyMs: undefined, cron: '* * * * *', timeZone: 'Mars/Phobos' },
        /IANA name such as 'Europe\/Berlin', got 'Mars\/Phobos'/,
      ],
      [{ timeZone: 'UTC' }, /timeZone means nothing with everyMs/],
      [{ catchUp: 'some' }, /'one', 'all' or 'skip', got 'some'/],
      [{ overlap: 'queue' }, /'allow' or 'skip', got 'queue'/],
      [{ maxCatchUp: 0 }, /from 1 to 1000, got 0/],
      [{ graceMs: -1 }, /at least 0, got -1/],
      [{ ifExists: 'use' }, /'error' or 'update', got 'use'/],
      [{ orchestration: undefined }, /expected an orchestration/],
    ];
    for (const [options, says] of cases) {
      const refused = await schedules.create({ ...valid, ...options }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ScheduleError);
      expect((refused as Error).message).toMatch(says);
    }
    expect(await schedules.list()).toEqual([]);
    await schedules.create(valid);
    await expect(schedules.create(valid)).rejects.toThrow(/schedule 'bad': it exists already/);
    const calls = [
      () => schedules.get('none'),
      () => schedules.pause('none'),
      () => schedules.resume('none'),
      () => schedules.trigger('none'),
      () => schedules.update('none', {}),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(/schedule 'none': there is no schedule/);
    await expect(schedules.update('bad', { cron: 'x' })).rejects.toThrow(/is not understood/);
    expect((await schedules.get('bad')).everyMs).toBe(HOUR_MS);
  });
});

describe('schedules and several processes on one PostgreSQL', () => {
  const schema = uniqueSchema('sched');
  let providers: DrizzleProvider[] = [];
  afterAll(async () => {
    for (const provider of providers) await provider.close();
    providers = [];
    await dropSchema(schema);
  });

  test('of five runtimes that look at the same moment one fires each time, and a repetition is a no-op', async () => {
    const clock = new FakeClock(NOON);
    for (let i = 0; i < 5; i++) {
      providers.push(
        await DrizzleProvider.connect(databaseUrl(), { schema, clock, logger: silentLogger, maxConnections: 2 }),
      );
    }
    const loops = providers.map((provider) => {
      const runtime = new Runtime(provider, { clock, logger: silentLogger, logLevel: 'off' });
      runtime.register(report);
      const { core, parts } = runtime['prepare']();
      return { loop: new ScheduleLoop(core, provider.schedules()), parts };
    });
    const client = new Client(providers[0] as DrizzleProvider);
    for (let i = 0; i < 4; i++) {
      await client.schedules.create({ id: `s${i}`, orchestration: report, input: { kind: 'x' }, everyMs: MINUTE_MS });
    }
    for (let round = 0; round < 5; round++) {
      clock.advance(MINUTE_MS);
      await Promise.all(loops.map(({ loop }) => loop.look()));
    }
    // As after a restore of the schedules from a backup: the same fire times come again.
    await withClient((connection) =>
      connection.query(`update "${schema}".ddz_schedules set next_fire_ms = $1`, [NOON + MINUTE_MS]),
    );
    await loops[0]?.loop.look();
    while ((await loops[0]?.parts.orchestrations.runOnce())?.fetched);
    const started = await client.listAllInstances();
    expect(started).toHaveLength(4 * 5);
    for (const id of started) expect(await client.listExecutions(id)).toEqual([1]);
  });

  test('a runtime fires by itself, learns of a schedule that another process creates, and goes on after a restart', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(() => DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger, maxConnections: 3 })),
    );
    if (!first || !second) throw new Error('no providers');
    providers.push(first, second);
    const start = async () => {
      const runtime = new Runtime(first, { logger: silentLogger, logLevel: 'off' });
      runtime.register(report);
      await runtime.start();
      return runtime;
    };
    const client = new Client(second);
    const fired = async () => (await client.schedules.get('live')).firedCount;
    let runtime = await start();
    await waitFor('it listens', () => first.wakeUps().listening);
    await client.schedules.create({ id: 'live', orchestration: report, input: { kind: 'live' }, everyMs: 1_000 });
    await waitFor('it fires', fired, (count) => count >= 1);
    await runtime.shutdown();
    const before = await fired();
    runtime = await start();
    await waitFor('it fires again', fired, (count) => count > before);
    const { lastInstanceId } = await client.schedules.get('live');
    expect(await client.waitForOrchestrationTyped(lastInstanceId ?? '')).toBe('live');
    await runtime.shutdown();
  });

  test('a schedule that cannot be understood is paused with the reason, and the others fire', async () => {
    const clock = new FakeClock(Date.now());
    const provider = await DrizzleProvider.connect(databaseUrl(), {
      schema,
      clock,
      logger: silentLogger,
      maxConnections: 2,
    });
    providers.push(provider);
    const client = new Client(provider);
    for (const id of ['broken', 'whole']) {
      await client.schedules.create({ id, orchestration: report, input: { kind: id }, cron: '* * * * *' });
    }
    await withClient((connection) =>
      connection.query(`update "${schema}".ddz_schedules set cron = 'nonsense' where schedule_id = 'broken'`),
    );
    const runtime = new Runtime(provider, { clock, logger: silentLogger, logLevel: 'off' });
    const loop = new ScheduleLoop(runtime['prepare']().core, provider.schedules());
    clock.advance(MINUTE_MS);
    await loop.look();
    expect(await client.schedules.get('whole')).toMatchObject({ firedCount: 1, isPaused: false });
    const broken = await client.schedules.get('broken');
    expect(broken).toMatchObject({ firedCount: 0, isPaused: true, nextFireAt: null });
    expect(broken.problem).toContain('nonsense');
  });

  test('without the table a clear error says how to get it; runtimes run on', async () => {
    const bare = uniqueSchema('sched');
    const provider = await DrizzleProvider.connect(databaseUrl(), {
      schema: bare,
      logger: silentLogger,
      maxConnections: 3,
    });
    try {
      await withClient((connection) => connection.query(`drop table "${bare}".ddz_schedules`));
      const client = new Client(provider);
      const refused = client.schedules.create({ id: 'x', orchestration: 'report', everyMs: HOUR_MS });
      await expect(refused).rejects.toBeInstanceOf(UnsupportedError);
      await expect(refused).rejects.toThrow(/no table ddz_schedules; run .*adoptTables: true/);
      const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
      runtime.register(report);
      await runtime.start();
      await client.start(report, { kind: 'runs on' }, { id: 'i' });
      expect(await client.waitForOrchestrationTyped('i')).toBe('runs on');
      expect(runtime.metricsSnapshot()?.providerErrors).toBe(0);
      await runtime.shutdown();
    } finally {
      await provider.close();
      await dropSchema(bare);
    }
  });
});

test('a store without schedules says so', async () => {
  const client = new Client(new MemoryProvider());
  await expect(client.schedules.list()).rejects.toThrow(/keeps no schedules/);
});

test('while nothing is due a runtime asks once in half a minute at most', async () => {
  const clock = new FakeClock(NOON);
  const stop = new AbortController();
  let looks = 0;
  const store = {
    fireDue: async () => {
      looks += 1;
      return { started: [], nextFireMs: null };
    },
    onChanged: () => () => {},
  };
  const provider = new MemoryProvider(clock);
  const core = { clock, provider, logger: silentLogger, metrics: {}, stopping: stop.signal, random: () => 0 };
  const running = new ScheduleLoop(core as never, store as never).run();
  for (let second = 0; second < 300; second++) {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1_000);
  }
  expect(looks).toBe(10);
  stop.abort();
  await running;
});
