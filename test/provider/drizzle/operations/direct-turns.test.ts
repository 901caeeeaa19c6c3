import { expect, test } from '@jest/globals';
import { DrizzleProviderAdmin } from '../../../../src/provider/drizzle/admin/drizzle-provider-admin.js';
import type { ProviderContext } from '../../../../src/provider/drizzle/context.js';
import { ackOrchestrationItems } from '../../../../src/provider/drizzle/operations/ack-orchestration-items.js';
import { enqueueForOrchestrator } from '../../../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { fetchOrchestrationItems } from '../../../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import { fetchWorkItems } from '../../../../src/provider/drizzle/operations/fetch-work-items.js';
import { errorTexts } from '../../../../src/provider/provider-error.js';
import { activity, benchOfFile, event, helloMetadata, LOCK, outcomes, raised, started, startItem, turnOf } from './support.js';

const bench = await benchOfFile();
const REFUSED = errorTexts.directTurnRefused;

/** Instances that wait for an activity which the caller holds; the turns that end them with its outcome. */
async function waiting(...instances: readonly string[]) {
  await enqueueForOrchestrator(bench.ctx, instances.map((instance) => ({ item: startItem(instance) })));
  const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 50, ...LOCK });
  const first = items.map((item) =>
    turnOf(item, {
      historyDelta: [started(item.instance)],
      metadata: helloMetadata,
      workerItems: [activity(item.instance, 2)],
    }),
  );
  expect(outcomes(await ackOrchestrationItems(bench.ctx, first))).toEqual(first.map(() => 'ok'));
  const rows = await fetchWorkItems(bench.ctx, { limit: 50, ...LOCK, tagFilter: { kind: 'defaultOnly' } });
  return instances.map((instance) => {
    const workTokens = rows.filter((row) => row.instance === instance).map(({ lockToken }) => lockToken);
    return turnOf(
      { instance, lockToken: `direct:${instance}` },
      {
        historyDelta: [event(instance, 2, { kind: 'OrchestrationCompleted', output: '"done"' })],
        metadata: { status: 'Completed', output: '"done"' },
        direct: { workTokens, lastEventId: 1 },
      },
    );
  });
}

/** A context that sends its statements one by one, the first of this kind after `act`. */
function before(statement: RegExp, act: () => Promise<unknown>): ProviderContext {
  let acted: Promise<unknown> | undefined;
  const ctx = bench.another(async ({ text }) => {
    if (statement.test(text)) await (acted ??= act());
  });
  return { ...ctx, driver: { ...ctx.driver, sendsBatches: false } };
}

const eventsOf = async (instance: string) =>
  (await bench.sql('select event_id::int as id from history where instance_id = $1 order by 1', [instance])).map(({ id }) => id);

test('one round trip: the check, the activity, the history, the ends', async () => {
  const turns = await waiting('x', 'y');
  const statements = await bench.counted(async () => {
    expect(outcomes(await ackOrchestrationItems(bench.ctx, turns))).toEqual(['ok', 'ok']);
  });
  expect(statements).toHaveLength(6);
  expect(await bench.sql('select count(*)::int as n from worker_queue')).toEqual([{ n: 0 }]);
});

test('whose key another transaction holds is refused without waiting; the others are stored', async () => {
  const turns = await waiting('x', 'y');
  const other = await bench.client();
  await other.query(`begin; select pg_advisory_xact_lock(hashtext('x'))`);
  expect(outcomes(await ackOrchestrationItems(bench.ctx, turns))).toEqual([REFUSED, 'ok']);
  await other.query('rollback');
  expect(await eventsOf('x')).toEqual([1]);
  expect(await bench.sql('select instance_id from worker_queue')).toEqual([{ instance_id: 'x' }]);
});

test('a message that is committed under the key comes first', async () => {
  const turns = await waiting('x');
  const ctx = before(/with fit/, () => enqueueForOrchestrator(bench.ctx, [{ item: raised('x') }]));
  expect(outcomes(await ackOrchestrationItems(ctx, turns))).toEqual([REFUSED]);
  expect(await eventsOf('x')).toEqual([1]);
});

test('whoever fetches during the commit does not get the instance, and does not wait', async () => {
  const turns = await waiting('x');
  let fetched: unknown;
  const ctx = before(/^delete from .*worker_queue/, async () => {
    await enqueueForOrchestrator(bench.ctx, [{ item: raised('x') }]);
    fetched = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
  });
  expect(outcomes(await ackOrchestrationItems(ctx, turns))).toEqual(['ok']);
  expect(fetched).toEqual({ items: [], lost: 1 });
});

test('a turn of somebody else that was fetched and committed between run and commit', async () => {
  const turns = await waiting('x');
  await enqueueForOrchestrator(bench.ctx, [{ item: raised('x') }]);
  const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
  const status = { kind: 'CustomStatusUpdated', status: 'on' } as const;
  await ackOrchestrationItems(bench.ctx, items.map((item) => turnOf(item, { historyDelta: [event('x', 2, status)] })));
  expect(outcomes(await ackOrchestrationItems(bench.ctx, turns))).toEqual([REFUSED]);
  expect(await eventsOf('x')).toEqual([1, 2]);
});

test('a forced deletion waits for the commit, and leaves nothing', async () => {
  const turns = await waiting('x');
  let deleting: Promise<unknown> | undefined;
  const ctx = before(/^delete from .*worker_queue/, async () => {
    deleting = new DrizzleProviderAdmin(bench.another()).deleteInstance('x', true);
    await bench.untilWaiting(1);
  });
  expect(outcomes(await ackOrchestrationItems(ctx, turns))).toEqual(['ok']);
  await deleting;
  expect(await eventsOf('x')).toEqual([]);
});

test('a turn without activities is refused before anything is sent', async () => {
  const [turn] = await waiting('x');
  const empty = { ...turn!, direct: { workTokens: [], lastEventId: 1 } };
  const statements = await bench.counted(async () => {
    expect(outcomes(await ackOrchestrationItems(bench.ctx, [empty]))).toEqual([REFUSED]);
  });
  expect(statements).toEqual([]);
});
