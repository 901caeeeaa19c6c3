import { afterEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { activityCompleted, activityItem } from '../../src/conformance/records.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { withCodec } from '../../src/provider/codec/codec-provider.js';
import type { PayloadCodec } from '../../src/provider/codec/payload-codec.js';
import type { AckOrchestrationItem, Provider } from '../../src/provider/provider.js';
import { ProviderError } from '../../src/provider/provider-error.js';
import type { RuntimeOptions } from '../../src/runtime/options.js';
import {
  type DirectEnd,
  type DirectRun,
  DirectTurns,
  type DirectTurnsCore,
  type DirectTurnsParts,
} from '../../src/runtime/direct-turns.js';
import { Runtime } from '../../src/runtime/runtime.js';
import type { WarmEntry } from '../../src/runtime/warm-cache.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { type Handlers, register } from '../support/runtime-harness.js';

const nextLap = () => new Promise((resolve) => setImmediate(resolve));

interface Given {
  readonly isStopping?: boolean;
  readonly takesDirectTurns?: boolean;
  readonly verifyWarm?: boolean;
  readonly concurrency?: number;
  readonly isolation?: Partial<DirectTurnsParts['isolation']>;
  readonly takesTurns?: boolean;
}

/** Instances x and y are warm behind event 3 of their first execution. */
function directTurns(given: Given = {}) {
  const stopping = new AbortController();
  if (given.isStopping) stopping.abort();
  const core: DirectTurnsCore = {
    provider: { takesDirectTurns: given.takesDirectTurns ?? true },
    options: { orchestrationConcurrency: given.concurrency ?? 10, verifyWarm: given.verifyWarm ?? false },
    stopping: stopping.signal,
  };
  const warm = new Map(
    ['x', 'y'].map((instance) => [instance, { execution: { executionId: 1 }, lastEvent: { eventId: 3 } } as WarmEntry]),
  );
  const runs: DirectRun[] = [];
  const settled: [number, DirectEnd][] = [];
  const turns = new DirectTurns(core, {
    cache: {
      held: (instance) => {
        const entry = warm.get(instance);
        return entry && { executionId: entry.execution.executionId, lastEventId: entry.lastEvent.eventId };
      },
      take: (instance) => {
        const entry = warm.get(instance);
        warm.delete(instance);
        return entry;
      },
    },
    isolation: { isPresent: false, keepsTurnsAway: false, ...given.isolation },
    takesTurns: () => given.takesTurns ?? true,
    run: (turn) => runs.push(turn),
  });
  const offer = (
    id: number,
    { instance = 'x', completion = activityCompleted(instance, id), attemptCount = 1, sessionId }: Offer = {},
  ) =>
    turns.offer({
      row: { item: activityItem(instance, id, { sessionId }), instance, lockToken: `t${id}`, attemptCount },
      completion,
      settle: (end) => settled.push([id, end]),
    });
  return { offer, runs, settled, warm, stop: () => stopping.abort() };
}

interface Offer {
  readonly instance?: string;
  readonly completion?: WorkItem;
  readonly attemptCount?: number;
  readonly sessionId?: string;
}

const failure = { kind: 'Application', application: { kind: 'ActivityFailed' }, message: 'no', retryable: false };

describe('direct turns', () => {
  test('outcomes that come together make one turn, in their order, from the last event', async () => {
    const { offer, runs, settled } = directTurns();
    expect([offer(3), offer(2), offer(2, { instance: 'y' })]).toEqual([true, true, true]);
    expect(runs).toEqual([]);
    await nextLap();
    expect(
      runs.map(({ item, workTokens, lastEventId }) => [item.instance, item.messages, workTokens, lastEventId]),
    ).toEqual([
      ['x', [activityCompleted('x', 3), activityCompleted('x', 2)], ['t3', 't2'], 3],
      ['y', [activityCompleted('y', 2)], ['t2'], 3],
    ]);
    runs[0]?.ended('committed');
    expect(settled).toEqual([
      [3, 'committed'],
      [2, 'committed'],
    ]);
  });

  test('who comes while a turn of the instance is under way waits for it, and goes on from what it left', async () => {
    const { offer, runs, settled, warm } = directTurns();
    offer(2);
    await nextLap();
    expect(warm.has('x')).toBe(false);
    expect(offer(3)).toBe(true);
    await nextLap();
    expect(runs).toHaveLength(1);
    warm.set('x', { execution: { executionId: 1 }, lastEvent: { eventId: 7 } } as WarmEntry);
    runs[0]?.ended('committed');
    await nextLap();
    expect(runs[1]).toMatchObject({ workTokens: ['t3'], lastEventId: 7 });
    expect(settled).toEqual([[2, 'committed']]);
  });

  test('who waited for a turn after which nothing is warm, or another execution is, goes through the queue', async () => {
    for (const left of [undefined, { execution: { executionId: 2 }, lastEvent: { eventId: 9 } } as WarmEntry]) {
      const { offer, runs, settled, warm } = directTurns();
      offer(2);
      await nextLap();
      offer(3);
      if (left) warm.set('x', left);
      runs[0]?.ended('refused');
      await nextLap();
      expect(runs).toHaveLength(1);
      expect(settled).toEqual([
        [2, 'refused'],
        [3, 'refused'],
      ]);
      // Of another execution it stays for its own turns.
      expect(warm.get('x')).toBe(left);
    }
  });

  test.each<[string, Given, Offer & { readonly id?: number }]>([
    ['the store cannot', { takesDirectTurns: false }, {}],
    ['the runtime stops', { isStopping: true }, {}],
    ['warm turns are compared with replays', { verifyWarm: true }, {}],
    ['no orchestrations run here', { takesTurns: false }, {}],
    ['a suspect is present', { isolation: { isPresent: true } }, {}],
    ['a suspect keeps turns away', { isolation: { keepsTurnsAway: true } }, {}],
    ['the instance is not warm', {}, { instance: 'z' }],
    ['it is of another execution', {}, { completion: { ...activityCompleted('x', 2), executionId: 2 } as WorkItem }],
    ['what is warm is older than the activity', {}, { id: 4 }],
    ['it is a second attempt', {}, { attemptCount: 2 }],
    ['it has a session', {}, { sessionId: 's' }],
    ['it cannot be stored as it is', {}, { completion: activityCompleted('x', 2, '\u0000') }],
    [
      'it failed',
      {},
      { completion: { kind: 'ActivityFailed', instance: 'x', executionId: 1, id: 2, details: failure } as WorkItem },
    ],
  ])('not when %s', (_, given, { id = 2, ...outcome }) => {
    expect(directTurns(given).offer(id, outcome)).toBe(false);
  });

  test('a stop between the outcome and its turn: through the queue', async () => {
    const { offer, runs, settled, stop } = directTurns();
    offer(2);
    stop();
    await nextLap();
    expect([runs, settled]).toEqual([[], [[2, 'refused']]]);
  });

  test('no more turns at once than the runtime has slots', async () => {
    const { offer, runs } = directTurns({ concurrency: 1 });
    offer(2);
    offer(2, { instance: 'y' });
    await nextLap();
    expect(runs.map(({ item }) => item.instance)).toEqual(['x']);
    runs[0]?.ended('committed');
    await nextLap();
    expect(runs.map(({ item }) => item.instance)).toEqual(['x', 'y']);
  });
});

describe('a runtime on PostgreSQL', () => {
  let close: (() => Promise<void>) | undefined;
  afterEach(() => close?.());

  const handlers: Handlers = {
    activities: { Echo: (_ctx, input) => input },
    orchestrations: {
      *Chain(ctx) {
        const values: unknown[] = [];
        for (let n = 0; n < 5; n++) values.push(yield ctx.scheduleActivity('Echo', n));
        return values;
      },
      *Message(ctx) {
        const echo = yield ctx.scheduleActivity('Echo', 1);
        return [echo, yield ctx.dequeueEvent('box')];
      },
    },
  };

  /** A runtime, and the acknowledgements that it made; `ack` may stand in for one. */
  async function open(
    ack: (
      turns: readonly AckOrchestrationItem[],
      commit: DrizzleProvider['ackOrchestrationItems'],
    ) => ReturnType<DrizzleProvider['ackOrchestrationItems']>,
    options: RuntimeOptions = {},
    around: (provider: DrizzleProvider) => Provider = (provider) => provider,
  ) {
    const schema = uniqueSchema('direct');
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
    const store = around(provider);
    const runtime = new Runtime(store, { logger: silentLogger, logLevel: 'off', ...options });
    register(runtime, handlers);
    const commit = provider.ackOrchestrationItems.bind(provider);
    provider.ackOrchestrationItems = (turns) => ack(turns, commit);
    const counts = { completions: 0 };
    const ackWork = provider.ackWorkItems.bind(provider);
    provider.ackWorkItems = (elements) => {
      counts.completions += elements.length;
      return ackWork(elements);
    };
    await runtime.start();
    close = async () => {
      close = undefined;
      await runtime.shutdown(0);
      await provider.close();
      await dropSchema(schema);
    };
    return { client: new Client(store), runtime, counts };
  }

  test('goes from step to step without its queue', async () => {
    const { client, runtime, counts } = await open((turns, commit) => commit(turns));
    await client.startOrchestration('x', 'Chain');
    expect((await client.waitForOrchestration('x')).output).toEqual([0, 1, 2, 3, 4]);
    expect(counts.completions).toBe(0);
    expect(runtime.metricsSnapshot()).toMatchObject({
      orchStarts: 6,
      warmTurns: 5,
      activitySuccess: 5,
      providerErrors: 0,
    });
  });

  test('with a codec, whose texts no two are equal', async () => {
    let encoded = 0;
    const codec: PayloadCodec = {
      name: 'counting',
      encode: (payload) => `${++encoded}:${payload}`,
      decode: (data) => data.replace(/^\d+:/, ''),
    };
    const { client, counts } = await open(
      (turns, commit) => commit(turns),
      {},
      (provider) => withCodec(provider, codec),
    );
    await client.startOrchestration('x', 'Chain');
    expect((await client.waitForOrchestration('x')).output).toEqual([0, 1, 2, 3, 4]);
    expect(counts.completions).toBe(0);
    expect(encoded).toBeGreaterThan(10);
  });

  test('a turn that something overtook: the outcome goes through the queue, and nothing is lost', async () => {
    const { client, counts } = await open(async (turns, commit) => {
      if (turns.some(({ direct }) => direct)) await client.enqueueEvent('x', 'box', 'now');
      return commit(turns);
    });
    await client.startOrchestration('x', 'Message');
    expect((await client.waitForOrchestration('x', 20_000)).output).toEqual([1, 'now']);
    expect(counts.completions).toBe(1);
  });

  test.each(['refused', 'unknown'] as const)(
    'a failure whose outcome is %s: the instance ends as it should',
    async (kind) => {
      let failures = 0;
      const { client } = await open(
        async (turns, commit) => {
          if (failures > 0 || !turns.some(({ direct }) => direct)) return commit(turns);
          failures += 1;
          if (kind === 'unknown') await commit(turns);
          const outcome = kind === 'unknown' ? { outcome: 'unknown' as const } : {};
          const error = ProviderError.retryable('ack_orchestration_item', 'the answer was lost', outcome);
          return turns.map(() => ({ ok: false, error }));
        },
        { workerLockTimeoutMs: 2_000 },
      );
      await client.startOrchestration('x', 'Chain');
      expect((await client.waitForOrchestration('x', 20_000)).output).toEqual([0, 1, 2, 3, 4]);
      expect(failures).toBe(1);
    },
  );
});
