import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { activityItem, kvSet, numbered, started, startItem, statusEvent } from '../../src/conformance/records.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { activity, declareActivity, declareOrchestration, orchestration } from '../../src/typed/definitions.js';
import {
  MAX_CUSTOM_STATUS_BYTES,
  MAX_DERIVED_CHILD_ID_BYTES,
  MAX_INSTANCE_ID_BYTES,
  MAX_KV_KEY_BYTES,
  MAX_KV_KEYS,
  MAX_KV_VALUE_BYTES,
  MAX_NAME_BYTES,
  MAX_SESSION_ID_BYTES,
  MAX_TAG_BYTES,
} from '../../src/wire/limits.js';
import { encodeEvent } from '../../src/wire/event.js';
import { encodeWorkItem, type WorkItem } from '../../src/wire/work-item.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { type Handlers, SteppedRuntime } from '../support/runtime-harness.js';
import { around, sized, sizedPayload } from './sized-text.js';

const MAX_PAYLOAD = 5_000;
const schema = uniqueSchema('limits');
const clock = new FakeClock();
let provider: DrizzleProvider;
let serial = 0;
const unique = (what: string) => `${what}-${++serial}`;

beforeAll(async () => {
  provider = await DrizzleProvider.connect(databaseUrl(), {
    schema,
    clock,
    logger: silentLogger,
    notifications: false,
  });
});
afterAll(async () => {
  await provider.close();
  await dropSchema(schema);
});

type Ctx = any;

interface Door {
  readonly what: string;
  readonly limit: number;
  /** What the orchestration does with a text of so many bytes. */
  readonly act: (ctx: Ctx, bytes: number) => Generator<unknown, unknown, unknown>;
  /** Part of the failure, beside the sizes. */
  readonly says: string | RegExp;
}

const names = around(MAX_NAME_BYTES)
  .filter(({ fits }) => fits)
  .map(({ bytes }) => sized(bytes));

const doors: readonly Door[] = [
  {
    what: 'activity: name',
    limit: MAX_NAME_BYTES,
    says: 'Activity name size',
    *act(ctx, n) {
      return yield ctx.scheduleActivity(sized(n));
    },
  },
  {
    what: 'activity: input',
    limit: MAX_PAYLOAD,
    says: "Input of activity 'Echo' size",
    *act(ctx, n) {
      yield ctx.scheduleActivity('Quiet', sizedPayload(n));
    },
  },
  {
    what: 'activity: session',
    limit: MAX_SESSION_ID_BYTES,
    says: 'Session id size',
    *act(ctx, n) {
      return yield ctx.scheduleActivityOnSession('Quiet', 1, sized(n, unique('s')));
    },
  },
  {
    what: 'activity: tag',
    limit: MAX_TAG_BYTES,
    says: "Activity 'Quiet' tag size",
    *act(ctx, n) {
      return yield ctx.scheduleActivity('Quiet').withTag(sized(n));
    },
  },
  {
    what: 'child: name',
    limit: MAX_NAME_BYTES,
    says: 'Orchestration name size',
    *act(ctx, n) {
      return yield ctx.scheduleSubOrchestration(sized(n));
    },
  },
  {
    what: 'child: input',
    limit: MAX_PAYLOAD,
    says: "Input of sub-orchestration 'Quiet' size",
    *act(ctx, n) {
      return yield ctx.scheduleSubOrchestration('Quiet', sizedPayload(n));
    },
  },
  {
    what: 'child: id',
    limit: MAX_INSTANCE_ID_BYTES,
    says: 'Sub-orchestration instance id size',
    *act(ctx, n) {
      return yield ctx.scheduleSubOrchestrationWithId('Quiet', sized(n, unique('c')));
    },
  },
  {
    what: 'detached: name',
    limit: MAX_NAME_BYTES,
    says: 'Orchestration name size',
    *act(ctx, n) {
      yield ctx.startOrchestration(sized(n), unique('d'), 1);
    },
  },
  {
    what: 'detached: input',
    limit: MAX_PAYLOAD,
    says: "Input of detached orchestration 'Quiet' size",
    *act(ctx, n) {
      yield ctx.startOrchestration('Quiet', unique('d'), sizedPayload(n));
    },
  },
  {
    what: 'detached: id',
    limit: MAX_INSTANCE_ID_BYTES,
    says: 'Detached orchestration instance id size',
    *act(ctx, n) {
      yield ctx.startOrchestration('Quiet', sized(n, unique('d')), 1);
    },
  },
  {
    what: 'event: name',
    limit: MAX_NAME_BYTES,
    says: 'Event name size',
    *act(ctx, n) {
      yield ctx.race(ctx.waitForEvent(sized(n)), ctx.scheduleTimer(0));
    },
  },
  {
    what: 'queue: name',
    limit: MAX_NAME_BYTES,
    says: 'Queue name size',
    *act(ctx, n) {
      yield ctx.race(ctx.dequeueEvent(sized(n)), ctx.scheduleTimer(0));
    },
  },
  {
    what: 'value: key',
    limit: MAX_KV_KEY_BYTES,
    says: /^KV key 'é{64}…'/,
    *act(ctx, n) {
      ctx.setValue(sized(n), 'v');
    },
  },
  {
    what: 'value: value',
    limit: MAX_KV_VALUE_BYTES,
    says: "KV value for key 'k'",
    *act(ctx, n) {
      ctx.setValue('k', sized(n));
    },
  },
  {
    what: 'custom status',
    limit: MAX_CUSTOM_STATUS_BYTES,
    says: 'Custom status size',
    *act(ctx, n) {
      ctx.setCustomStatus(sized(n));
    },
  },
  {
    what: 'output',
    limit: MAX_PAYLOAD,
    says: 'Orchestration output size',
    *act(_ctx, n) {
      return sizedPayload(n);
    },
  },
  {
    what: 'continue-as-new: input',
    limit: MAX_PAYLOAD,
    says: 'Continue-as-new input size',
    *act(ctx, n) {
      return yield ctx.continueAsNew(sizedPayload(n));
    },
  },
];

const handlers: Handlers = {
  activities: {
    Quiet: () => 'done',
    Large: (_ctx, bytes: number) => sizedPayload(bytes),
    Fails: (_ctx, bytes: number) => Promise.reject(new Error(sized(bytes))),
    ...Object.fromEntries(names.map((name) => [name, () => 'done'])),
  },
  orchestrations: {
    *Act(ctx: Ctx, input: { door: number; bytes: number } | string) {
      if (typeof input === 'string') return 'continued';
      return (yield* (doors[input.door] as Door).act(ctx, input.bytes)) ?? 'done';
    },
    *Call(ctx: Ctx, { name, bytes }: { name: string; bytes: number }) {
      try {
        return ((yield ctx.scheduleActivity(name, bytes)) as string).length;
      } catch (error) {
        return { caught: (error as Error).message };
      }
    },
    *Keys(ctx: Ctx, count: number) {
      for (let i = 0; i < count; i++) ctx.setValue(`k${i}`, '1');
      return 'done';
    },
    *Quiet() {
      return 'done';
    },
    ...Object.fromEntries(
      names.map((name) => [
        name,
        function* () {
          return 'done';
        },
      ]),
    ),
  },
};

async function open(options = {}): Promise<SteppedRuntime> {
  return new SteppedRuntime(provider, clock, handlers, {
    maxPayloadBytes: MAX_PAYLOAD,
    workerTagFilter: 'any',
    ...options,
  });
}

const failureOf = (status: { readonly status: string; readonly error?: unknown }) => String(status.error);

describe('C-24 limits of what an orchestration does (runtime.md 2.12)', () => {
  const cases = doors.flatMap((door, index) => around(door.limit).map((size) => ({ ...door, ...size, index })));

  test.each(cases)('$what, $where', async ({ index, bytes, limit, fits, says }) => {
    const runtime = await open();
    const [instance, neighbour] = [unique('i'), unique('n')];
    await runtime.client.startOrchestration(instance, 'Act', { door: index, bytes });
    await runtime.client.startOrchestration(neighbour, 'Quiet');
    const ended = await runtime.runToEnd(instance);
    if (fits) expect(ended).toMatchObject({ status: 'Completed' });
    else {
      expect(ended.status).toBe('Failed');
      if (typeof says === 'string') expect(failureOf(ended)).toContain(says.replace("'Echo'", "'Quiet'"));
      else expect(failureOf(ended)).toMatch(says);
      expect(failureOf(ended)).toContain(`(${bytes} bytes) exceeds limit (${limit} bytes)`);
      const kinds = await runtime.kinds(instance);
      expect(kinds.filter((kind) => kind === 'OrchestrationFailed')).toHaveLength(1);
    }
    expect((await runtime.runToEnd(neighbour)).status).toBe('Completed');
    await runtime.settle();
    await runtime.stop();
  });

  test.each(around(MAX_KV_KEYS))('keys, $where', async ({ bytes: count, fits }) => {
    const runtime = await open();
    const ended = await runtime.run(unique('i'), 'Keys', count);
    if (fits) expect(ended.status).toBe('Completed');
    else
      expect(ended).toMatchObject({
        status: 'Failed',
        error: `KV key count (${count}) exceeds limit (${MAX_KV_KEYS})`,
      });
    await runtime.stop();
  });

  test.each(around(MAX_PAYLOAD))('result of an activity, $where', async ({ bytes, fits }) => {
    const runtime = await open();
    const { output } = await runtime.run(unique('i'), 'Call', { name: 'Large', bytes });
    if (fits) expect(output).toBe(sizedPayload(bytes).length);
    else
      expect((output as { caught: string }).caught).toContain(
        `result (${bytes} bytes) exceeds limit (${MAX_PAYLOAD} bytes)`,
      );
    await runtime.stop();
  });

  test('error text of an activity: one that is too large says so instead', async () => {
    const runtime = await open();
    const fits = await runtime.run(unique('i'), 'Call', { name: 'Fails', bytes: MAX_PAYLOAD - 500 });
    expect((fits.output as { caught: string }).caught).toContain(sized(MAX_PAYLOAD - 500));
    const over = await runtime.run(unique('i'), 'Call', { name: 'Fails', bytes: MAX_PAYLOAD + 1 });
    expect((over.output as { caught: string }).caught).toMatch(
      /Activity 'Fails' failed, and its error text \(\d+ bytes\) exceeds limit \(5000 bytes\)/,
    );
    await runtime.stop();
  });
});

describe('C-24 limits of a typed context', () => {
  const quiet = activity('quiet', (_ctx, text: string) => text.length);
  const child = orchestration('child', async (_ctx, text: string) => text.length);
  const long = sized(MAX_NAME_BYTES + 1);
  const act = {
    input: (n: number) => orchestration('t-input', async (ctx) => ctx.call(quiet, sizedPayload(n))),
    session: (n: number) =>
      orchestration('t-session', async (ctx) => ctx.call(quiet, 'x', { session: sized(n, unique('s')) })),
    tag: (n: number) => orchestration('t-tag', async (ctx) => ctx.call(quiet, 'x', { tag: sized(n) })),
    'child input': (n: number) => orchestration('t-child', async (ctx) => ctx.call(child, sizedPayload(n))),
    'child id': (n: number) =>
      orchestration('t-id', async (ctx) => ctx.call(child, 'x', { id: sized(n, unique('t')) })),
    'detached id': (n: number) =>
      orchestration('t-detached', async (ctx) => ctx.start(child, 'x', { id: sized(n, unique('t')) })),
    key: (n: number) => orchestration('t-key', async (ctx) => ctx.kv.set(sized(n), 1)),
    value: (n: number) => orchestration('t-value', async (ctx) => ctx.kv.set('k', sizedPayload(n))),
    status: (n: number) => orchestration('t-status', async (ctx) => ctx.status.set(sizedPayload(n))),
    output: (n: number) => orchestration('t-output', async () => sizedPayload(n)),
    'result of an activity': (n: number) =>
      orchestration('t-result', async (ctx) => ctx.call(declareActivity<number, string>('sizer'), n)),
  };
  const limits: Record<keyof typeof act, number> = {
    input: MAX_PAYLOAD,
    session: MAX_SESSION_ID_BYTES,
    tag: MAX_TAG_BYTES,
    'child input': MAX_PAYLOAD,
    'child id': MAX_INSTANCE_ID_BYTES,
    'detached id': MAX_INSTANCE_ID_BYTES,
    key: MAX_KV_KEY_BYTES,
    value: MAX_KV_VALUE_BYTES,
    status: MAX_CUSTOM_STATUS_BYTES,
    output: MAX_PAYLOAD,
    'result of an activity': MAX_PAYLOAD,
  };
  const cases = (Object.keys(act) as (keyof typeof act)[]).flatMap((what) =>
    around(limits[what]).map((size) => ({ what, limit: limits[what], ...size })),
  );

  test.each(cases)('$what, $where', async ({ what, bytes, limit, fits }) => {
    const definition = act[what](bytes);
    const sizer = activity('sizer', (_ctx, n: number) => sizedPayload(n));
    const runtime = new SteppedRuntime(
      provider,
      clock,
      { definitions: [definition, quiet, child, sizer] },
      { maxPayloadBytes: MAX_PAYLOAD, workerTagFilter: 'any' },
    );
    const instance = unique('t');
    const ended = await runtime.run(instance, definition.name);
    if (fits) expect(ended.status).toBe('Completed');
    else {
      expect(ended.status).toBe('Failed');
      expect(failureOf(ended)).toContain(`(${bytes} bytes) exceeds limit (${limit} bytes)`);
    }
    await runtime.settle();
    await runtime.stop();
  });

  test('names of definitions are refused where they are made', () => {
    for (const define of [
      () => activity(long, () => 1),
      () => declareActivity(long),
      () => orchestration(long, async () => 1),
      () => declareOrchestration(long),
    ]) {
      expect(define).toThrow(/\(1025 bytes\) exceeds limit \(1024 bytes\)/);
    }
  });
});

describe('limits at registration and configuration', () => {
  const newRuntime = (options = {}) =>
    new Runtime(new MemoryProvider(new FakeClock()), { logger: silentLogger, ...options });

  test.each(around(MAX_NAME_BYTES))('names of the drop-in registration, $where', async ({ bytes, fits }) => {
    for (const register of [
      (runtime: Runtime) => runtime.registerActivity(sized(bytes), () => 1),
      (runtime: Runtime) => runtime.registerOrchestration(sized(bytes), function* () {}),
      (runtime: Runtime) => runtime.registerOrchestrationVersioned(sized(bytes), '2.0.0', function* () {}),
    ]) {
      // Native reports what is wrong with registrations when the runtime starts.
      const attempt = (async () => {
        const runtime = newRuntime();
        register(runtime);
        await runtime.start();
        await runtime.shutdown(0);
      })();
      if (fits) await attempt;
      else await expect(attempt).rejects.toThrow(`(${bytes} bytes) exceeds limit (${MAX_NAME_BYTES} bytes)`);
    }
  });
});

describe('C-24 limits of a provider, before any SQL: keys of indexes', () => {
  const lock = { instance: 'i', lockToken: 'lock_none:i' };
  const turn = {
    ...lock,
    executionId: 1,
    historyDelta: [],
    workerItems: [],
    orchestratorItems: [],
    metadata: {},
    cancelledActivities: [],
  };
  const doors: readonly {
    what: string;
    limit: number;
    send: (text: string) => Promise<readonly { ok: boolean; error?: unknown }[]>;
  }[] = [
    {
      what: 'message: instance id',
      limit: MAX_DERIVED_CHILD_ID_BYTES,
      send: (text) => provider.enqueueForOrchestrator([{ item: startItem(text) }]),
    },
    {
      what: 'activity: instance id',
      limit: MAX_DERIVED_CHILD_ID_BYTES,
      send: (text) => provider.enqueueForWorker([activityItem(text, 2)]),
    },
    {
      what: 'activity: session',
      limit: MAX_SESSION_ID_BYTES,
      send: (text) => provider.enqueueForWorker([activityItem(unique('p'), 2, { sessionId: text })]),
    },
    {
      what: 'activity: tag',
      limit: MAX_TAG_BYTES,
      send: (text) => provider.enqueueForWorker([activityItem(unique('p'), 2, { tag: text })]),
    },
    {
      what: 'turn: message',
      limit: MAX_DERIVED_CHILD_ID_BYTES,
      send: (text) => provider.ackOrchestrationItems([{ ...turn, orchestratorItems: [startItem(text)] }]),
    },
    {
      what: 'turn: key',
      limit: MAX_KV_KEY_BYTES,
      send: (text) =>
        provider.ackOrchestrationItems([{ ...turn, historyDelta: numbered('i', 1, 2, [kvSet(text, 'v')]) }]),
    },
  ];

  test.each(doors.flatMap((door) => around(door.limit).map((size) => ({ ...door, ...size }))))(
    '$what, $where',
    async ({ send, bytes, limit, fits }) => {
      const [result] = await send(sized(bytes));
      const says = String((result?.error as Error | undefined)?.message ?? '');
      expect(says.includes(`${bytes} bytes of UTF-8, the limit is ${limit}`)).toBe(!fits);
      // The turn's lock does not exist: what fits comes as far as that.
      expect(result?.ok === true || says.includes('Invalid lock token') || !fits).toBe(true);
      expect(says).not.toContain('éé');
    },
  );
});

describe('longer values, as native writes them', () => {
  test('are read, replayed and deleted', async () => {
    // Beyond every limit of ours, within what an index row of PostgreSQL holds.
    const instance = sized(1_500, unique('native'));
    const key = sized(900);
    const value = sized(MAX_KV_VALUE_BYTES + 1);
    const status = sized(MAX_CUSTOM_STATUS_BYTES + 1);
    const name = sized(1_500);
    const [session, tag] = [sized(700), sized(700)];
    // As native stores it: by nothing of ours.
    const events = numbered(instance, 1, 1, [
      started({ name: 'Old', input: 'null' }),
      statusEvent(status),
      kvSet(key, value),
      { kind: 'ActivityScheduled', name, input: '1', sessionId: session, tag },
    ]);
    const work: WorkItem = {
      kind: 'ActivityExecute',
      instance,
      executionId: 1,
      id: 4,
      name,
      input: '1',
      sessionId: session,
      tag,
    };
    await withClient(async (connection) => {
      await connection.query(`delete from ${schema}.worker_queue`);
      const insert = (table: string, columns: string, values: readonly unknown[]) =>
        connection.query(
          `insert into ${schema}.${table} (${columns}) values (${values.map((_, i) => `$${i + 1}`).join(', ')})`,
          [...values],
        );
      const at = new Date(clock.nowMs());
      await insert(
        'instances',
        'instance_id, orchestration_name, orchestration_version, current_execution_id, custom_status, custom_status_version, created_at, updated_at',
        [instance, 'Old', '1.0.0', 1, status, 1, at, at],
      );
      await insert('executions', 'instance_id, execution_id, status, started_at', [instance, 1, 'Running', at]);
      for (const stored of events) {
        await insert('history', 'instance_id, execution_id, event_id, event_type, event_data, created_at', [
          instance,
          1,
          stored.eventId,
          stored.kind,
          encodeEvent(stored),
          at,
        ]);
      }
      await insert('kv_delta', 'instance_id, key, value, last_updated_at_ms', [instance, key, value, 1]);
      await insert(
        'worker_queue',
        'work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id, tag',
        [encodeWorkItem(work), at, at, instance, 1, 4, session, tag],
      );
    });
    const client = new Client(provider);
    // The ids that a client takes are those of children too, and this one fits.
    expect((await client.getStatus(instance)).customStatus).toBe(status);
    expect(await client.getValue(instance, key)).toBe(value);

    const session2 = { ownerId: 'w', lockTimeoutMs: 30_000 };
    const [taken] = await provider.fetchWorkItems({
      limit: 1,
      lockTimeoutMs: 30_000,
      session: session2,
      tagFilter: { kind: 'any' },
    });
    expect(taken?.item).toMatchObject({ name, sessionId: session, tag });
    await provider.ackWorkItems([
      {
        instance,
        lockToken: taken?.lockToken ?? '',
        completion: { kind: 'ActivityCompleted', instance, executionId: 1, id: 4, result: '"old"' },
      },
    ]);

    const runtime = new SteppedRuntime(
      provider,
      clock,
      {
        orchestrations: {
          *Old(ctx: Ctx) {
            ctx.setCustomStatus(status);
            ctx.setValue(key, value);
            const result: unknown = yield ctx.scheduleActivityOnSession(name, 1, session).withTag(tag);
            return [result, ctx.getValue(key).length];
          },
        },
      },
      { maxPayloadBytes: MAX_PAYLOAD, warmInstances: 0 },
    );
    expect(await runtime.runToEnd(instance)).toMatchObject({ status: 'Completed', output: ['old', value.length] });
    const read = await client.readExecutionHistory(instance, 1);
    expect(read.map(({ kind }) => kind)).toContain('ActivityScheduled');
    await runtime.stop();
    expect(await client.deleteInstance(instance)).toMatchObject({ instancesDeleted: 1 });
    expect((await client.getStatus(instance)).status).toBe('NotFound');
  });
});
