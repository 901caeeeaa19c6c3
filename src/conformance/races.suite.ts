import { checkGroup } from './check.js';
import { activityItem } from './records.js';
import type { Trial } from './trial.js';
import { LOCK_MS } from './trial.js';

/**
 * Runs two calls against each other. Where a second connection can be had, their order
 * is certain: a foreign lock on the instance's row stops both on their way, the first
 * in front. Elsewhere they run one after the other by the nature of the database.
 */
async function collide(
  t: Trial,
  instance: string,
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<PromiseSettledResult<unknown>[]> {
  if (!t.sut.openTransaction) {
    // Not at once: which of the two reaches the one connection first is not ours to say.
    const outcomes = await Promise.allSettled([first()]);
    return [...outcomes, ...(await Promise.allSettled([second()]))];
  }
  const foreign = await t.sut.openTransaction();
  try {
    await foreign.run('select 1 from instances where instance_id = $1 for update', [instance]);
    const one = first();
    one.catch(() => undefined);
    await foreign.untilWaiting(1);
    const two = second();
    two.catch(() => undefined);
    await foreign.untilWaiting(2);
    await foreign.rollback();
    return await Promise.allSettled([one, two]);
  } finally {
    await foreign.rollback();
  }
}

/** Rows that a deleted instance must not leave. */
async function remains(t: Trial, instance: string): Promise<unknown[]> {
  const admin = t.provider.asManagement();
  return [
    (await admin.listInstances()).filter((id) => id === instance),
    await admin.listExecutions(instance),
    await admin.readHistoryWithExecutionId(instance, 1),
  ];
}

const metadata = { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' };

export const races = checkGroup('races', (check) => {
  check('XR-5', 'of two acknowledgements with one token and no events one takes effect', async (t) => {
    const x = await t.create('x');
    const item = await x.pokeAndTake();
    const ack = () => t.ack(item, { workerItems: [activityItem('x', 2)] });
    const outcomes = await collide(t, 'x', ack, ack);
    t.expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await t.takeWork(2);
    await t.expectNoWork();
  });

  check('XR-6', 'an acknowledgement that races a forced deletion leaves nothing behind', async (t) => {
    const admin = t.provider.asManagement();
    for (const [id, ackFirst] of [
      ['acked-first', true],
      ['deleted-first', false],
    ] as const) {
      const item = await (await t.create(id)).pokeAndTake();
      const ack = () => t.ack(item, { metadata, workerItems: [activityItem(id, 2)] });
      const remove = () => admin.deleteInstancesAtomic([id], true);
      const outcomes = await (ackFirst ? collide(t, id, ack, remove) : collide(t, id, remove, ack));
      // Where their order is certain, so is what becomes of them.
      if (t.sut.openTransaction) {
        t.expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', ackFirst ? 'fulfilled' : 'rejected']);
      }
      t.expect(await remains(t, id)).toEqual([[], [], []]);
      await t.expectNoWork();
    }
  });

  check('XR-7', 'a queue row locked by a stranger keeps nobody from the other instances', async (t) => {
    const [stuck, free] = [t.unique('stuck'), t.unique('free')];
    await t.create(stuck);
    await t.create(free);
    await t.poke(stuck);
    await t.poke(free);
    const foreign = await t.need('openTransaction')();
    try {
      await foreign.run('select id from orchestrator_queue where instance_id = $1 for update', [stuck]);
      await t.take(free);
      const { items, lost } = await t.provider.fetchOrchestrationItems({ limit: 1, lockTimeoutMs: LOCK_MS });
      t.expect({ items, lost }).toEqual({ items: [], lost: 1 });
    } finally {
      await foreign.rollback();
    }
    await t.take(stuck);
  });

  check('XR-8', 'a renewal by less than a second extends the lock', async (t) => {
    await t.create('x');
    await t.poke('x');
    await t.schedule(activityItem('x', 2));
    const item = await t.take('x', { lockTimeoutMs: 500 });
    const work = await t.takeWork(2, { lockTimeoutMs: 500 });
    t.clock.advance(400);
    await t.renew(item, 900);
    await t.renewWork(work, 900);
    t.clock.advance(800);
    await t.expectNothingReady();
    await t.expectNoWork();
    await t.ack(item);
    await t.ackWork(work);
  });
});
