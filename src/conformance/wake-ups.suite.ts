import type { InstanceState, QueueName } from '../provider/provider.js';
import { checkGroup } from './check.js';
import {
  activityCompleted,
  activityItem,
  event,
  externalRaised,
  startedEvent,
  startItem,
  statusEvent,
  timerFired,
} from './records.js';
import type { Trial } from './trial.js';
import { LONG_LOCK_MS } from './trial.js';

/** What this process was told of its own operations. */
class WakeUps {
  private readonly told = new Set<QueueName>();
  readonly stop: () => void;

  constructor(t: Trial) {
    this.stop = t.provider.onWakeUp((queue, isFromElsewhere) => {
      if (!isFromElsewhere) this.told.add(queue);
      return true;
    });
  }

  /** The queues that were told to be looked at by the time `operation` answered. */
  async of(operation: () => Promise<unknown>): Promise<QueueName[]> {
    this.told.clear();
    await operation();
    return [...this.told].sort();
  }
}

export const wakeUps = checkGroup('wake-ups', (check) => {
  check('WK-1', 'this process is told of what its operations made due, before they answer', async (t) => {
    const wakes = new WakeUps(t);
    const expectWoken = async (operation: () => Promise<unknown>, queues: QueueName[]) =>
      t.expect(await wakes.of(operation)).toEqual(queues);
    const id = t.unique('woken');

    await expectWoken(() => t.enqueue(startItem(id)), ['orchestrator']);
    let item = await t.take(id);
    await expectWoken(() => t.abandon(item), ['orchestrator']);
    item = await t.take(id);
    await expectWoken(
      () => t.ack(item, { historyDelta: [startedEvent(id)], workerItems: [activityItem(id, 2), activityItem(id, 3)] }),
      ['worker'],
    );
    let work = await t.takeWork(2);
    await expectWoken(() => t.abandonWork(work), ['worker']);
    work = await t.takeWork(2);
    await expectWoken(() => t.ackWork(work, activityCompleted(id, 2)), ['orchestrator']);
    work = await t.takeWork(3);
    await expectWoken(() => t.ackWork(work), []);
    item = await t.take(id);
    await expectWoken(() => t.ack(item, { orchestratorItems: [externalRaised(id)] }), ['orchestrator']);
    await expectWoken(() => t.schedule(activityItem(id, 4)), ['worker']);
    wakes.stop();
  });

  check('WK-2', 'what becomes due later wakes nobody now', async (t) => {
    const wakes = new WakeUps(t);
    const id = t.unique('later');
    await t.enqueue(startItem(id));
    const item = await t.take(id);
    const dueAtMs = t.provider.nowMs() + LONG_LOCK_MS;
    const acked = () =>
      t.ack(item, { historyDelta: [startedEvent(id)], orchestratorItems: [timerFired(id, 2, dueAtMs)] });
    t.expect(await wakes.of(acked)).toEqual([]);
    t.expect(await wakes.of(() => t.enqueue(externalRaised(id), LONG_LOCK_MS))).toEqual([]);
    wakes.stop();
  });

  check('WK-3', 'who ended is told after the commit, and how, as a look would see it', async (t) => {
    const told: { instances: readonly string[]; states: readonly InstanceState[] }[] = [];
    const stop = t.provider.onEnded((instances, states) => told.push({ instances, states }), { states: true });
    const [completed, failed] = [t.unique('completed'), t.unique('failed')];
    for (const id of [completed, failed]) await t.enqueue(startItem(id));
    const first = await t.take(completed);
    await t.ack(first, {
      historyDelta: [startedEvent(completed), event(completed, 2, statusEvent('"half way"'))],
      metadata: { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' },
    });
    t.expect(told).toEqual([]);

    await t.poke(completed);
    for (const [id, status, output] of [
      [failed, 'Failed', 'because'],
      [completed, 'Completed', '"done"'],
    ] as const) {
      const named = id === failed ? { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' } : {};
      await t.ack(await t.take(id), {
        historyDelta: id === failed ? [startedEvent(id)] : [],
        metadata: { ...named, status, output },
      });
      const last = told.pop();
      t.expect(last?.instances).toEqual([id]);
      // A store that cannot tell says nothing: whoever waits looks.
      const seen = await t.provider.instanceStates({ instances: [id], endedOnly: true });
      t.expect(seen).toMatchObject([{ status, output }]);
      if (last?.states.length !== 0) t.expect(last?.states).toEqual(seen);
    }
    stop();
  });
});
