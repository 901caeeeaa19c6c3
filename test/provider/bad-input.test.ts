import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  activityItem,
  event,
  kvSet,
  queueMessage,
  raisedEvent,
  startedEvent,
  startItem,
  statusEvent,
} from '../../src/conformance/records.js';
import { LONG_LOCK_MS, ownedBy, Trial } from '../../src/conformance/trial.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { MAX_DERIVED_CHILD_ID_BYTES, MAX_SESSION_ID_BYTES, MAX_TAG_BYTES } from '../../src/wire/limits.js';
import { lazily } from '../support/conformance/backend.js';
import { postgresBackend } from '../support/conformance/postgres.js';

const backend = lazily(() =>
  postgresBackend({
    connect: (url, options) => DrizzleProvider.connect(url, options),
    answersTails: true,
    schemaBy: 'ours',
  }),
);
let t: Trial;

beforeEach(async () => {
  t = new Trial(await backend.open(), expect);
});

afterAll(backend.close);

/** Text that PostgreSQL cannot store, and what is stored instead. */
const bad = 'a\u0000b\uD800c';
const good = 'a\uFFFDb\uFFFDc';
/** The same inside of a payload, where it is part of a JSON text and stays. */
const payload = JSON.stringify({ text: bad });

describe('text that PostgreSQL cannot store (P:T-3)', () => {
  test('raw strings of events and messages are made storable, payloads round-trip', async () => {
    await t.create('x', {
      start: { input: payload },
      events: [
        kvSet(bad, bad),
        kvSet('payload', payload),
        statusEvent(bad),
        raisedEvent(bad),
        { kind: 'ActivityScheduled', name: bad, input: payload },
        { kind: 'OrchestrationCancelRequested', reason: bad },
      ],
      workerItems: [activityItem('x', 2, { name: bad, input: payload })],
      orchestratorItems: [
        { kind: 'CancelInstance', instance: 'x', reason: bad },
        { kind: 'ExternalRaised', instance: 'x', name: bad, data: payload },
      ],
      metadata: { output: bad, status: 'Running' },
    });
    expect(await t.provider.read('x')).toMatchObject([
      { input: payload },
      { key: good, value: good },
      { key: 'payload', value: payload },
      { status: good },
      { name: good },
      { name: good, input: payload },
      { reason: good },
    ]);
    expect(Object.fromEntries(await t.provider.getKvAllValues('x'))).toEqual({ [good]: good, payload });
    expect(await t.provider.getCustomStatus('x', 0)).toMatchObject({ status: good });
    expect(await t.provider.asManagement().getInstanceInfo('x')).toMatchObject({ output: good });
    expect((await t.takeWork(2)).item).toMatchObject({ name: good, input: payload });
    expect((await t.take('x')).messages).toMatchObject([{ reason: good }, { name: good, data: payload }]);
  });

  test('names and versions of an instance, too', async () => {
    await t.enqueue(startItem('x', { orchestration: bad, version: bad, input: payload }));
    const item = await t.take('x');
    expect(item).toMatchObject({ orchestrationName: good, version: good });
    await t.ack(item, {
      historyDelta: [startedEvent('x')],
      metadata: { orchestrationName: bad, orchestrationVersion: bad, status: 'Failed', output: bad },
    });
    expect(await t.provider.asManagement().getInstanceInfo('x')).toMatchObject({
      orchestrationName: good,
      orchestrationVersion: good,
      output: good,
    });
  });

  test('ids are refused instead: two of them must never become one', async () => {
    await t.fails(t.enqueue(startItem(bad)), /U\+0000/);
    await t.fails(t.schedule(activityItem(bad, 2)), /U\+0000/);
    await t.fails(t.schedule(activityItem('x', 2, { sessionId: bad })), /U\+0000/);
    await t.fails(t.schedule(activityItem('x', 2, { tag: bad })), /U\+0000/);
    await t.expectNothingReady();
    await t.expectNoWork();
  });

  test('asking for an id that cannot be is a permanent error or finds nothing', async () => {
    const admin = t.provider.asManagement();
    await t.create('x');
    await t.fails(t.provider.read('a\u0000b'));
    await t.fails(t.provider.getKvValue('x', 'a\u0000b'));
    await t.fails(admin.getInstanceInfo('a\u0000b'));
    await t.fails(admin.deleteInstance('a\u0000b', true));
    await t.fails(admin.getInstanceInfo('a\uD800b'));
    expect(await admin.listInstances()).toEqual(['x']);
  });
});

describe('ids', () => {
  test.each([`it's "quoted"`, '😀 émoji', '$1; drop table instances; --', '%_\\', ' ', 'a::b', '{"json":1}', '\n'])(
    'an instance with the id %j lives like any other',
    async (id) => {
      const x = await t.create(id, { events: [kvSet('k', 'v')], workerItems: [activityItem(id, 2)] });
      await t.ackWork(await t.takeWork(2), {
        kind: 'ActivityCompleted',
        instance: id,
        executionId: 1,
        id: 2,
        result: '1',
      });
      await x.commit(await t.take(id), { events: [raisedEvent('go')] });
      await x.continueAsNew();
      await x.startNext();
      const admin = t.provider.asManagement();
      expect(await admin.listInstances()).toEqual([id]);
      expect(await admin.pruneExecutions(id, {})).toMatchObject({ executionsDeleted: 1 });
      expect(await t.provider.getKvValue(id, 'k')).toBe('v');
      expect(await admin.deleteInstance(id, true)).toMatchObject({ instancesDeleted: 1 });
    },
  );

  test('ids that differ in nothing but what a careless key would drop are two', async () => {
    await t.create('a', { events: [kvSet('b:c', '1')] });
    await t.create('a:b', { events: [kvSet('c', '2')] });
    expect(await t.provider.getKvValue('a', 'b:c')).toBe('1');
    expect(await t.provider.getKvValue('a:b', 'c')).toBe('2');
  });

  test.each([
    ['the empty id', ''],
    ['an id of 10,000 characters', 'x'.repeat(10_000)],
    ['an id of one byte too many', 'é'.repeat(MAX_DERIVED_CHILD_ID_BYTES / 2) + 'x'],
  ])('%s is refused before any SQL, alone in its batch', async (_name, id) => {
    const [before, after] = ['before', 'after'];
    const results = await t.provider.enqueueForOrchestrator([
      { item: startItem(before) },
      { item: startItem(id) },
      { item: queueMessage(id) },
      { item: startItem(after) },
    ]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false, false, true]);
    const refused = results[1];
    expect(refused?.ok === false && [refused.error.retryable, refused.error.sqlState]).toEqual([false, undefined]);
    expect(refused?.ok === false && refused.error.message.length).toBeLessThan(200);
    await t.take(before);
    await t.take(after);
    await t.expectNothingReady();
  });

  test('the longest id works', async () => {
    const id = 'é'.repeat(MAX_DERIVED_CHILD_ID_BYTES / 2);
    await t.create(id, { workerItems: [activityItem(id, 2)] });
    await t.takeWork(2);
  });

  test.each([
    ['a child of a turn', { orchestratorItems: [startItem('')] }],
    ['an activity of a turn', { workerItems: [activityItem('x'.repeat(10_000), 2)] }],
    [
      'a session of a turn',
      { workerItems: [activityItem('x', 2, { sessionId: 's'.repeat(MAX_SESSION_ID_BYTES + 1) })] },
    ],
    ['a tag of a turn', { workerItems: [activityItem('x', 2, { tag: 't'.repeat(MAX_TAG_BYTES + 1) })] }],
    ['an event without an id', { historyDelta: [event('x', 0, raisedEvent('go'))] }],
  ])('%s that cannot be stored refuses the turn, and the lock stays', async (_name, turn) => {
    const x = await t.create('x');
    const item = await x.pokeAndTake();
    const error = await t.fails(t.ack(item, turn));
    expect(error.sqlState).toBeUndefined();
    await t.expectNothingReady();
    await x.commit(item, { events: [raisedEvent('go')] });
  });

  test('sessions and tags at their limits work', async () => {
    const [sessionId, tag] = ['s'.repeat(MAX_SESSION_ID_BYTES), 'é'.repeat(MAX_TAG_BYTES / 2)];
    await t.schedule(activityItem('x', 2, { sessionId, tag }));
    await t.takeWork(2, { ...ownedBy('A'), tagFilter: { kind: 'tags', tags: [tag] } });
  });
});

describe('what the caller gets wrong', () => {
  test('a completion that is none, and an activity that is no message', async () => {
    await t.schedule(activityItem('x', 2));
    const work = await t.takeWork(2);
    await t.fails(t.ackWork(work, startItem('x')), /Invalid completion/);
    await t.renewWork(work, LONG_LOCK_MS);
    await t.fails(t.enqueue(activityItem('x', 3)));
    await t.expectNothingReady();
  });

  test('payloads stand in no message of an error', async () => {
    const secret = 'secret-payload';
    const x = await t.create('x');
    const error = await t.fails(
      t.ack(await x.pokeAndTake(), {
        historyDelta: [event('x', 1, { kind: 'OrchestrationCompleted', output: secret })],
      }),
    );
    expect(error.message).not.toContain(secret);
    const wrong = await t.fails(
      t.ackWork({ instance: null, lockToken: 'lock_none' }, { ...startItem('x', { input: secret }) }),
    );
    expect(wrong.message).not.toContain(secret);
  });
});
