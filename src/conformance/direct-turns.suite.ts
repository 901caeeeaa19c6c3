import type { Result } from '../provider/provider.js';
import { checkGroup } from './check.js';
import {
  activityCompleted,
  activityItem,
  event,
  externalRaised,
  startedEvent,
  startItem,
  timerFired,
} from './records.js';
import { ackOf, LOCK_MS, LONG_LOCK_MS, type Trial, type Turn } from './trial.js';

const metadata = { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' };

/** An activity of an instance that waits for it, held by the caller. */
interface Waiting {
  readonly instance: string;
  /** Lock token of the activity. */
  readonly token: string;
}

/** An instance that scheduled activity 2 in its first turn; `false` where the provider takes no direct turns. */
async function withActivity(t: Trial, instance: string, lockTimeoutMs = LONG_LOCK_MS): Promise<Waiting | false> {
  if (t.provider.takesDirectTurns !== true) return false;
  await t.enqueue(startItem(instance));
  await t.ack(await t.take(instance), {
    historyDelta: [startedEvent(instance)],
    metadata,
    workerItems: [activityItem(instance, 2)],
  });
  return { instance, token: (await t.takeWork(2, { lockTimeoutMs })).lockToken };
}

/** The turn that ends the instance with the outcome of its activity. */
function lastTurn({ instance, token }: Waiting, direct: Partial<Turn['direct']> = {}, rest: Turn = {}) {
  const turn = {
    historyDelta: [event(instance, 2, { kind: 'OrchestrationCompleted', output: '"done"' })],
    metadata: { status: 'Completed', output: '"done"' },
    direct: { workTokens: [token], lastEventId: 1, ...direct },
    ...rest,
  } as const;
  return ackOf({ instance, lockToken: `direct:${instance}` }, turn);
}

async function acknowledge(t: Trial, ...turns: ReturnType<typeof lastTurn>[]): Promise<boolean[]> {
  const results: Result[] = await t.provider.ackOrchestrationItems(turns);
  for (const result of results) if (!result.ok) t.expect(result.error.retryable).toBe(false);
  return results.map(({ ok }) => ok);
}

/** Nothing has happened: the history ends where it did, and the outcome goes the ordinary way. */
async function expectUntouched(t: Trial, { instance, token }: Waiting): Promise<void> {
  t.expect(await t.provider.read(instance)).toHaveLength(1);
  await t.ackWork({ instance, lockToken: token }, activityCompleted(instance, 2));
}

/** Turns that are acknowledged without having been fetched. */
export const directTurns = checkGroup('direct turns', (check) => {
  check('DT-1', 'a turn is stored with the outcome of its activity, which is gone', async (t) => {
    const waiting = await withActivity(t, 'x');
    if (!waiting) return;
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([true]);
    t.expect((await t.provider.read('x')).map(({ kind }) => kind)).toEqual([
      'OrchestrationStarted',
      'OrchestrationCompleted',
    ]);
    const [state] = await t.provider.instanceStates({ instances: ['x'], endedOnly: true });
    t.expect(state).toMatchObject({ status: 'Completed', output: '"done"' });
    await t.fails(t.ackWork({ instance: 'x', lockToken: waiting.token }), /not found or already processed/);
    await t.expectNothingReady();
    await t.expectNoWork();
  });

  check('DT-2', 'a message that is due comes first; one that is not does not matter', async (t) => {
    const waiting = await withActivity(t, 'x');
    if (!waiting) return;
    const soonMs = t.clock.nowMs() + LOCK_MS;
    await t.enqueue(timerFired('x', 3, soonMs));
    await t.poke('x');
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([false]);
    await expectUntouched(t, waiting);
    t.expect(t.kinds(await t.take('x'))).toEqual(['ExternalRaised', 'ActivityCompleted']);

    const other = await withActivity(t, 'y');
    if (!other) return;
    await t.enqueue(timerFired('y', 3, soonMs));
    t.expect(await acknowledge(t, lastTurn(other))).toEqual([true]);
  });

  check('DT-3', 'not while somebody has the instance, nor after his lock ran out', async (t) => {
    const waiting = await withActivity(t, 'x');
    if (!waiting) return;
    await t.poke('x');
    const item = await t.take('x', { lockTimeoutMs: LOCK_MS });
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([false]);
    t.clock.advance(LOCK_MS);
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([false]);
    await t.abandon(item, { delayMs: LONG_LOCK_MS });
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([true]);
  });

  check('DT-4', 'only from the last event of the current execution', async (t) => {
    const waiting = await withActivity(t, 'x');
    if (!waiting) return;
    const refused = [
      lastTurn(waiting, { lastEventId: 2 }),
      lastTurn(waiting, { lastEventId: 0 }),
      lastTurn(waiting, {}, { executionId: 2 }),
    ];
    for (const turn of refused) t.expect(await acknowledge(t, turn)).toEqual([false]);
    await t.poke('x');
    const status = { kind: 'CustomStatusUpdated', status: 'on' } as const;
    await t.ack(await t.take('x'), { historyDelta: [event('x', 2, status)] });
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([false]);
    t.expect(await t.provider.read('x')).toHaveLength(2);
    const last = event('x', 3, { kind: 'OrchestrationCompleted', output: '"done"' });
    t.expect(await acknowledge(t, lastTurn(waiting, { lastEventId: 2 }, { historyDelta: [last] }))).toEqual([true]);
  });

  check('DT-5', 'only while each of its activities is held', async (t) => {
    const waiting = await withActivity(t, 'x', LOCK_MS);
    if (!waiting) return;
    t.expect(await acknowledge(t, lastTurn(waiting, { workTokens: [waiting.token, 'another'] }))).toEqual([false]);
    await t.renewWork({ instance: 'x', lockToken: waiting.token }, LOCK_MS);
    t.clock.advance(LOCK_MS);
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([false]);
    t.expect((await t.takeWork(2)).attemptCount).toBe(2);
  });

  check('DT-6', 'in a batch each has its own answer, beside turns that were fetched', async (t) => {
    const good = await withActivity(t, 'good');
    const bad = await withActivity(t, 'bad');
    if (!good || !bad) return;
    await t.poke('fetched');
    await t.enqueue(startItem('fetched'));
    const item = await t.take('fetched');
    await t.poke('bad');
    const fetched = ackOf(item, { historyDelta: [startedEvent('fetched')], metadata });
    t.expect(await acknowledge(t, lastTurn(bad), fetched, lastTurn(good))).toEqual([false, true, true]);
    await expectUntouched(t, bad);
    t.expect(t.kinds(await t.take('bad'))).toEqual(['ExternalRaised', 'ActivityCompleted']);
    t.expect(await t.provider.read('fetched')).toHaveLength(1);
    t.expect(await t.provider.read('good')).toHaveLength(2);
    await t.expectNothingReady();
  });

  check('DT-7', 'not of an instance that was deleted, or that begins anew under its id', async (t) => {
    const waiting = await withActivity(t, 'x');
    if (!waiting) return;
    await t.provider.asManagement().deleteInstance('x', true);
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([false]);
    t.expect(await t.provider.read('x')).toEqual([]);
    await withActivity(t, 'x');
    t.expect(await acknowledge(t, lastTurn(waiting))).toEqual([false]);
    t.expect(await t.provider.read('x')).toHaveLength(1);
  });

  check('DT-8', 'what it schedules and sends is stored as that of any turn', async (t) => {
    const waiting = await withActivity(t, 'x');
    if (!waiting) return;
    const turn = lastTurn(
      waiting,
      {},
      {
        metadata: {},
        historyDelta: [event('x', 2, { kind: 'CustomStatusUpdated', status: 'on' })],
        workerItems: [activityItem('x', 3)],
        orchestratorItems: [externalRaised('y')],
      },
    );
    t.expect(await acknowledge(t, turn)).toEqual([true]);
    await t.takeWork(3);
    t.expect((await t.provider.getCustomStatus('x', 0))?.status).toBe('on');
    t.expect(await acknowledge(t, turn)).toEqual([false]);
  });
});
