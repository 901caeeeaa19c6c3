import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deleteInstance } from '../../src/provider/drizzle/admin/delete-instances.js';
import type { ProviderContext } from '../../src/provider/drizzle/context.js';
import { storedFunctionStatements } from '../../src/provider/drizzle/migrate/additions.js';
import { ackOrchestrationItems } from '../../src/provider/drizzle/operations/ack-orchestration-items.js';
import { enqueueForOrchestrator } from '../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { fetchOrchestrationItems } from '../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import type { LockedOrchestrationItem } from '../../src/provider/provider.js';
import { deleteInstance as deleteByFunction } from '../../src/provider/stored-function/delete-instances.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import {
  type Bench,
  event,
  helloMetadata,
  openBench,
  outcomes,
  raised,
  type RanStatement,
  startItem,
  started,
  TABLES,
  turnOf,
} from '../provider/drizzle/operations/support.js';

// What the fault suite found by chance, made certain: a deletion between the statements of whoever works on the instance.

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  await bench.pool.query(storedFunctionStatements(bench.schema).join(';'));
});
afterAll(() => bench.close());
beforeEach(() => bench.reset());

const LOCK = { lockTimeoutMs: 30_000 };
const PARENT = 'parent';
const CHILD = 'parent::sub::2';
const isClaimed = ({ text }: RanStatement) => text.includes("'instance' as kind");
const isDeletion = ({ text }: RanStatement) => text.startsWith('with events as (delete');

/** Runs the first turn of an instance; what it sends to others goes out with it. */
async function runFirstTurn(instance: string, child?: string): Promise<void> {
  await enqueueForOrchestrator(bench.ctx, [{ item: startItem(instance) }]);
  const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
  const scheduled = event(instance, 2, {
    kind: 'SubOrchestrationScheduled',
    name: 'Hello',
    instance: 'sub::2',
    input: '{}',
  });
  const results = await ackOrchestrationItems(
    bench.ctx,
    items.map((item) =>
      turnOf(item, {
        historyDelta: [started(instance), ...(child === undefined ? [] : [scheduled])],
        metadata: { ...helloMetadata, status: 'Running' },
        orchestratorItems:
          child === undefined ? [] : [{ ...startItem(child), parentInstance: instance, parentId: 2 } as WorkItem],
      }),
    ),
  );
  expect(outcomes(results)).toEqual(['ok']);
}

/** A context whose first statement of a kind waits at the gate; `reached` resolves there. */
function gated(isIt: (statement: RanStatement) => boolean) {
  let open = () => {};
  let arrive = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const reached = new Promise<void>((resolve) => (arrive = resolve));
  let isFirst = true;
  const ctx: ProviderContext = bench.another(async (statement) => {
    if (!isFirst || !isIt(statement)) return;
    isFirst = false;
    arrive();
    await gate;
  });
  return { ctx, reached, open };
}

/** The turn that a worker ends which does not know of the deletion: it has something to say in every table. */
function lateTurn(item: LockedOrchestrationItem | undefined, firstEventId: number, parent?: string) {
  if (!item) throw new Error('nothing was fetched');
  const { instance } = item;
  const isFirst = firstEventId === 1;
  return turnOf(item, {
    historyDelta: [
      isFirst ? started(instance) : event(instance, firstEventId, { kind: 'ExternalEvent', name: 'Go', data: '1' }),
    ],
    metadata: { status: 'Running', ...(isFirst ? { ...helloMetadata, parentInstanceId: parent } : {}) },
    workerItems: [
      { kind: 'ActivityExecute', instance, executionId: 1, id: firstEventId + 1, name: 'Greet', input: '1' },
    ],
  });
}

async function rowsLeft(): Promise<Record<string, unknown>> {
  const tables = TABLES.filter((table) => table !== 'sessions');
  const counts = tables.map((table) => `(select count(*)::int from ${table}) as ${table}`).join(', ');
  const [row = {}] = await bench.sql(`select ${counts}`);
  return Object.fromEntries(Object.entries(row).filter(([, count]) => count !== 0));
}

describe.each([
  { by: 'DrizzleProvider', remove: deleteInstance },
  { by: 'StoredFunctionProvider', remove: deleteByFunction },
])('deleted by $by', ({ remove }) => {
  test('C-04 an instance is deleted while a fetch has claimed it and not committed: its turn is refused, nothing comes back', async () => {
    await runFirstTurn(PARENT);
    await enqueueForOrchestrator(bench.ctx, [{ item: raised(PARENT) }]);
    const fetch = gated(isClaimed);
    const fetching = fetchOrchestrationItems(fetch.ctx, { limit: 1, ...LOCK });
    await fetch.reached;
    const deleting = remove(bench.ctx, PARENT, true);
    await bench.untilWaiting(1);
    fetch.open();
    const { items } = await fetching;
    expect(await deleting).toMatchObject({ instancesDeleted: 1, queueMessagesDeleted: 1 });
    expect(outcomes(await ackOrchestrationItems(bench.ctx, [lateTurn(items[0], 2)]))).toEqual(['Invalid lock token']);
    expect(await rowsLeft()).toEqual({});
  });

  test.each(['running', 'finished'])(
    'C-04 a %s parent is deleted while a fetch has claimed its child and not committed: the child is not born',
    async (state) => {
      await runFirstTurn(PARENT, CHILD);
      if (state === 'finished') await bench.sql(`update executions set status = 'Completed'`);
      const fetch = gated(isClaimed);
      const fetching = fetchOrchestrationItems(fetch.ctx, { limit: 1, ...LOCK });
      await fetch.reached;
      const deleting = remove(bench.ctx, PARENT, state === 'running');
      await bench.untilWaiting(1);
      fetch.open();
      const { items } = await fetching;
      expect(await deleting).toMatchObject({ instancesDeleted: 1 });
      expect(items.map(({ instance }) => instance)).toEqual([CHILD]);
      const late = await ackOrchestrationItems(bench.ctx, [lateTurn(items[0], 1, PARENT)]);
      expect(outcomes(late)).toEqual(['Invalid lock token']);
      expect(await rowsLeft()).toEqual({});
    },
  );

  test('C-04 a parent is deleted while the first turn of its child is being committed: the child goes with it', async () => {
    await runFirstTurn(PARENT, CHILD);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    // The last statement of the turn waits for this row, with all that it has written uncommitted.
    const stranger = await bench.client();
    await stranger.query('begin');
    await stranger.query('select from orchestrator_queue where instance_id = $1 for update', [CHILD]);
    const born = ackOrchestrationItems(bench.another(), [lateTurn(items[0], 1, PARENT)]);
    await bench.untilWaiting(1);
    const deleting = remove(bench.ctx, PARENT, true);
    await bench.untilWaiting(2);
    await stranger.query('commit');
    expect(outcomes(await born)).toEqual(['ok']);
    expect(await deleting).toMatchObject({ instancesDeleted: 2 });
    expect(await rowsLeft()).toEqual({});
  });

  test('C-02 C-04 a turn that begins while its instance is about to be deleted waits, and is refused', async () => {
    await runFirstTurn(PARENT);
    await enqueueForOrchestrator(bench.ctx, [{ item: raised(PARENT) }]);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    // The deletion waits for this row, after it has seen to it that nobody else writes.
    const stranger = await bench.client();
    await stranger.query('begin');
    await stranger.query('select from history where instance_id = $1 for update', [PARENT]);
    const deleting = remove(bench.another(), PARENT, true);
    await bench.untilWaiting(1);
    const late = ackOrchestrationItems(bench.ctx, [lateTurn(items[0], 2)]);
    await bench.untilWaiting(2);
    await stranger.query('commit');
    expect(await deleting).toMatchObject({ instancesDeleted: 1, queueMessagesDeleted: 1 });
    expect(outcomes(await late)).toEqual(['Invalid lock token']);
    expect(await rowsLeft()).toEqual({});
  });

  test('C-04 a stored fetch has claimed the child of a deleted parent and not committed: the child is not born', async () => {
    await runFirstTurn(PARENT, CHILD);
    const fetcher = await bench.client();
    await fetcher.query('begin');
    const { rows } = await fetcher.query<{ out_instance_id: string; out_lock_token: string }>(
      'select * from fetch_orchestration_item($1, 30000)',
      [bench.clock.nowMs()],
    );
    expect(rows).toMatchObject([{ out_instance_id: CHILD }]);
    const deleting = remove(bench.ctx, PARENT, true);
    await bench.untilWaiting(1);
    await fetcher.query('commit');
    expect(await deleting).toMatchObject({ instancesDeleted: 1 });
    await expect(
      fetcher.query(`select abandon_orchestration_item($1, $2)`, [rows[0]?.out_lock_token, bench.clock.nowMs()]),
    ).rejects.toThrow('Invalid lock token');
    expect(await rowsLeft()).toEqual({});
  });
});

test.each([
  ['is looked for', ({ text }: RanStatement) => text.startsWith('select q.id, q.instance_id, q.work_item')],
  ['is about to go', isDeletion],
] as const)(
  'C-04 a child is born when it %s with its parent: it goes with it, or was never there',
  async (_when, isIt) => {
    await runFirstTurn(PARENT, CHILD);
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    const deletion = gated(isIt);
    const deleting = deleteInstance(deletion.ctx, PARENT, true);
    await deletion.reached;
    const born = ackOrchestrationItems(bench.another(), [lateTurn(items[0], 1, PARENT)]);
    await Promise.race([born, bench.untilWaiting(1)]);
    deletion.open();
    await deleting;
    await born;
    expect(await rowsLeft()).toEqual({});
  },
);

test('C-02 while an instance is being deleted nobody claims it: a claim and a deletion would wait for each other', async () => {
  await runFirstTurn(PARENT);
  await enqueueForOrchestrator(bench.ctx, [{ item: raised(PARENT) }]);
  const deletion = gated(isDeletion);
  const deleting = deleteInstance(deletion.ctx, PARENT, true);
  await deletion.reached;
  const { items, lost } = await fetchOrchestrationItems(bench.another(), { limit: 1, ...LOCK });
  deletion.open();
  await deleting;
  expect({ items, lost }).toEqual({ items: [], lost: 1 });
  expect(await rowsLeft()).toEqual({});
});
