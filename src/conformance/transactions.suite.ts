import { TransactionEndedError } from '../provider/provider-error.js';
import type { TransactionScope } from '../provider/provider.js';
import { checkGroup } from './check.js';
import { activityCompleted, activityItem, startedEvent, startItem } from './records.js';
import type { Trial } from './trial.js';
import { ackOf } from './trial.js';

const metadata = { orchestrationName: 'TestOrch', orchestrationVersion: '1.0.0' };

class Rollback extends Error {}

/** Runs `use` in a transaction of the user that is rolled back. */
async function rolledBack(t: Trial, use: (scope: TransactionScope) => Promise<unknown>): Promise<void> {
  const outcome = await t
    .need('userTransactions')
    .run(async (tx) => {
      await use(t.provider.within(tx));
      throw new Rollback();
    })
    .catch((error: unknown) => error);
  if (!(outcome instanceof Rollback)) throw new Error('the transaction failed otherwise', { cause: outcome });
}

export const transactions = checkGroup('commits and scopes', (check) => {
  check('XR-12', 'a commit whose answer is lost is reported as unknown and not repeated', async (t) => {
    await t.enqueue(startItem('x'));
    const item = await t.take('x');
    const lossy = await t.need('lossyProvider')();
    const turn = ackOf(item, {
      historyDelta: [startedEvent('x')],
      workerItems: [activityItem('x', 2)],
      metadata,
    });
    lossy.loseNextCommit();
    const [lost] = await lossy.provider.ackOrchestrationItems([turn]);
    t.expect(lost?.ok === false && { outcome: lost.error.outcome, retryable: lost.error.retryable }).toEqual({
      outcome: 'unknown',
      retryable: true,
    });
    const [repeated] = await lossy.provider.ackOrchestrationItems([turn]);
    t.expect(repeated?.ok === false && repeated.error.message).toMatch(/Invalid lock token/);
    t.expect(await t.provider.read('x')).toEqual([startedEvent('x')]);
    await t.takeWork(2);
    await t.expectNoWork();
  });

  check('XR-13', 'a scope commits and rolls back with the transaction of its caller', async (t) => {
    const transactions = t.need('userTransactions');
    await t.create('x');
    await t.schedule(activityItem('x', 2), activityItem('x', 3));
    const [kept, settled] = [await t.takeWork(2), await t.takeWork(3)];

    await rolledBack(t, async (scope) => {
      await scope.enqueueForOrchestrator([{ item: startItem('rolled-back') }]);
      await scope.enqueueForWorker([activityItem('x', 4)]);
      t.expect(
        await scope.ackWorkItems([
          { instance: kept.instance, lockToken: kept.lockToken, completion: activityCompleted('x', 2) },
        ]),
      ).toEqual([true]);
    });
    await t.expectNothingReady();
    await t.expectNoWork();

    await transactions.run(async (tx) => {
      const scope = t.provider.within(tx);
      await scope.enqueueForOrchestrator([{ item: startItem('committed') }]);
      await scope.enqueueForWorker([activityItem('x', 5)]);
      t.expect(
        await scope.ackWorkItems([
          { instance: settled.instance, lockToken: settled.lockToken, completion: activityCompleted('x', 3) },
          { instance: 'x', lockToken: 'lock_unknown' },
        ]),
      ).toEqual([true, false]);
    });
    await t.take('committed');
    t.expect((await t.take('x')).messages).toEqual([activityCompleted('x', 3)]);
    await t.takeWork(5);
    await t.expectNoWork();
    await t.renewWork(kept, 1_000);
  });

  check('XR-13/if-absent', 'a start if absent sees its own transaction, and is undone by the rollback', async (t) => {
    await t.create('there');
    await rolledBack(t, async (scope) => {
      t.expect(await scope.enqueueStartIfAbsent(startItem('there'))).toBe(false);
      t.expect(await scope.enqueueStartIfAbsent(startItem('new'))).toBe(true);
      t.expect(await scope.enqueueStartIfAbsent(startItem('new'))).toBe(false);
    });
    await t.expectNothingReady();
    t.expect(await t.provider.enqueueStartIfAbsent(startItem('new'))).toBe(true);
    await t.take('new');
  });

  for (const { ends, outcome, isStarted } of [
    { ends: 'commits', outcome: 'committed', isStarted: false },
    { ends: 'rolls back', outcome: 'rolled-back', isStarted: true },
  ]) {
    check(
      `XR-13/if-absent-${outcome}`,
      `a start if absent waits for the transaction of another, which ${ends}`,
      async (t) => {
        const foreign = await t.need('openTransaction')();
        const { run } = t.need('userTransactions');
        let other: Promise<boolean> | undefined;
        try {
          await foreign.run('lock table orchestrator_queue in share mode');
          const first = run(async (tx) => {
            const isFirst = await t.provider.within(tx).enqueueStartIfAbsent(startItem('x', { input: '"first"' }));
            if (ends === 'rolls back') throw new Rollback();
            return isFirst;
          }).catch((error: unknown) => {
            if (error instanceof Rollback) return true;
            throw error;
          });
          await foreign.untilWaiting(1);
          other = t.provider.enqueueStartIfAbsent(startItem('x', { input: '"other"' }));
          other.catch(() => undefined);
          await foreign.untilWaiting(2);
          await foreign.rollback();
          t.expect(await first).toBe(true);
        } finally {
          await foreign.rollback();
        }
        t.expect(await other).toBe(isStarted);
        t.expect((await t.take('x')).messages).toEqual([startItem('x', { input: isStarted ? '"other"' : '"first"' })]);
        await t.expectNothingReady();
      },
    );
  }

  check('XR-13/savepoint', 'a scope works inside a savepoint', async (t) => {
    const { run, savepoint } = t.need('userTransactions');
    await run(async (tx) => {
      await t.provider.within(tx).enqueueForOrchestrator([{ item: startItem('outer') }]);
      await savepoint(tx, (inner) => t.provider.within(inner).enqueueForOrchestrator([{ item: startItem('inner') }]));
      await savepoint(tx, async (inner) => {
        await t.provider.within(inner).enqueueForOrchestrator([{ item: startItem('undone') }]);
        throw new Rollback();
      }).catch((error: unknown) => {
        if (!(error instanceof Rollback)) throw error;
      });
    });
    await t.take('outer');
    await t.take('inner');
    await t.expectNothingReady();
  });

  check('XR-13/forgotten', 'a call that nobody awaited is undone by the rollback, too', async (t) => {
    const forgotten: Promise<unknown>[] = [];
    await rolledBack(t, async (scope) => {
      const call = scope.enqueueForOrchestrator([{ item: startItem('forgotten') }]);
      forgotten.push(call.catch((error: unknown) => error));
    });
    await Promise.all(forgotten);
    await t.expectNothingReady();
  });

  check('XR-13/ended', 'a scope whose transaction has ended writes nothing and says so', async (t) => {
    const transactions = t.need('userTransactions');
    const kept: TransactionScope[] = [];
    await transactions.run(async (tx) => {
      const scope = t.provider.within(tx);
      await scope.enqueueForOrchestrator([{ item: startItem('in-time') }]);
      kept.push(scope);
    });
    const [scope] = kept;
    const outcome = await scope
      ?.enqueueForOrchestrator([{ item: startItem('too-late') }])
      .catch((error: unknown) => error);
    t.expect(outcome instanceof TransactionEndedError).toBe(true);
    const worker = await scope?.enqueueForWorker([activityItem('x', 2)]).catch((error: unknown) => error);
    t.expect(worker instanceof TransactionEndedError).toBe(true);
    const start = await scope?.enqueueStartIfAbsent(startItem('too-late')).catch((error: unknown) => error);
    t.expect(start instanceof TransactionEndedError).toBe(true);
    await t.take('in-time');
    await t.expectNothingReady();
    await t.expectNoWork();
  });
});
