import type { InstancePageQuery } from '../provider/instance-pages.js';
import { WORKER_FORGOTTEN_AFTER_MS, WORKER_GONE_AFTER_MS, type WorkerHeartbeat } from '../provider/workers.js';
import { checkGroup } from './check.js';
import { externalRaised, ids, statusEvent } from './records.js';
import type { Trial } from './trial.js';

/** What ids a walk through all pages shows, page by page. */
async function pagesOf(t: Trial, query: Omit<InstancePageQuery, 'after'>): Promise<string[][]> {
  const pages: string[][] = [];
  let after: string | undefined;
  do {
    const page = await t.provider.asManagement().listInstancesPage({ ...query, after });
    pages.push(page.instances.map(({ instanceId }) => instanceId));
    after = page.next ?? undefined;
  } while (after !== undefined);
  return pages;
}

async function idsOf(t: Trial, query: Omit<InstancePageQuery, 'after' | 'limit'>): Promise<string[]> {
  return (await pagesOf(t, { ...query, limit: 2 })).flat();
}

/** Pages of instances, `listInstancesPage` (provider.md 3.4.12). */
export const pages = checkGroup('pages of instances', (check) => {
  check('AP-1', 'pages follow one another, newest first, and the last one says so', async (t) => {
    for (const id of ids('i', 5)) {
      await t.create(id);
      t.clock.advance(1);
    }
    t.expect(await pagesOf(t, { limit: 2 })).toEqual([['i-4', 'i-3'], ['i-2', 'i-1'], ['i-0']]);
    t.expect(await pagesOf(t, { limit: 5 })).toEqual([['i-4', 'i-3', 'i-2', 'i-1', 'i-0']]);
    t.expect(await pagesOf(t, { limit: 1000, name: 'nobody' })).toEqual([[]]);
  });

  check('AP-2', 'instances of one moment are ordered by id, and none is shown twice or left out', async (t) => {
    for (const id of ['b', 'd', 'a', 'c']) await t.create(id);
    t.expect(await pagesOf(t, { limit: 3 })).toEqual([['d', 'c', 'b'], ['a']]);
  });

  check('AP-3', 'a line says what the instance is and has, with the beginning of long texts', async (t) => {
    const createdAtMs = t.clock.nowMs();
    const long = 'x'.repeat(1_000);
    const x = await t.create('x', { name: 'Named', version: '1.2.3', parent: 'p', events: [statusEvent(long)] });
    t.clock.advance(10);
    await x.complete({ metadata: { output: long } });
    const { instances } = await t.provider.asManagement().listInstancesPage({ limit: 1 });
    t.expect(instances).toEqual([
      {
        instanceId: 'x',
        orchestrationName: 'Named',
        orchestrationVersion: '1.2.3',
        currentExecutionId: 1,
        status: 'Completed',
        createdAtMs,
        updatedAtMs: createdAtMs + 10,
        completedAtMs: createdAtMs + 10,
        parentInstanceId: 'p',
        customStatus: 'x'.repeat(200),
        outputPreview: 'x'.repeat(200),
      },
    ]);
  });

  check('AP-4', 'conditions select by status, name, parent and moment, alone and together', async (t) => {
    const startMs = t.clock.nowMs();
    await t.create('root', { name: 'A' });
    t.clock.advance(10);
    await t.createFinished('done', { name: 'A', parent: 'root' });
    t.clock.advance(10);
    await t.createFinished('lost', { name: 'B', status: 'Failed', parent: 'root' });
    t.clock.advance(10);
    const again = await t.create('again', { name: 'B' });
    await again.reach(2);
    t.expect(await idsOf(t, { status: 'Running' })).toEqual(['again', 'root']);
    t.expect(await idsOf(t, { status: 'Completed' })).toEqual(['done']);
    t.expect(await idsOf(t, { status: 'Failed' })).toEqual(['lost']);
    t.expect(await idsOf(t, { status: 'ContinuedAsNew' })).toEqual([]);
    t.expect(await idsOf(t, { name: 'A' })).toEqual(['done', 'root']);
    t.expect(await idsOf(t, { parent: 'root' })).toEqual(['lost', 'done']);
    t.expect(await idsOf(t, { parent: null })).toEqual(['again', 'root']);
    t.expect(await idsOf(t, { createdAfterMs: startMs + 10 })).toEqual(['again', 'lost', 'done']);
    t.expect(await idsOf(t, { createdBeforeMs: startMs + 20 })).toEqual(['done', 'root']);
    t.expect(await idsOf(t, { updatedAfterMs: startMs + 20 })).toEqual(['again', 'lost']);
    t.expect(await idsOf(t, { updatedBeforeMs: startMs + 20 })).toEqual(['done', 'root']);
    t.expect(await idsOf(t, { status: 'Failed', updatedAfterMs: startMs + 21 })).toEqual([]);
    t.expect(await idsOf(t, { status: 'Failed', name: 'B', parent: 'root', createdAfterMs: startMs })).toEqual([
      'lost',
    ]);
    t.expect(await idsOf(t, { status: 'Failed', name: 'A' })).toEqual([]);
  });

  check('AP-5', 'prefixes of ids and custom statuses are compared letter by letter', async (t) => {
    for (const id of ['order-1', 'order-2', 'Order-3', 'order_4', '100%', '1000', 'ä-1', '𝔘-1']) {
      await t.create(id, { events: [statusEvent(`at ${id}`)] });
      t.clock.advance(1);
    }
    t.expect(await idsOf(t, { idPrefix: 'order-' })).toEqual(['order-2', 'order-1']);
    t.expect(await idsOf(t, { idPrefix: 'order' })).toEqual(['order_4', 'order-2', 'order-1']);
    t.expect(await idsOf(t, { idPrefix: '100%' })).toEqual(['100%']);
    t.expect(await idsOf(t, { idPrefix: 'ä' })).toEqual(['ä-1']);
    t.expect(await idsOf(t, { idPrefix: '𝔘' })).toEqual(['𝔘-1']);
    t.expect(await idsOf(t, { customStatusPrefix: 'at O' })).toEqual(['Order-3']);
    t.expect(await idsOf(t, { customStatusPrefix: 'at order-', idPrefix: 'order-2' })).toEqual(['order-2']);
    t.expect(await idsOf(t, { idPrefix: '', customStatusPrefix: '' })).toEqual(await idsOf(t, {}));
  });

  check('AP-6', 'a cursor of another query, and what is none, is refused', async (t) => {
    for (const id of ids('i', 3)) await t.create(id);
    const admin = t.provider.asManagement();
    const { next } = await admin.listInstancesPage({ limit: 1 });
    const after = next as string;
    await t.fails(admin.listInstancesPage({ limit: 1, after, status: 'Failed' }), /cursor of another query/);
    await t.fails(admin.listInstancesPage({ limit: 1, after, parent: null }), /cursor of another query/);
    for (const bad of ['', 'x', `${after}x`, Buffer.from('[1]').toString('base64url')]) {
      await t.fails(admin.listInstancesPage({ limit: 1, after: bad }), /after is/);
    }
    // Another limit is no other query.
    t.expect((await admin.listInstancesPage({ limit: 2, after })).instances).toHaveLength(2);
  });

  check('AP-7', 'limits and moments that are none are refused, naming what was given', async (t) => {
    const admin = t.provider.asManagement();
    for (const limit of [0, -1, 1.5, 1001, Number.NaN]) {
      await t.fails(admin.listInstancesPage({ limit }), /limit must be a whole number from 1 to 1000, got/);
    }
    await t.fails(admin.listInstancesPage({ limit: 1, createdAfterMs: Number.NaN }), /createdAfterMs must be a moment/);
    await t.fails(
      admin.listInstancesPage({ limit: 1, updatedBeforeMs: '1h' as never }),
      /updatedBeforeMs must be a moment/,
    );
    await t.fails(admin.listInstancesPage({ limit: 1, name: 5 as never }), /name must be a text, got number/);
  });

  check('AP-8', 'an instance that is made between two pages neither shifts nor repeats others', async (t) => {
    for (const id of ids('i', 4)) {
      await t.create(id);
      t.clock.advance(1);
    }
    const admin = t.provider.asManagement();
    const first = await admin.listInstancesPage({ limit: 2 });
    await t.create('new');
    await admin.deleteInstance('i-3', true);
    const second = await admin.listInstancesPage({ limit: 2, after: first.next ?? undefined });
    t.expect(second.instances.map(({ instanceId }) => instanceId)).toEqual(['i-1', 'i-0']);
    t.expect(second.next).toBeNull();
  });
});

/** `countByStatus` (provider.md 3.4.12). */
export const counts = checkGroup('counts by status', (check) => {
  check('AC-1', 'few instances are counted exactly, by the status of their current execution', async (t) => {
    const admin = t.provider.asManagement();
    t.expect(await admin.countByStatus()).toEqual([]);
    const again = await t.create('again');
    await again.reach(2);
    await t.create('running');
    await t.create('other');
    await t.createFinished('done');
    await t.createFinished('done-2');
    await t.createFinished('lost', { status: 'Failed' });
    t.expect(await admin.countByStatus()).toEqual([
      { status: 'Running', count: 3, isEstimate: false },
      { status: 'Completed', count: 2, isEstimate: false },
      { status: 'Failed', count: 1, isEstimate: false },
    ]);
  });
});

function heartbeat(runtimeId: string, fields: Partial<WorkerHeartbeat> = {}): WorkerHeartbeat {
  return {
    runtimeId,
    host: 'host',
    pid: 4711,
    packageVersion: '1.2.3',
    orchestrationSlots: { inUse: 1, total: 100 },
    activitySlots: { inUse: 2, total: 32 },
    startedAtMs: 1_700_000_000_000,
    isStopping: false,
    counters: { orchCompletions: 3 },
    ...fields,
  };
}

/** `workers` and `recordWorker` (provider.md 3.4.12). */
export const workers = checkGroup('workers', (check) => {
  check('AW-1', 'a runtime is shown with what it told last, the latest first', async (t) => {
    const admin = t.provider.asManagement();
    t.expect(await admin.recordWorker(heartbeat('a'))).toBe(true);
    t.clock.advance(1_000);
    await admin.recordWorker(heartbeat('b'));
    t.clock.advance(1_000);
    await admin.recordWorker(
      heartbeat('a', { activitySlots: { inUse: 7, total: 32 }, counters: { orchCompletions: 9 } }),
    );
    const { isStopping, ...told } = heartbeat('a');
    t.expect(isStopping).toBe(false);
    t.expect(await admin.workers()).toEqual([
      {
        ...told,
        activitySlots: { inUse: 7, total: 32 },
        counters: { orchCompletions: 9 },
        state: 'running',
        lastSeenMs: t.clock.nowMs(),
      },
      { ...told, runtimeId: 'b', state: 'running', lastSeenMs: t.clock.nowMs() - 1_000 },
    ]);
  });

  check('AW-2', 'one that is silent for five minutes is gone, one that shut down is stopped', async (t) => {
    const admin = t.provider.asManagement();
    const states = async () => (await admin.workers()).map(({ runtimeId, state }) => `${runtimeId} ${state}`).sort();
    await admin.recordWorker(heartbeat('silent'));
    await admin.recordWorker(heartbeat('stopped', { isStopping: true }));
    t.clock.advance(WORKER_GONE_AFTER_MS);
    t.expect(await states()).toEqual(['silent running', 'stopped stopped']);
    t.clock.advance(1);
    t.expect(await states()).toEqual(['silent gone', 'stopped stopped']);
    await admin.recordWorker(heartbeat('silent'));
    t.expect(await states()).toEqual(['silent running', 'stopped stopped']);
  });

  check('AW-3', 'one that is silent for a day is forgotten when another tells of itself', async (t) => {
    const admin = t.provider.asManagement();
    await admin.recordWorker(heartbeat('old'));
    t.clock.advance(WORKER_FORGOTTEN_AFTER_MS);
    await admin.recordWorker(heartbeat('a'));
    t.expect((await admin.workers()).map(({ runtimeId }) => runtimeId)).toEqual(['a', 'old']);
    t.clock.advance(1);
    await admin.recordWorker(heartbeat('a'));
    t.expect((await admin.workers()).map(({ runtimeId }) => runtimeId)).toEqual(['a']);
  });

  check('AW-4', 'heartbeats leave queues and instances alone', async (t) => {
    await t.enqueue(externalRaised('nobody'));
    await t.provider.asManagement().recordWorker(heartbeat('a'));
    t.expect(await t.provider.asManagement().getQueueDepths()).toMatchObject({ orchestratorQueue: 1, workerQueue: 0 });
  });
});
