import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';

const raised = (instance: string): WorkItem => ({ kind: 'ExternalRaised', instance, name: 'e', data: '1' });
const activity = (id: number): WorkItem => ({
  kind: 'ActivityExecute',
  instance: 'i',
  executionId: 1,
  id,
  name: 'A',
  input: '1',
});

describe.each([
  ['DrizzleProvider', DrizzleProvider],
  ['StoredFunctionProvider', StoredFunctionProvider],
] as const)('%s: queue backlogs', (_name, Implementation) => {
  const schema = uniqueSchema('backlog');
  const clock = new FakeClock();
  let provider: DrizzleProvider | StoredFunctionProvider;
  beforeAll(async () => {
    // The functions are put there by the first; both read the same rows.
    const first = await DrizzleProvider.connect(databaseUrl(), { schema, clock, logger: silentLogger });
    await first.migrate({ storedFunctions: true });
    await first.close();
    provider = await Implementation.connect(databaseUrl(), { schema, clock, logger: silentLogger });
  });
  afterAll(async () => {
    await provider.close();
    await dropSchema(schema);
  });
  const backlogs = () => provider.asManagement().getQueueBacklogs();

  test('nothing waits in an empty store', async () => {
    expect(await backlogs()).toEqual([
      { queue: 'orchestrator', ready: 0, isAtLeast: false, oldestAtMs: null },
      { queue: 'worker', ready: 0, isAtLeast: false, oldestAtMs: null },
    ]);
  });

  test('what is delayed or locked does not wait; a lock that expired does, since its row is visible', async () => {
    const startMs = clock.nowMs();
    await provider.enqueueForOrchestrator([{ item: raised('a') }, { item: raised('b'), delayMs: 60_000 }]);
    clock.advance(5_000);
    await provider.enqueueForWorker([activity(1), activity(2)]);
    expect(await backlogs()).toEqual([
      { queue: 'orchestrator', ready: 1, isAtLeast: false, oldestAtMs: startMs },
      { queue: 'worker', ready: 2, isAtLeast: false, oldestAtMs: startMs + 5_000 },
    ]);
    await provider.fetchWorkItems({ limit: 1, lockTimeoutMs: 10_000, tagFilter: { kind: 'any' } });
    expect((await backlogs())[1]).toMatchObject({ ready: 1 });
    clock.advance(10_000);
    expect((await backlogs())[1]).toMatchObject({ ready: 2, oldestAtMs: startMs + 5_000 });
    clock.advance(60_000);
    expect((await backlogs())[0]).toMatchObject({ ready: 2, oldestAtMs: startMs });
  });

  test('counting stops at 10,000', async () => {
    await withClient((client) =>
      client.query(
        `insert into "${schema}".worker_queue (work_item, visible_at, created_at)
         select '{}', to_timestamp($1::bigint / 1000.0), now() from generate_series(1, 10100)`,
        [clock.nowMs() - 1],
      ),
    );
    expect((await backlogs())[1]).toMatchObject({ ready: 10_000, isAtLeast: true });
  });
});
