import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { UnsupportedError } from '../../src/provider/provider-error.js';
import { declareOrchestration } from '../../src/typed/definitions.js';
import { connectNative, nativeAvailable, type NativeSdk, nativeUnavailableReason } from '../oracle/native.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { waitFor } from '../support/waiting.js';
import { openProcess, type Process } from './support.js';

const suite = nativeAvailable ? describe : describe.skip;

suite(`start queues in a schema of native's ${nativeUnavailableReason}`, () => {
  const schema = uniqueSchema('nstarts');
  const clock = new FakeClock(Date.now());
  let native: NativeSdk;
  let ours: Process;

  beforeAll(async () => {
    native = await connectNative(databaseUrl(), schema);
    ours = await openProcess(schema, clock);
  });
  afterAll(async () => {
    await native.close();
    await ours.provider.close();
    await dropSchema(schema);
  });

  test('after adoptTables native runs what is admitted, to its end, and its ends make room', async () => {
    const { client, loop } = ours;
    const work = declareOrchestration<string, string>('Work');
    // Messages to instances need none of the tables.
    await client.raiseEvent('nobody', 'go', 'on');
    const refused = client.startQueues.create({ id: 'q', concurrency: 1 });
    await expect(refused).rejects.toBeInstanceOf(UnsupportedError);
    await expect(refused).rejects.toThrow(
      /no table ddz_start_queues \(of migration 0003_start_queues\); run .*adoptTables: true/,
    );
    expect((await ours.provider.migrate({ adoptTables: true })).status.missingTables).toEqual([]);
    await client.startQueues.create({ id: 'q', concurrency: 1 });

    const runtime = native.runtime({ dispatcherPollIntervalMs: 10 });
    runtime.registerOrchestration('Work', function* (ctx, input) {
      const first = yield ctx.scheduleActivity('Echo', input);
      const { value } = (yield ctx.dequeueEvent('more')) as { value?: unknown };
      return [first, value ?? null];
    });
    runtime.registerActivity('Echo', (_ctx, input) => input);
    await runtime.start();
    const handles = [];
    for (const id of ['w1', 'w2', 'w3']) handles.push(await client.start(work, id, { id, queue: 'q' }));
    // Native drops what it finds of an instance that was never started: this one is with the start.
    for (const handle of handles) await handle.events.enqueue('more', 'kept');
    for (const [done, handle] of handles.entries()) {
      expect((await loop.look()).admitted).toBe(1);
      expect(await client.startQueues.get('q')).toMatchObject({ waiting: 2 - done });
      await waitFor('native ends it', async () => (await handle.status()).status === 'Completed');
      clock.advance(1_000);
    }
    await runtime.shutdown();
  });
});
