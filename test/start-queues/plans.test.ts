import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { StartAdmission } from '../../src/provider/drizzle/start-queues/admit-starts.js';
import { enqueueForOrchestrator } from '../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { enqueueStartIfAbsent } from '../../src/provider/drizzle/operations/enqueue-start-if-absent.js';
import { enqueueStarts } from '../../src/provider/drizzle/start-queues/enqueue-starts.js';
import { forgetWaiting } from '../../src/provider/drizzle/start-queues/forget-starts.js';
import { queueFigures } from '../../src/provider/drizzle/start-queues/queue-figures.js';
import type { WorkItem, WorkItemOf } from '../../src/wire/work-item.js';
import { explain, largestSort, scannedTables } from '../provider/drizzle/operations/explain.js';
import { type Bench, openBench } from '../provider/drizzle/operations/support.js';

/** `START_QUEUE_ROWS=100000` is what the index plans are for; they show at fewer. */
const ROWS = Number(process.env['START_QUEUE_ROWS'] ?? 30_000);
/** Of the transaction, since its first statement. */
const SETTINGS = 'set local enable_bitmapscan = off; set local enable_seqscan = off';
/** The window, and the keys gone through: what a look sorts at most. */
const MAX_SORTED = 2_000;

const start = (instance: string): WorkItemOf<'StartOrchestration'> => ({
  kind: 'StartOrchestration',
  instance,
  orchestration: 'o',
  input: 'null',
  version: null,
  parentInstance: null,
  parentId: null,
  executionId: 1,
});

describe(`admission from a queue in which ${ROWS} starts wait reads and sorts no more than a window of them`, () => {
  let bench: Bench;
  let client: pg.Client;
  beforeAll(async () => {
    bench = await openBench({ max: 4 });
    client = await bench.client();
    // Statistics come when the test asks for them, and never else.
    for (const table of ['ddz_queued_starts', 'orchestrator_queue'])
      await bench.sql(`alter table ${table} set (autovacuum_enabled = false)`);
    // One key at its limit fills the window; behind it are a hundred others.
    await bench.sql(
      `insert into ddz_queued_starts (instance_id, queue_id, start_key, priority, work_item, enqueued_ms)
       select 'i-' || n, 'q', case when n % 10 > 0 then 'k' else 'k' || n % 1000 end, case when n % 10 > 0 then 9 else 0 end,
         '{"StartOrchestration":{}}', 0 from generate_series(1, $1::int) n`,
      [ROWS],
    );
    // Messages of others: whether an instance runs is never asked of all of them.
    await bench.sql(
      `insert into orchestrator_queue (instance_id, work_item, visible_at, created_at)
       select 'o-' || n, '{"TimerFired":{}}', now(), now() from generate_series(1, 10000) n`,
    );
    await bench.sql(
      `insert into ddz_start_queues (queue_id, is_paused, created_ms, updated_ms) values ('q', false, 0, 0)`,
    );
  }, 60_000);
  afterAll(() => bench.close());

  /** One look, after another one that has left something to sweep. */
  async function look(limits: string): Promise<{ readonly admitted: number; readonly texts: string }> {
    await bench.sql(
      `update ddz_queued_starts set admitted_ms = null, ended_ms = null, work_item = '{"StartOrchestration":{}}'
       where admitted_ms is not null`,
    );
    await bench.sql("delete from orchestrator_queue where instance_id like 'i-%'");
    await bench.sql(`update ddz_start_queues set ${limits}`);
    const admission = new StartAdmission(bench.ctx);
    await admission.admit([]);
    bench.clock.advance(1_000);
    bench.ran.length = 0;
    const { admitted } = await admission.admit([]);
    const ran = bench.ran.splice(0);
    for (const statement of ran) {
      const explained = await explain(client, statement, SETTINGS);
      const { text } = statement;
      expect({ scanned: scannedTables(explained), text }).toEqual({ scanned: [], text });
      expect({ sorts: largestSort(explained) <= MAX_SORTED, text }).toEqual({ sorts: true, text });
    }
    return { admitted, texts: ran.map(({ text }) => text).join() };
  }

  test('figures for who looks often read a bounded part of the queue', async () => {
    bench.ran.length = 0;
    const [figures] = await queueFigures(bench.ctx, 10);
    expect(figures).toMatchObject({ id: 'q', waiting: { count: 10_000, isAtLeast: true }, isPartOfKeys: true });
    const [settings, statement] = bench.ran.splice(0);
    if (!statement) throw new Error('nothing was asked');
    expect(settings?.text).toContain('enable_bitmapscan');
    const explained = await explain(client, statement, SETTINGS);
    expect({ scanned: scannedTables(explained), sorted: largestSort(explained) <= MAX_SORTED }).toEqual({
      scanned: [],
      sorted: true,
    });
  });

  test('what names instances finds them by their index, whether or not they wait', async () => {
    bench.ctx.startQueues.present = true;
    bench.ran.length = 0;
    const message = (instance: string): WorkItem => ({ kind: 'QueueMessage', instance, name: 'm', data: '1' });
    const items: WorkItem[] = [message('i-7'), message('o-1'), { kind: 'CancelInstance', instance: 'i-8', reason: '' }];
    await enqueueForOrchestrator(
      bench.ctx,
      items.map((item) => ({ item })),
    );
    await enqueueForOrchestrator(bench.ctx, [{ item: message('o-2') }]);
    expect(await enqueueStartIfAbsent(bench.ctx, start('i-9'))).toBe(false);
    const queued = { queue: 'q', key: null, priority: 0 };
    await enqueueStarts(bench.ctx, [
      { ...queued, item: start('i-10') },
      { ...queued, item: start('new') },
    ]);
    expect(await forgetWaiting(bench.ctx, 'delete', 'new')).toBe(true);
    const ran = bench.ran.splice(0);
    await new StartAdmission(bench.ctx).admit(['i-1', 'o-1']);
    ran.push(...bench.ran.splice(0, 1));
    expect(ran.length).toBeGreaterThan(6);
    for (const statement of ran) {
      const { text } = statement;
      const explained = await explain(client, statement);
      expect({ scanned: scannedTables(explained), text }).toEqual({ scanned: [], text });
      // Also not by reading an index from end to end.
      expect({ buffers: explained.buffers < 200, text }).toEqual({ buffers: true, text });
    }
  });

  test.each(['before', 'after'])('%s the first statistics', async (when) => {
    if (when === 'after') await bench.sql('vacuum analyze ddz_queued_starts');
    expect((await look('concurrency = 500, concurrency_per_key = null, key_rate_limit = null')).admitted).toBe(200);
    const byKey = await look(
      'concurrency = null, concurrency_per_key = 1, key_rate_limit = 1, key_rate_period_ms = 60000, rate_limit = 1000, rate_period_ms = 60000',
    );
    expect(byKey.texts).toContain('with recursive');
    expect(byKey.admitted).toBe(100);
  });
});
