import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { MemoryProvider } from '../support/memory-provider.js';
import type { Handlers } from '../support/runtime-harness.js';
import { SteppedRuntime } from '../support/runtime-harness.js';
import { describeScenarios } from '../support/scenarios.js';

const orchestrations: NonNullable<Handlers['orchestrations']> = {
  *Sessions(ctx, sessions) {
    const tasks = sessions.map((session: string | null, i: number) =>
      session === null ? ctx.scheduleActivity('Where', i) : ctx.scheduleActivityOnSession('Where', i, session),
    );
    return (yield ctx.all(tasks)).map((result: { ok: unknown }) => result.ok);
  },
  *Tagged(ctx, tag) {
    const { index, value } = yield ctx.race(ctx.scheduleActivity('Where').withTag(tag), ctx.scheduleTimer(60_000));
    return index === 0 ? value : 'nobody';
  },
  *Untagged(ctx) {
    const { index, value } = yield ctx.race(ctx.scheduleActivity('Where'), ctx.scheduleTimer(60_000));
    return index === 0 ? value : 'nobody';
  },
  *Again(ctx, n) {
    const where = yield ctx.scheduleActivityOnSession('Where', n, 's-again');
    return n === 0 ? where : yield ctx.continueAsNew(n - 1);
  },
};
const where: Handlers = {
  activities: { Where: (ctx, i) => ({ i, session: ctx.sessionId, worker: ctx.workerId, tag: ctx.tag() }) },
  orchestrations,
};

describeScenarios('sessions and tags', {
  'R:ST-01 R:ST-02 session activities see their session, others none, and they mix': async ({ open, id }) => {
    const runtime = open(where);
    const [a, b] = [id('s'), id('s')];
    const { output } = await runtime.run(id(), 'Sessions', [a, null, b, a]);
    expect((output as { session: unknown }[]).map(({ session }) => session)).toEqual([a, null, b, a]);
  },

  'R:ST-03 a node id of the user names the worker': async ({ open, id }) => {
    const runtime = open(where, { workerNodeId: 'node-7' });
    const { output } = await runtime.run(id(), 'Sessions', [id('s')]);
    expect((output as { worker: string }[])[0]?.worker).toMatch(/^work-\d+-node-7$/);
  },

  'R:CA-12 a session goes on over continue-as-new': async ({ open, id }) => {
    const runtime = open(where);
    expect((await runtime.run(id(), 'Again', 3)).output).toMatchObject({ i: 0, session: 's-again' });
  },

  'R:ST-09 R:ST-10 R:ST-11 a tagged activity runs on a matching worker only, and waits without one': async ({
    open,
    id,
  }) => {
    const plain = open(where);
    expect((await plain.run(id(), 'Tagged', 'gpu')).output).toBe('nobody');
    const gpu = open(where, { workerTagFilter: { tags: ['gpu'] } });
    expect((await gpu.run(id(), 'Tagged', 'gpu')).output).toMatchObject({ tag: 'gpu' });
    expect((await gpu.run(id(), 'Untagged')).output).toBe('nobody');
    const both = open(where, { workerTagFilter: { defaultAnd: ['gpu'] } });
    expect((await both.run(id(), 'Untagged')).output).toMatchObject({ tag: null });
    const any = open(where, { workerTagFilter: 'any' });
    expect((await any.run(id(), 'Tagged', 'whatever')).output).toMatchObject({ tag: 'whatever' });
  },

  'R:ST-11 a tag of 256 bytes passes, one of 257 fails the instance': async ({ open, id }) => {
    const runtime = open(where, { workerTagFilter: 'any' });
    expect((await runtime.run(id(), 'Tagged', 'é'.repeat(128))).status).toBe('Completed');
    expect((await runtime.run(id(), 'Tagged', 'é'.repeat(128) + 'x')).error).toBe(
      "Activity 'Where' tag size (257 bytes) exceeds limit (256 bytes)",
    );
  },

  'R:ST-12 two runtimes with different tags share an instance': async ({ open, id }) => {
    const handlers: Handlers = {
      ...where,
      orchestrations: {
        *Both(ctx) {
          return yield ctx.all(['a', 'b'].map((tag) => ctx.scheduleActivity('Where').withTag(tag)));
        },
      },
    };
    const a = open(handlers, { workerTagFilter: { tags: ['a'] } });
    const b = open(handlers, { workerTagFilter: { tags: ['b'] } });
    const instance = id();
    await a.client.startOrchestration(instance, 'Both');
    await a.settle();
    await b.settle();
    expect((await a.runToEnd(instance)).output).toMatchObject([{ ok: { tag: 'a' } }, { ok: { tag: 'b' } }]);
  },
});

describe('bounds of sessions', () => {
  /** Activities that end when told, with the order in which they began. */
  async function held(sessions: readonly string[], options = {}) {
    const clock = new FakeClock();
    const provider = new MemoryProvider(clock);
    const began: number[] = [];
    const ends = new Map<number, () => void>();
    const runtime = new SteppedRuntime(
      provider,
      clock,
      {
        activities: {
          Where: (_ctx, i) => {
            began.push(i);
            return new Promise<void>((resolve) => ends.set(i, resolve));
          },
        },
        orchestrations,
      },
      options,
    );
    await runtime.client.startOrchestration('i', 'Sessions', sessions);
    await runtime.parts.orchestrations.runOnce();
    const look = async () => {
      await runtime.parts.activities.look();
      await settled();
    };
    const end = async (i: number) => {
      ends.get(i)?.();
      await settled();
    };
    await look();
    return { runtime, provider, clock, began, look, end };
  }

  async function settled(): Promise<void> {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  test('R:ST-04 without a node id a session is served serially', async () => {
    const { began, end } = await held(['a', 'a', 'b', 'a']);
    expect(began).toEqual([0, 2]);
    await end(0);
    expect(began).toEqual([0, 2, 1]);
    await end(1);
    expect(began).toEqual([0, 2, 1, 3]);
  });

  test('R:ST-03 with a node id several slots serve one session at once', async () => {
    const { began } = await held(['a', 'a', 'b', 'a'], { workerNodeId: 'n' });
    expect(began).toEqual([0, 1, 2, 3]);
  });

  test('R:ST-06 the number of sessions is bounded; a blocked one runs when another is done', async () => {
    const { began, look, end, runtime } = await held(['a', 'b', 'c', 'a'], { maxSessionsPerRuntime: 2 });
    expect(began).toEqual([0, 1]);
    await look();
    expect(began).toEqual([0, 1]);
    await end(1);
    await look();
    expect(began).toEqual([0, 1, 2]);
    await end(0);
    expect(began).toEqual([0, 1, 2, 3]);
    expect(runtime.core.metrics.providerErrors).toBe(0);
  });

  test('R:ST-07 an idle time not above the renewal interval of workers is refused at start', async () => {
    const provider = new MemoryProvider(new FakeClock());
    const runtime = new Runtime(provider, { sessionIdleTimeoutMs: 25_000 });
    await expect(runtime.start()).rejects.toThrow(/sessionIdleTimeoutMs \(25000 ms\).*\(25000 ms\)/);
    const short = new Runtime(provider, { sessionIdleTimeoutMs: 1_000, workerLockTimeoutMs: 2_000 });
    await expect(short.start()).rejects.toThrow(/\(1000 ms\)/);
  });
});
