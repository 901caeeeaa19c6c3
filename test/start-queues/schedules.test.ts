import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { StartQueueError } from '../../src/client/start-queue-limits.js';
import { UnsupportedError } from '../../src/provider/provider-error.js';
import { decideFire } from '../../src/schedule/decide.js';
import { ScheduleError } from '../../src/schedule/definition.js';
import { dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { echo, held, openProcess, type Process } from './support.js';

const NOON = Date.parse('2026-03-28T12:00:00Z');
const MINUTE_MS = 60_000;
const idOf = (minute: number) => `s@2026-03-28T12:0${minute}:00.000Z`;

describe('a schedule with a start queue', () => {
  const schema = uniqueSchema('schedq');
  const clock = new FakeClock(NOON);
  let p: Process;
  let other: Process;

  beforeAll(async () => {
    p = await openProcess(schema, clock);
    other = await openProcess(schema, clock);
  });
  afterEach(async () => {
    await p.settle();
    for (const { id } of await p.client.schedules.list()) await p.client.schedules.delete(id);
    for (const { id } of await p.client.startQueues.list())
      await p.client.startQueues.delete(id, { waiting: 'discard' });
    for (const id of await p.client.listAllInstances()) await p.client.deleteInstance(id, true);
    clock.set(NOON);
  });
  afterAll(async () => {
    await p.provider.close();
    await other.provider.close();
    await dropSchema(schema);
  });

  const create = (options: object = {}) =>
    p.client.schedules.create({ id: 's', orchestration: held, everyMs: MINUTE_MS, queue: 'q', ...options });
  const fire = (process = p) => process.provider.schedules().fireDue(decideFire);
  const started = async () => {
    await p.settle();
    return (await p.client.listAllInstances()).sort();
  };
  const end = async (id: string) => {
    await p.client.raiseEvent(id, 'go', 'on');
    await p.settle();
    clock.advance(1_000);
    await p.loop.look();
  };

  test('fires into the queue, once for all processes; limits hold, by key and priority', async () => {
    await p.client.startQueues.create({ id: 'q', concurrencyPerKey: 1 });
    expect(await create({ key: 'ann', priority: 7, catchUp: 'all' })).toMatchObject({
      queue: 'q',
      key: 'ann',
      priority: 7,
    });
    clock.advance(2 * MINUTE_MS);
    const fired = await Promise.all([fire(), fire(other), fire(), fire(other)]);
    expect(fired.flatMap(({ started: ids }) => ids).sort()).toEqual([idOf(1), idOf(2)]);
    // Nothing went past the queue.
    expect(await started()).toEqual([]);
    expect(await p.client.startQueues.get('q')).toMatchObject({ waiting: 2, running: 0 });
    await withClient(async (pg) => {
      const { rows } = await pg.query(`select distinct start_key, priority from ${schema}.ddz_queued_starts`);
      expect(rows).toEqual([{ start_key: 'ann', priority: 7 }]);
    });
    await Promise.all([p.loop.look(), other.loop.look()]);
    expect(await started()).toEqual([idOf(1)]);
    await end(idOf(1));
    expect(await started()).toEqual([idOf(1), idOf(2)]);
    expect(await p.client.schedules.get('s')).toMatchObject({ firedCount: 2, lastInstanceId: idOf(2) });
  });

  test('a fire that is rolled back leaves nothing in the queue', async () => {
    await p.client.startQueues.create({ id: 'q' });
    await create();
    clock.advance(MINUTE_MS);
    // The update of the schedule fails, behind its start.
    await withClient((pg) =>
      pg.query(`alter table ${schema}.ddz_schedules add constraint no_fire check (fired_count = 0)`),
    );
    await expect(fire()).rejects.toThrow();
    expect(await p.client.startQueues.get('q')).toMatchObject({ waiting: 0 });
    await withClient((pg) => pg.query(`alter table ${schema}.ddz_schedules drop constraint no_fire`));
    await fire();
    expect(await p.client.startQueues.get('q')).toMatchObject({ waiting: 1 });
  });

  test("overlap 'skip': one that waits in the queue counts as running", async () => {
    await p.client.startQueues.create({ id: 'q', paused: true });
    await create({ overlap: 'skip' });
    for (let minute = 0; minute < 3; minute++) {
      clock.advance(MINUTE_MS);
      await fire();
    }
    expect(await p.client.schedules.get('s')).toMatchObject({ firedCount: 1, overlapCount: 2 });
    await p.client.startQueues.resume('q');
    await p.loop.look();
    expect(await started()).toEqual([idOf(1)]);
    await end(idOf(1));
    clock.advance(MINUTE_MS);
    await fire();
    expect(await p.client.schedules.get('s')).toMatchObject({ firedCount: 2 });
  });

  test('trigger goes through it, too; an update changes it, keeps it, or takes it away', async () => {
    await p.client.startQueues.create({ id: 'q' });
    await p.client.startQueues.create({ id: 'r' });
    await create({ key: 'ann' });
    const triggered = await p.client.schedules.trigger('s');
    expect(await started()).toEqual([]);
    await p.loop.look();
    expect(await started()).toEqual([triggered]);
    const update = (changes: object) => p.client.schedules.update('s', changes);
    expect(await update({ input: 'x' })).toMatchObject({ queue: 'q', key: 'ann', priority: 0 });
    expect(await update({ orchestration: echo, queue: 'r' })).toMatchObject({ queue: 'r', key: 'ann' });
    expect(await update({ key: null, priority: 3 })).toMatchObject({ queue: 'r', key: null, priority: 3 });
    expect(await update({ queue: null })).toMatchObject({ queue: null, key: null, priority: 0 });
    clock.advance(MINUTE_MS);
    await fire();
    expect(await started()).toContain(idOf(1));
    expect((await p.client.startQueues.list()).map(({ waiting }) => waiting)).toEqual([0, 0]);
    await create({ ifExists: 'update' });
    expect(await p.client.schedules.list()).toMatchObject([{ queue: 'q' }]);
    await p.client.schedules.create({ id: 's', orchestration: held, everyMs: MINUTE_MS, ifExists: 'update' });
    expect(await p.client.schedules.list()).toMatchObject([{ queue: null }]);
  });

  test('bad input is refused by name, and nothing is stored', async () => {
    await p.client.startQueues.create({ id: 'q' });
    for (const [options, kind, text] of [
      [{ queue: 'none' }, StartQueueError, "start queue 'none': there is no queue of this id"],
      [{ queue: 7 }, StartQueueError, 'the id must be a non-empty string, got 7'],
      [{ key: '' }, StartQueueError, "key must be a non-empty string, got ''"],
      [{ priority: 1.5 }, StartQueueError, 'priority must be a whole number'],
      [{ queue: undefined, key: 'ann' }, ScheduleError, "schedule 's': key means nothing without a queue"],
      [{ queue: undefined, priority: 1 }, ScheduleError, "schedule 's': priority means nothing without a queue"],
    ] as const) {
      const refused = create(options);
      await expect(refused).rejects.toBeInstanceOf(kind);
      await expect(refused).rejects.toThrow(text);
    }
    expect(await p.client.schedules.list()).toEqual([]);
    const before = await create();
    await expect(p.client.schedules.update('s', { queue: 'none' })).rejects.toThrow('there is no queue');
    await expect(p.client.schedules.update('s', { queue: null, key: 'ann' })).rejects.toThrow('key means nothing');
    expect(await p.client.schedules.get('s')).toEqual(before);
  });

  test('whose queue was deleted it is paused and says so, and the others fire', async () => {
    await p.client.startQueues.create({ id: 'q' });
    await create();
    await p.client.schedules.create({ id: 'free', orchestration: echo, everyMs: MINUTE_MS });
    await p.client.startQueues.delete('q');
    await expect(p.client.schedules.trigger('s')).rejects.toBeInstanceOf(StartQueueError);
    clock.advance(MINUTE_MS);
    await fire();
    expect(await p.client.schedules.list()).toMatchObject([
      { id: 'free', firedCount: 1, isPaused: false },
      { id: 's', firedCount: 0, isPaused: true, lastFireAt: null, lastInstanceId: null, nextFireAt: null },
    ]);
    expect((await p.client.schedules.get('s')).problem).toContain("there is no start queue 'q'");
    await p.client.startQueues.create({ id: 'q' });
    await p.client.schedules.resume('s');
    clock.advance(MINUTE_MS);
    await fire();
    expect(await p.client.schedules.get('s')).toMatchObject({ firedCount: 1, problem: null });
  });

  test('before the migration that it needs it is refused by name; schedules without a queue go on', async () => {
    const { schedules, startQueues } = p.client;
    await startQueues.create({ id: 'q' });
    const alter = (text: string) => withClient((pg) => pg.query(`alter table ${schema}.ddz_schedules ${text}`));
    await alter('drop column start_queue, drop column start_key, drop column start_priority');
    const needs = /keeps no schedules with a start queue before migration 0004_schedule_queues; run .*--adopt-tables/;
    await expect(create()).rejects.toBeInstanceOf(UnsupportedError);
    await expect(create()).rejects.toThrow(needs);
    await schedules.create({ id: 's', orchestration: echo, everyMs: MINUTE_MS });
    await expect(schedules.update('s', { queue: 'q' })).rejects.toThrow(needs);
    expect(await schedules.update('s', { input: 'x' })).toMatchObject({ queue: null, input: 'x' });
    clock.advance(MINUTE_MS);
    await fire();
    await schedules.pause('s');
    await schedules.resume('s');
    expect(await schedules.list()).toMatchObject([{ firedCount: 1, queue: null, key: null, priority: 0 }]);
    expect(await started()).toEqual([idOf(1)]);
    // It comes while everybody runs.
    await alter('add column start_queue text, add column start_key text, add column start_priority integer');
    expect(await schedules.update('s', { queue: 'q', priority: 2 })).toMatchObject({ queue: 'q', priority: 2 });
    clock.advance(MINUTE_MS);
    await fire(other);
    expect(await startQueues.get('q')).toMatchObject({ waiting: 1 });
  });
});
