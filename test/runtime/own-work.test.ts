import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import type { InstanceState, LockedWorkItem, TagFilter, WorkItemLock } from '../../src/provider/provider.js';
import { ProviderError } from '../../src/provider/provider-error.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { OwnWork, type OwnWorkParts } from '../../src/runtime/own-work.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { activityItem } from '../../src/conformance/records.js';
import { ackOf } from '../../src/conformance/trial.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { register } from '../support/runtime-harness.js';

const lock = { instance: 'x', lockToken: 'turn' };
const turnWith = (...workerItems: ReturnType<typeof activityItem>[]) => ackOf(lock, { workerItems });

function ownWork(
  parts: Partial<OwnWorkParts> = {},
  { tagFilter = { kind: 'defaultOnly' }, locksOwnWork = true }: { tagFilter?: TagFilter; locksOwnWork?: boolean } = {},
) {
  const taken: LockedWorkItem[] = [];
  const givenBack: WorkItemLock[] = [];
  const stopping = new AbortController();
  const core = {
    provider: { locksOwnWork },
    options: { tagFilter, workerLockTimeoutMs: 30_000 },
    clock: new FakeClock(),
    stopping: stopping.signal,
  };
  const work = new OwnWork(core, {
    room: () => 10,
    isRegistered: () => true,
    take: (rows) => taken.push(...rows),
    giveBack: (locks) => givenBack.push(...locks),
    ...parts,
  });
  return { work, taken, givenBack, stop: () => stopping.abort() };
}

describe('work of own turns', () => {
  test('is taken at the commit, each under a token of its own, as a first attempt', () => {
    const { work, taken } = ownWork();
    const claim = work.claim(turnWith(activityItem('x', 2), activityItem('x', 3)));
    const tokens = claim?.locks.tokens ?? [];
    expect(new Set(tokens).size).toBe(2);
    expect(claim?.locks.lockTimeoutMs).toBe(30_000);
    expect([work.reservedCount, taken]).toEqual([2, []]);
    claim?.committed();
    expect(work.reservedCount).toBe(0);
    expect(taken.map(({ lockToken, attemptCount }) => [lockToken, attemptCount])).toEqual(tokens.map((t) => [t, 1]));
  });

  test('no more than there is room for, the first ones; what is about to be taken counts', () => {
    const { work } = ownWork({ room: () => 3 - work.reservedCount });
    const claimed = (...ids: number[]) =>
      work.claim(turnWith(...ids.map((id) => activityItem('x', id))))?.locks.tokens.map((token) => token !== null);
    expect(claimed(2, 3)).toEqual([true, true]);
    expect(claimed(4, 5)).toEqual([true, false]);
    expect(claimed(6)).toBeUndefined();
  });

  test('only what this process runs: registered, of its tags, without a session', () => {
    const { work } = ownWork(
      { isRegistered: (name) => name !== 'elsewhere' },
      { tagFilter: { kind: 'defaultAnd', tags: ['gpu'] } },
    );
    const items = [
      activityItem('x', 2, { name: 'elsewhere' }),
      activityItem('x', 3, { tag: 'gpu' }),
      activityItem('x', 4, { tag: 'other' }),
      activityItem('x', 5, { sessionId: 's' }),
      activityItem('x', 6),
    ];
    const tokens = work.claim(turnWith(...items))?.locks.tokens;
    expect(tokens?.map((token) => token !== null)).toEqual([false, true, false, false, true]);
  });

  test('nothing of a turn that cancels, while the runtime stops, or where the store cannot', () => {
    const cancelledActivities = [{ instance: 'x', executionId: 1, activityId: 2 }];
    expect(ownWork().work.claim({ ...turnWith(activityItem('x', 2)), cancelledActivities })).toBeUndefined();
    const stopped = ownWork();
    stopped.stop();
    expect(stopped.work.claim(turnWith(activityItem('x', 2)))).toBeUndefined();
    expect(ownWork({}, { locksOwnWork: false }).work.claim(turnWith(activityItem('x', 2)))).toBeUndefined();
  });

  test('a commit that failed leaves nothing; one that may have happened gives back', () => {
    for (const isKnown of [true, false]) {
      const { work, taken, givenBack } = ownWork();
      const claim = work.claim(turnWith(activityItem('x', 2)));
      claim?.failed(isKnown);
      expect([work.reservedCount, taken]).toEqual([0, []]);
      expect(givenBack.map(({ lockToken }) => lockToken)).toEqual(isKnown ? [] : claim?.locks.tokens);
    }
  });
});

describe('a runtime on PostgreSQL', () => {
  const handlers = {
    activities: { Echo: (_ctx: unknown, input: unknown) => input },
    orchestrations: {
      *Chain(ctx: { scheduleActivity(name: string, input: unknown): unknown }) {
        const values: unknown[] = [];
        for (let n = 0; n < 5; n++) values.push(yield ctx.scheduleActivity('Echo', n));
        return values;
      },
    },
  };

  async function withRuntime(
    patch: (provider: DrizzleProvider) => void,
    use: (client: Client) => Promise<void>,
  ): Promise<void> {
    const schema = uniqueSchema('own');
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
    const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
    register(runtime, handlers);
    patch(provider);
    await runtime.start();
    try {
      await use(new Client(provider));
    } finally {
      await runtime.shutdown(0);
      await provider.close();
      await dropSchema(schema);
    }
  }

  test('runs the activities of its own turns without fetching them', async () => {
    let fetched = 0;
    await withRuntime(
      (provider) => {
        const fetch = provider.fetchWorkItems.bind(provider);
        provider.fetchWorkItems = async (params) => {
          const rows = await fetch(params);
          fetched += rows.length;
          return rows;
        };
      },
      async (client) => {
        await client.startOrchestration('x', 'Chain');
        expect((await client.waitForOrchestration('x')).output).toEqual([0, 1, 2, 3, 4]);
        // The first turn may come while the queue has not been looked at yet.
        expect(fetched).toBeLessThanOrEqual(1);
      },
    );
  });

  test('tells its process how instances ended, so that nobody has to look', async () => {
    const told: InstanceState[] = [];
    await withRuntime(
      (provider) => void provider.onEnded((_, states) => told.push(...states), { states: true }),
      async (client) => {
        await client.startOrchestration('x', 'Chain');
        await client.waitForOrchestration('x');
        expect(told).toMatchObject([{ instance: 'x', status: 'Completed', output: '[0,1,2,3,4]', customStatus: null }]);
      },
    );
  });

  test('a turn that was committed but not answered: its activities are given back and run', async () => {
    let lost = 0;
    await withRuntime(
      (provider) => {
        const ack = provider.ackOrchestrationItems.bind(provider);
        provider.ackOrchestrationItems = async (turns) => {
          const results = await ack(turns);
          if (lost > 0 || !turns.some(({ workerLocks }) => workerLocks)) return results;
          lost += 1;
          const error = ProviderError.retryable('ack_orchestration_item', 'the answer was lost', {
            outcome: 'unknown',
          });
          return turns.map(() => ({ ok: false, error }));
        };
      },
      async (client) => {
        await client.startOrchestration('x', 'Chain');
        expect((await client.waitForOrchestration('x', 20_000)).output).toEqual([0, 1, 2, 3, 4]);
        expect(lost).toBe(1);
      },
    );
  });
});
