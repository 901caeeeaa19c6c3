import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { connectNative, nativeAvailable, type NativeSdk, nativeUnavailableReason } from './native.js';
import { dropTurnLog, readTurns, recordTurns } from './turn-recorder.js';

const suite = nativeAvailable ? describe : describe.skip;

suite(`native oracle ${nativeUnavailableReason}`, () => {
  const schema = uniqueSchema('oracle');
  let sdk: NativeSdk;

  beforeAll(async () => {
    sdk = await connectNative(databaseUrl(), schema);
    await withClient((client) => recordTurns(client, schema));
  });
  afterAll(async () => {
    await sdk.close();
    await withClient((client) => dropTurnLog(client, schema));
    await dropSchema(schema);
  });

  test('runs a generator with activities, failures, joins, KV and a context of its own', async () => {
    const runtime = sdk.runtime({ dispatcherPollIntervalMs: 5 });
    runtime.registerActivity('greet', (ctx, who) => `hello ${String(who)} from ${ctx.activityName}`);
    runtime.registerActivity('fail', () => {
      throw new Error('no luck');
    });
    runtime.registerOrchestration('tour', function* (ctx, input) {
      const greeting = yield ctx.scheduleActivity('greet', input);
      ctx.setValue('greeting', greeting);
      ctx.setCustomStatus('greeted');
      const both = yield ctx.all([ctx.scheduleActivity('fail'), ctx.scheduleTimer(1)]);
      let caught = '';
      try {
        yield ctx.scheduleActivity('fail');
      } catch (error) {
        caught = (error as Error).message;
      }
      return { greeting, both, caught, kv: ctx.getValue('greeting'), id: ctx.instanceId, execution: ctx.executionId };
    });
    await runtime.start();
    const client = sdk.client();
    await client.startOrchestration('tour-1', 'tour', 'Ann');
    const status = await client.waitForOrchestration('tour-1');
    await runtime.shutdown(100);
    const failure = "Activity 'fail' JS execution failed: GenericFailure, Error: no luck";
    expect(status).toMatchObject({
      status: 'Completed',
      customStatus: 'greeted',
      output: {
        greeting: 'hello Ann from greet',
        both: [{ err: failure }, { ok: null }],
        caught: failure,
        kv: 'hello Ann from greet',
        id: 'tour-1',
        execution: 1,
      },
    });
  });

  test('the recorder tells turns apart', async () => {
    const turns = await withClient((client) => readTurns(client, schema));
    const ofTour = turns.filter((turn) => turn.instance === 'tour-1');
    const kinds = (texts: readonly string[]) => texts.map((text) => (JSON.parse(text) as { type: string }).type);
    expect(ofTour[0]).toMatchObject({
      executionId: 1,
      messages: [{ StartOrchestration: { instance: 'tour-1', input: '"Ann"' } }],
      workerItems: [{ item: { ActivityExecute: { name: 'greet', id: 2 } }, tag: null, sessionId: null }],
    });
    expect(kinds(ofTour[0]?.events ?? [])).toEqual(['OrchestrationStarted', 'ActivityScheduled']);
    expect(ofTour[1]?.messages).toMatchObject([{ ActivityCompleted: { id: 2 } }]);
    expect(kinds(ofTour[1]?.events ?? [])).toEqual([
      'ActivityCompleted',
      'KeyValueSet',
      'CustomStatusUpdated',
      'ActivityScheduled',
      'TimerCreated',
    ]);
    expect(ofTour.at(-1)?.executionRow).toMatchObject({ status: 'Completed' });
  });
});
