import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import type { ProviderUnderTest } from '../../src/conformance/index.js';
import {
  activityItem,
  completedEvent,
  event,
  kvSet,
  raisedEvent,
  startItem,
  statusEvent,
  timerFired,
} from '../../src/conformance/records.js';
import { ackOf, LONG_LOCK_MS, Trial } from '../../src/conformance/trial.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { ProviderAdmin } from '../../src/provider/admin.js';
import type { Provider } from '../../src/provider/provider.js';
import { ProviderError } from '../../src/provider/provider-error.js';
import { only } from '../../src/provider/single-forms.js';
import { DEFAULT_MAX_PAYLOAD_BYTES, MAX_KV_VALUE_BYTES } from '../../src/wire/limits.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { lazily } from '../support/conformance/backend.js';
import { postgresBackend } from '../support/conformance/postgres.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';

const MEBIBYTE = 1_048_576;
const YEAR_MS = 365 * 86_400_000;

const backend = lazily(() =>
  postgresBackend({
    connect: (url, options) => DrizzleProvider.connect(url, options),
    answersTails: true,
    schemaBy: 'ours',
  }),
);
let sut: ProviderUnderTest;
let t: Trial;

beforeEach(async () => {
  sut = await backend.open();
  t = new Trial(sut, expect);
});

afterAll(backend.close);

describe('a NUL that somebody sends (C-19)', () => {
  test('C-19 in an error message it is replaced, in a payload it stays, and the neighbour is well', async () => {
    const payload = JSON.stringify({ s: 'a\u0000b' });
    await t.create('neighbour');
    const x = await t.create('x', { workerItems: [activityItem('x', 2, { input: payload })] });
    const work = await t.takeWork(2);
    expect(work.item).toMatchObject({ input: payload });
    await t.ackWork(work, {
      kind: 'ActivityFailed',
      instance: 'x',
      executionId: 1,
      id: 2,
      details: { kind: 'Application', application: { kind: 'ActivityFailed' }, message: 'a\u0000b', retryable: false },
    });
    const item = await t.take('x');
    expect(item.messages).toMatchObject([{ kind: 'ActivityFailed', details: { message: 'a\uFFFDb' } }]);
    await x.commit(item, { events: [raisedEvent('go'), { kind: 'ActivityCompleted', result: payload }] });
    expect((await t.provider.read('x')).at(-1)).toMatchObject({ result: payload });
    await t.poke('neighbour');
    await t.take('neighbour');
  });
});

describe('payloads of many sizes (C-24)', () => {
  test.each([1, 8, DEFAULT_MAX_PAYLOAD_BYTES / MEBIBYTE])(
    'C-24 %d MiB go through an activity and an event, and the neighbour with them',
    async (mebibytes) => {
      const large = JSON.stringify('é'.repeat((mebibytes * MEBIBYTE) / 2 - 1));
      const [instance, neighbour] = [t.unique('x'), t.unique('neighbour')];
      const x = await t.create(instance, { workerItems: [activityItem(instance, 2)] });
      const work = await t.takeWork(2);
      const completion: WorkItem = { kind: 'ActivityCompleted', instance, executionId: 1, id: 2, result: large };
      await t.ackWork(work, completion);
      await t.enqueue(startItem(neighbour));
      const { items } = await t.provider.fetchOrchestrationItems({ limit: 10, lockTimeoutMs: LONG_LOCK_MS });
      expect(items.map((item) => item.instance).sort()).toEqual([neighbour, instance]);
      const own = items.find((item) => item.instance === instance);
      if (!own) throw new Error('x was not fetched');
      expect(own.messages).toEqual([completion]);
      await x.commit(own, { events: [{ kind: 'ActivityCompleted', result: large }, raisedEvent('after')] });
      const [, stored] = await t.provider.read(instance);
      expect(stored).toMatchObject({ result: large });
    },
    // Only a guard against hanging: 32 MiB are encoded and parsed several times over.
    300_000,
  );

  test('C-24 values and statuses at their limits, in bytes of UTF-8, and beyond them', async () => {
    const atLimit = '😀'.repeat(MAX_KV_VALUE_BYTES / 4);
    const status = 'x'.repeat(5 * MEBIBYTE);
    const x = await t.create('x', {
      events: [kvSet('at', atLimit), kvSet('over', `${atLimit}!`), statusEvent(status)],
    });
    expect(await t.provider.getKvValue('x', 'at')).toBe(atLimit);
    // The limits are the runtime's; a provider stores what another runtime allowed.
    expect(await t.provider.getKvValue('x', 'over')).toBe(`${atLimit}!`);
    expect(await t.provider.getCustomStatus('x', 0)).toEqual({ status, version: 1 });
    expect(await t.provider.getInstanceStats('x')).toMatchObject({ kvTotalValueBytes: 2 * MAX_KV_VALUE_BYTES + 1 });
    await x.complete();
  });
});

describe('retention (C-36)', () => {
  const living = ['continued', 'parent', 'parent::child', 'running', 'sleeping'];

  beforeEach(async () => {
    await t.createFinished('finished');
    await (await t.create('running')).reach(3);
    await t.create('sleeping', { orchestratorItems: [timerFired('sleeping', 2, t.clock.nowMs() + YEAR_MS)] });
    await t.createFinished('parent');
    await t.create('parent::child', { parent: 'parent' });
    await (await t.create('continued')).continueAsNew();
    t.clock.advance(60_000);
  });

  /** What must not change: the current execution of everything that lives, and what is queued for it. */
  async function state(): Promise<unknown> {
    const admin = t.provider.asManagement();
    const instances = await Promise.all(
      living.map(async (id) => [await admin.getInstanceInfo(id), await t.provider.read(id)]),
    );
    return [instances, await t.need('sql')('select instance_id, visible_at from orchestrator_queue order by id')];
  }

  type Act = (admin: ProviderAdmin) => Promise<unknown>;
  const prunings = [{ keepLast: 0 }, {}, { keepLast: null as unknown as number }, { keepLast: 1 }];
  const harmless: (readonly [string, Act])[] = [
    ...living.flatMap((id) =>
      prunings.map((options): readonly [string, Act] => [
        `prune ${id} ${JSON.stringify(options)}`,
        (admin) => admin.pruneExecutions(id, options),
      ]),
    ),
    ['prune all', (admin) => admin.pruneExecutionsBulk({}, {})],
    ['delete the finished', (admin) => admin.deleteInstanceBulk({})],
    ['delete at most none', (admin) => admin.deleteInstanceBulk({ limit: 0 })],
    ['delete what ended before tomorrow', (admin) => admin.deleteInstanceBulk({ completedBeforeMs: 4e12 })],
    ['delete the named', (admin) => admin.deleteInstanceBulk({ instanceIds: living })],
  ];

  test.each(harmless)('C-36 %s: what lives is untouched', async (_name, act) => {
    const before = await state();
    await act(t.provider.asManagement());
    expect(await state()).toEqual(before);
  });

  test('C-36 the finished beside them goes, so the filters do select something', async () => {
    const before = await state();
    expect(await t.provider.asManagement().deleteInstanceBulk({})).toMatchObject({ instancesDeleted: 1 });
    expect(await state()).toEqual(before);
  });

  test.each<readonly [string, Act]>([
    ['prune by no moment', (admin) => admin.pruneExecutions('running', { completedBeforeMs: NaN })],
    ['prune by half an execution', (admin) => admin.pruneExecutions('running', { keepLast: 0.5 })],
    ['prune by less than none', (admin) => admin.pruneExecutions('running', { keepLast: -1 })],
    ['delete by no moment', (admin) => admin.deleteInstanceBulk({ completedBeforeMs: NaN })],
    ['delete by no limit', (admin) => admin.deleteInstanceBulk({ limit: NaN })],
    ['delete less than none', (admin) => admin.deleteInstanceBulk({ limit: -1 })],
  ])('C-36 %s is refused', async (_name, act) => {
    const before = await state();
    await t.fails(act(t.provider.asManagement()));
    expect(await state()).toEqual(before);
  });

  test.each([...living.filter((id) => !id.includes('::')), 'parent::child'])(
    'C-36 deleting %s without force is refused',
    async (id) => {
      const before = await state();
      await t.fails(t.provider.asManagement().deleteInstance(id, false));
      expect(await state()).toEqual(before);
    },
  );
});

describe('numbers (C-23)', () => {
  test('C-23 every count and id is a number, in the order of numbers', async () => {
    const x = await t.create('x', { events: [kvSet('k', 'value')], workerItems: [activityItem('x', 2)] });
    await x.reach(12);
    const admin = t.provider.asManagement();
    expect(await admin.listExecutions('x')).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect(await t.provider.read('x')).toEqual(await t.provider.readWithExecution('x', 12));
    expect(await admin.getSystemMetrics()).toEqual({
      totalInstances: 1,
      totalExecutions: 12,
      runningInstances: 1,
      completedInstances: 0,
      failedInstances: 0,
      totalEvents: 24,
    });
    expect(await admin.getQueueDepths()).toEqual({ orchestratorQueue: 0, workerQueue: 1, timerQueue: 0 });
    expect(await t.provider.getInstanceStats('x')).toMatchObject({ historyEventCount: 1, kvTotalValueBytes: 5 });
    expect(await admin.pruneExecutions('x', { keepLast: 3 })).toEqual({
      instancesProcessed: 1,
      executionsDeleted: 9,
      eventsDeleted: 19,
    });
    expect(await admin.listExecutions('x')).toEqual([10, 11, 12]);
    expect(await admin.deleteInstance('x', true)).toEqual({
      instancesDeleted: 1,
      executionsDeleted: 3,
      eventsDeleted: 5,
      queueMessagesDeleted: 1,
    });
  });
});

describe('other defaults of the server (C-40)', () => {
  const INSTANCES = 100;

  test.each(['serializable', 'repeatable read'])(
    'C-40 with %s as the default level everything completes',
    async (level) => {
      const schema = uniqueSchema('level');
      const url = new URL(databaseUrl());
      url.searchParams.set('options', `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`);
      const open = () =>
        DrizzleProvider.connect(url.href, { schema, logger: silentLogger, maxConnections: 3, notifications: false });
      const providers = [await open(), await open(), await open(), await open()];
      try {
        const [first] = providers;
        if (!first) throw new Error('no provider');
        const ids = Array.from({ length: INSTANCES }, (_, index) => `x-${index}`);
        for (const result of await first.enqueueForOrchestrator(ids.map((id) => ({ item: startItem(id) })))) {
          only([result]);
        }
        const completed = async () => (await first.asManagement().getSystemMetrics()).completedInstances;
        await Promise.all(
          providers.map(async (provider) => {
            while ((await completed()) < INSTANCES) await workOnce(provider);
          }),
        );
        expect(await first.asManagement().getQueueDepths()).toEqual({
          orchestratorQueue: 0,
          workerQueue: 0,
          timerQueue: 0,
        });
      } finally {
        for (const provider of providers) await provider.close();
        await dropSchema(schema);
      }
    },
  );

  /** A small runtime: the first turn schedules an activity, the second completes. */
  async function workOnce(provider: Provider): Promise<void> {
    const { items } = await provider.fetchOrchestrationItems({ limit: 7, lockTimeoutMs: LONG_LOCK_MS });
    const turns = items.map((item) => {
      const { instance } = item;
      const isFirst = item.history.events.length === 0;
      return ackOf(item, {
        historyDelta: isFirst ? [event(instance, 1, raisedEvent('start'))] : [event(instance, 2, completedEvent())],
        workerItems: isFirst ? [activityItem(instance, 2)] : [],
        metadata: isFirst
          ? { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' }
          : { status: 'Completed', output: '"done"' },
      });
    });
    for (const result of await provider.ackOrchestrationItems(turns)) only([result]);
    const works = await provider.fetchWorkItems({
      limit: 7,
      lockTimeoutMs: LONG_LOCK_MS,
      tagFilter: { kind: 'any' },
    });
    const acks = works.map(({ item, instance, lockToken }) => {
      if (item.kind !== 'ActivityExecute') throw new Error(`an unexpected ${item.kind}`);
      const { executionId, id } = item;
      return {
        instance,
        lockToken,
        completion: { kind: 'ActivityCompleted', instance: item.instance, executionId, id, result: '1' } as const,
      };
    });
    for (const result of await provider.ackWorkItems(acks)) only([result]);
  }
});

describe('type parsers of the application (C-23)', () => {
  test('C-23 P:T-30 parsers set for all of pg change nothing', async () => {
    const schema = uniqueSchema('parsers');
    const oids = [16, 20, 21, 23, 25, 114, 1082, 1114, 1184, 1700, 3802];
    for (const oid of oids) pg.types.setTypeParser(oid, () => ({ not: 'what anybody expects' }));
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger, clock: t.clock });
    try {
      const own = new Trial({ ...sut, provider }, expect);
      const x = await own.create('x', {
        events: [kvSet('k', 'v'), statusEvent('s')],
        workerItems: [activityItem('x', 2)],
      });
      await x.reach(2);
      await own.ackWork(await own.takeWork(2));
      expect(await provider.asManagement().getInstanceInfo('x')).toMatchObject({
        currentExecutionId: 2,
        createdAtMs: t.clock.nowMs(),
      });
      expect(await provider.getCustomStatus('x', 0)).toEqual({ status: 's', version: 1 });
      expect(await provider.due()).toEqual({ orchestrator: false, worker: false, nextVisibleAtMs: null });
      const error = await provider
        .asManagement()
        .getExecutionInfo('x', 3)
        .catch((reason: unknown) => reason);
      expect(ProviderError.is(error)).toBe(true);
    } finally {
      await provider.close();
      for (const oid of oids) pg.types.setTypeParser(oid, (text: string) => text);
      await dropSchema(schema);
    }
  });
});
