import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { ProviderError } from '../../src/provider/provider-error.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import { decodeWorkItem, encodeWorkItem } from '../../src/wire/work-item.js';
import { WireError } from '../../src/wire/wire-error.js';
import { activityItem, externalRaised, queueMessage, startItem } from '../../src/conformance/records.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { type Handlers, SteppedRuntime } from '../support/runtime-harness.js';
import { nested } from './hostile-values.js';

type Ctx = any;

/** `FUZZ_RUNS=5000 FUZZ_SEED=7 npm test -- test/hostile/fuzz` looks further; without them the same cases each time. */
const FACTOR = Number(process.env['FUZZ_RUNS'] ?? 0);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260);
const runs = (few: number) => ({ numRuns: Math.max(few, FACTOR), seed: SEED });

/** How a text is damaged. */
const mutation = fc.oneof(
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat(2_000) }),
  fc.record({
    kind: fc.constant('insert' as const),
    at: fc.nat(2_000),
    text: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 5 }),
      fc.constantFrom('{', '}', '[', '"', '\\', '\\u0000', '\\ud800', ',', ':', 'null', '1e999', '-0', '9'.repeat(40)),
    ),
  }),
  fc.record({ kind: fc.constant('remove' as const), at: fc.nat(2_000), length: fc.integer({ min: 1, max: 20 }) }),
  fc.record({
    kind: fc.constant('replace' as const),
    key: fc.nat(40),
    value: fc.oneof(
      fc.json({ maxDepth: 2 }),
      fc.constantFrom('null', 'true', '-1', '1.5', '1e308', '""', '[]', '{}', '9007199254740993', '"__proto__"'),
    ),
  }),
  fc.record({
    kind: fc.constant('rename' as const),
    key: fc.nat(40),
    name: fc.constantFrom('__proto__', 'constructor', 'toString', '', 'type', 'kind', 'StartOrchestration'),
  }),
);
type Mutation = typeof mutation extends fc.Arbitrary<infer M> ? M : never;

/** Damages the text; keys and values are counted from the left. */
function damaged(text: string, mutations: readonly Mutation[]): string {
  return mutations.reduce((now, change) => {
    switch (change.kind) {
      case 'cut':
        return now.slice(0, change.at % (now.length + 1));
      case 'insert': {
        const at = change.at % (now.length + 1);
        return now.slice(0, at) + change.text + now.slice(at);
      }
      case 'remove': {
        const at = change.at % (now.length + 1);
        return now.slice(0, at) + now.slice(at + change.length);
      }
      case 'replace':
        return nth(now, /:("(?:[^"\\]|\\.)*"|[-\d.e]+|null|true|false)/g, change.key, `:${change.value}`);
      case 'rename':
        return nth(now, /"(?:[^"\\]|\\.)*":/g, change.key, `${JSON.stringify(change.name)}:`);
    }
  }, text);
}

function nth(text: string, pattern: RegExp, index: number, replacement: string): string {
  const found = [...text.matchAll(pattern)];
  const one = found[index % Math.max(1, found.length)];
  return one === undefined ? text : text.slice(0, one.index) + replacement + text.slice(one.index + one[0].length);
}

const INSTANCE = 'victim';
const items = [
  startItem(INSTANCE),
  externalRaised(INSTANCE),
  queueMessage(INSTANCE),
  activityItem(INSTANCE, 2, { sessionId: 's', tag: 't' }),
].map(encodeWorkItem);

describe('decoders: any text is a value or a WireError', () => {
  test.each([
    { what: 'work items', decode: decodeWorkItem, encode: encodeWorkItem as (value: never) => string, texts: items },
    {
      what: 'events',
      decode: decodeEvent,
      encode: encodeEvent as (value: never) => string,
      texts: [
        '{"event_id":1,"source_event_id":null,"instance_id":"i","execution_id":1,"timestamp_ms":1,"duroxide_version":"0.1.30","type":"OrchestrationStarted","name":"O","version":"1.0.0","input":"1","parent_instance":null,"parent_id":null}',
      ],
    },
  ])('$what', ({ decode, encode, texts }) => {
    fc.assert(
      fc.property(fc.constantFrom(...texts), fc.array(mutation, { minLength: 1, maxLength: 4 }), (text, mutations) => {
        const hostile = damaged(text, mutations);
        let value: unknown;
        try {
          value = decode(hostile);
        } catch (error) {
          // Never a TypeError from somewhere inside, and never the text itself.
          return error instanceof WireError && (hostile.length < 20 || !error.message.includes(hostile));
        }
        // What was read can be written, and read again.
        const written = encode(value as never);
        return (
          encode(decode(written) as never) === written && ({} as Record<string, unknown>)['polluted'] === undefined
        );
      }),
      runs(3_000),
    );
  });

  test('nested 200,000 deep', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    for (const decode of [decodeWorkItem, decodeEvent]) {
      for (const text of [
        deep,
        `{"StartOrchestration":${deep}}`,
        `{"type":"ActivityCompleted","result":${deep}}`,
        '{"a":'.repeat(200_000),
      ]) {
        expect(() => decode(text)).toThrow(WireError);
      }
    }
  });
});

const schema = uniqueSchema('fuzz');
const clock = new FakeClock();
let provider: DrizzleProvider;
let serial = 0;

const handlers: Handlers = {
  activities: { Work: () => 'done' },
  orchestrations: {
    *TestOrch(ctx: Ctx) {
      ctx.setValue('k', 'v');
      const result: unknown = yield ctx.scheduleActivity('Work', 1);
      const event: unknown = yield ctx.waitForEvent('poke');
      return [result, event];
    },
    *Healthy(ctx: Ctx) {
      return yield ctx.scheduleActivity('Work', 1);
    },
  },
};

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
afterEach(async () => {
  await withClient((client) =>
    client.query(
      [
        'orchestrator_queue',
        'worker_queue',
        'instance_locks',
        'history',
        'executions',
        'instances',
        'kv_store',
        'kv_delta',
        'sessions',
      ]
        .map((table) => `delete from ${schema}.${table}`)
        .join(';'),
    ),
  );
});

/** A history that cannot be read is said to be so. */
function unreadable(error: unknown): void {
  if (!ProviderError.is(error) || error.retryable) throw error;
}

/** What may happen to the victim is one thing; the neighbour ends, beside it and after it. */
async function neighbourEnds(runtime: SteppedRuntime): Promise<void> {
  const neighbour = `neighbour-${++serial}`;
  await runtime.client.startOrchestration(neighbour, 'Healthy');
  for (let look = 0; look < 30; look++) {
    await runtime.step();
    if ((await runtime.client.getStatus(neighbour)).status === 'Completed') return;
    clock.advance(1_000);
  }
  throw new Error('the neighbour did not end');
}

describe('C-19 C-24 damaged rows: the neighbour ends', () => {
  test('messages and activities, as somebody else could have written them', async () => {
    const runtime = new SteppedRuntime(provider, clock, handlers, { workerTagFilter: 'any' });
    await withClient((client) =>
      fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...items),
          fc.array(mutation, { minLength: 1, maxLength: 3 }),
          async (text, mutations) => {
            // PostgreSQL itself keeps NUL and half a surrogate out.
            const hostile = damaged(text, mutations).replaceAll('\u0000', '').toWellFormed();
            const victim = `victim-${++serial}`;
            const at = new Date(clock.nowMs() - 1_000);
            const table = text.startsWith('{"ActivityExecute"') ? 'worker_queue' : 'orchestrator_queue';
            await client.query(
              `insert into ${schema}.${table} (instance_id, work_item, visible_at, created_at) values ($1, $2, $3, $3)`,
              [victim, hostile.replaceAll(INSTANCE, victim), at],
            );
            await neighbourEnds(runtime);
          },
        ),
        runs(25),
      ),
    );
    await runtime.stop();
  });

  test('histories', async () => {
    const runtime = new SteppedRuntime(provider, clock, handlers, { warmInstances: 0 });
    await withClient((client) =>
      fc.assert(
        fc.asyncProperty(fc.nat(), fc.array(mutation, { minLength: 1, maxLength: 3 }), async (which, mutations) => {
          const victim = `victim-${++serial}`;
          await runtime.client.startOrchestration(victim, 'TestOrch');
          await runtime.settle();
          const { rows } = await client.query<{ id: string; data: string }>(
            `select event_id as id, event_data as data from ${schema}.history where instance_id = $1 order by 1`,
            [victim],
          );
          const row = rows[which % rows.length];
          if (!row) throw new Error('the victim has no history');
          await client.query(`update ${schema}.history set event_data = $3 where instance_id = $1 and event_id = $2`, [
            victim,
            row.id,
            damaged(row.data, mutations).replaceAll('\u0000', '').toWellFormed(),
          ]);
          await runtime.client.raiseEvent(victim, 'poke', 'x');
          await neighbourEnds(runtime);
          await runtime.client.getStatus(victim);
          await runtime.client.readExecutionHistory(victim, 1).catch(unreadable);
          await runtime.client.deleteInstance(victim, true);
        }),
        runs(15),
      ),
    );
    await runtime.stop();
  });
});

describe('C-35 any arguments at all: an Error or an answer, and the neighbour ends', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSparseArray: true,
  });
  const argument = fc.oneof(
    anything,
    fc.constantFrom<unknown>(
      '',
      ' ',
      'sub::x',
      '\u0000',
      '\ud800',
      '__proto__',
      'id',
      'x'.repeat(3_000),
      NaN,
      Infinity,
      -1,
      2 ** 31,
      Symbol('s'),
      () => 1,
    ),
  );
  const methods = [
    'startOrchestration',
    'startOrchestrationVersioned',
    'raiseEvent',
    'enqueueEvent',
    'cancelInstance',
    'getStatus',
    'getValue',
    'getKvAllValues',
    'listInstancesByStatus',
    'getInstanceInfo',
    'getExecutionInfo',
    'listExecutions',
    'readExecutionHistory',
    'getInstanceTree',
    'getOrchestrationStats',
    'deleteInstance',
    'deleteInstanceBulk',
    'pruneExecutions',
    'pruneExecutionsBulk',
  ] as const;

  test('of a client', async () => {
    const memory = new MemoryProvider(clock);
    const client = new Client(memory) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods), fc.array(argument, { maxLength: 4 }), async (method, args) => {
        try {
          await client[method]?.(...args);
          return true;
        } catch (error) {
          // A `TypeError` of the engine is the right answer to a BigInt, and to nothing that is an id or a name.
          return error instanceof Error && error.message.length < 5_000;
        }
      }),
      runs(2_000),
    );
    const runtime = new SteppedRuntime(memory, clock, handlers);
    await runtime.settle();
    expect((await runtime.run('healthy', 'Healthy')).status).toBe('Completed');
    await runtime.stop();
  });

  test('of a runtime', async () => {
    const names = [
      'orchestrationConcurrency',
      'workerConcurrency',
      'maxPollIntervalMs',
      'workerLockTimeoutMs',
      'maxAttempts',
      'supportedReplayVersions',
      'workerTagFilter',
      'unregisteredBackoff',
      'observability',
      'lockRenewal',
      'logLevel',
      'warmBytes',
    ];
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names), argument),
        fc.array(argument, { maxLength: 3 }),
        (options, args) => {
          const problems: unknown[] = [];
          const attempt = (work: () => unknown) => {
            try {
              work();
            } catch (error) {
              problems.push(error);
            }
          };
          attempt(() => new Runtime(new MemoryProvider(clock), { ...options, logger: silentLogger }));
          const runtime = new Runtime(new MemoryProvider(clock), { logger: silentLogger });
          attempt(() => (runtime.registerActivity as (...all: unknown[]) => void).apply(runtime, args));
          attempt(() => (runtime.registerOrchestration as (...all: unknown[]) => void).apply(runtime, args));
          attempt(() => (runtime.registerOrchestrationVersioned as (...all: unknown[]) => void).apply(runtime, args));
          attempt(() => (runtime.register as (...all: unknown[]) => void).apply(runtime, args));
          return problems.every((error) => error instanceof Error);
        },
      ),
      runs(1_000),
    );
  });

  test('of a context: the instance fails or ends, and the worker goes on', async () => {
    const steps = [
      'scheduleActivity',
      'scheduleActivityOnSession',
      'scheduleActivityWithRetry',
      'scheduleTimer',
      'waitForEvent',
      'dequeueEvent',
      'scheduleSubOrchestration',
      'scheduleSubOrchestrationWithId',
      'startOrchestration',
      'continueAsNew',
      'all',
      'race',
      'setValue',
      'setCustomStatus',
      'getValue',
      'clearValue',
      'pruneKvValuesUpdatedBefore',
      'traceInfo',
      'getValueFromInstance',
    ];
    const plan: { step: string; args: unknown[]; yields: boolean; again: number } = {
      step: '',
      args: [],
      yields: false,
      again: 0,
    };
    const memory = new MemoryProvider(clock);
    const runtime = new SteppedRuntime(memory, clock, {
      ...handlers,
      orchestrations: {
        ...handlers.orchestrations,
        *Hostile(ctx: Ctx) {
          if (plan.again++ > 3) return 'enough';
          const task: unknown = ctx[plan.step](...plan.args);
          if (plan.yields) yield task;
          return 'ended';
        },
        *Yields() {
          yield plan.args[0];
          return plan.args[1];
        },
      },
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...steps, 'yield'),
        fc.array(argument, { maxLength: 3 }),
        fc.boolean(),
        async (step, args, yields) => {
          Object.assign(plan, { step, args, yields, again: 0 });
          await runtime.client.startOrchestration(`hostile-${++serial}`, step === 'yield' ? 'Yields' : 'Hostile');
          for (let look = 0; look < 10; look++) await runtime.step();
          const healthy = `healthy-${serial}`;
          await runtime.client.startOrchestration(healthy, 'Healthy');
          for (let look = 0; look < 10; look++) await runtime.step();
          return (await runtime.client.getStatus(healthy)).status === 'Completed';
        },
      ),
      runs(400),
    );
    await runtime.stop();
  });

  test('nested values as arguments', async () => {
    const runtime = new SteppedRuntime(new MemoryProvider(clock), clock, handlers);
    await runtime.client.startOrchestration('deep', 'Healthy', nested(2_000));
    expect((await runtime.runToEnd('deep')).status).toBe('Completed');
    await runtime.stop();
  });
});
