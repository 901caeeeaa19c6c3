import { activityItem, completedEvent, event, kvSet } from '../../src/conformance/records.js';
import { activityCompleted, startItem } from '../../src/conformance/records.js';
import { ackOf } from '../../src/conformance/trial.js';
import { ackOrchestrationItems } from '../../src/provider/drizzle/operations/ack-orchestration-items.js';
import { ackWorkItems } from '../../src/provider/drizzle/operations/ack-work-items.js';
import { due } from '../../src/provider/drizzle/operations/due.js';
import { enqueueForOrchestrator } from '../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { fetchOrchestrationItems } from '../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import { fetchWorkItems } from '../../src/provider/drizzle/operations/fetch-work-items.js';
import { instanceStates } from '../../src/provider/drizzle/operations/instance-states.js';
import { renewOrchestrationItemLocks } from '../../src/provider/drizzle/operations/renew-orchestration-item-locks.js';
import { renewWorkItemLocks } from '../../src/provider/drizzle/operations/renew-work-item-locks.js';
import type { Result, VersionFilter } from '../../src/provider/provider.js';
import { COMPAT_VERSION } from '../../src/wire/compat-version.js';
import { targetInstance } from '../../src/wire/work-item.js';
import type { PlansBench } from './bench.js';
import type { Reads } from './reads.js';

/** Instances, activities, waiters: what a batch under load has. */
export const BATCH = 50;
/** What only happens where the front of the queue is full of others' turns. */
export const BEHIND = 'fetch behind 1,000 turns';
const LOCK = { lockTimeoutMs: 60_000 };
/** As every runtime sends it. */
const FILTER: VersionFilter = { ranges: [{ min: { major: 0, minor: 0, patch: 0 }, max: COMPAT_VERSION }] };

/** Does once what a busy runtime does all the time, and answers with what each statement read. */
export async function hotPath(bench: PlansBench): Promise<Map<string, Reads>> {
  const ctx = bench.context();
  const found = new Map<string, Reads>();
  const explain = async <T>(operation: string, run: () => Promise<T>): Promise<T> => {
    const { value, statements } = await bench.of(run);
    if (statements.length === 0) throw new Error(`${operation} ran no statement`);
    for (const { key, reads } of statements) {
      found.set(key.startsWith(operation) ? key : `${operation}: ${key}`, reads);
    }
    return value;
  };

  await explain('probe', () => due(ctx));
  const { items } = await explain('fetch', () =>
    fetchOrchestrationItems(ctx, { limit: BATCH, ...LOCK, filter: FILTER }),
  );
  expectBatch('instances', items);
  await explain('renew', async () =>
    expectDone(
      await renewOrchestrationItemLocks(
        ctx,
        items.map((item) => ({ ...item, extendMs: 60_000 })),
      ),
    ),
  );
  const turns = items.map((item) =>
    ackOf(item, {
      historyDelta: [
        event(item.instance, 3, { kind: 'ActivityScheduled', name: 'echo', input: '1' }),
        event(item.instance, 4, kvSet('key', 'value')),
        event(item.instance, 5, completedEvent()),
      ],
      workerItems: [activityItem(item.instance, 3)],
      orchestratorItems: [startItem(`${item.instance}-child`)],
      metadata: { status: 'Completed', output: '1' },
      cancelledActivities: [{ instance: item.instance, executionId: 1, activityId: 2 }],
    }),
  );
  await explain('ack', async () => expectDone(await ackOrchestrationItems(ctx, turns)));

  const work = await explain('fetch work', () =>
    fetchWorkItems(ctx, { limit: BATCH, ...LOCK, tagFilter: { kind: 'defaultOnly' } }),
  );
  expectBatch('activities', work);
  await explain('renew work', async () =>
    expectDone(
      await renewWorkItemLocks(
        ctx,
        work.map((item) => ({ ...item, extendMs: 60_000 })),
      ),
    ),
  );
  await explain('ack work', async () =>
    expectDone(
      await ackWorkItems(
        ctx,
        work.map(({ item, instance, lockToken }) => ({
          instance,
          lockToken,
          completion: activityCompleted(targetInstance(item), 2),
        })),
      ),
    ),
  );

  await instancesThatWait(bench);
  const direct = Array.from({ length: BATCH }, (_, n) =>
    ackOf(
      { instance: `direct-${n}`, lockToken: `direct:${n}` },
      {
        historyDelta: [event(`direct-${n}`, 2, completedEvent())],
        metadata: { status: 'Completed', output: '1' },
        direct: { workTokens: [`direct-work-${n}`], lastEventId: 1 },
      },
    ),
  );
  await explain('direct', async () => expectDone(await ackOrchestrationItems(ctx, direct)));

  const ids = Array.from({ length: BATCH }, (_, n) => `started-${n}`);
  await explain('enqueue', async () =>
    expectDone(
      await enqueueForOrchestrator(
        ctx,
        ids.map((id) => ({ item: startItem(id) })),
      ),
    ),
  );
  await explain('wait', () =>
    instanceStates(ctx, { instances: items.map(({ instance }) => instance), endedOnly: true }),
  );

  // The first thousand are in their turns elsewhere: the look goes on behind them.
  await bench.sql(
    `insert into instance_locks (instance_id, lock_token, locked_until, locked_at)
      select instance_id, 'elsewhere-' || id, $1, 0 from orchestrator_queue
      where lock_token is null and visible_at <= now() and instance_id like 'r-%' order by visible_at, id limit 1000
      on conflict do nothing`,
    [ctx.clock.nowMs() + 600_000],
  );
  const behind = await explain(BEHIND, () => fetchOrchestrationItems(ctx, { limit: BATCH, ...LOCK, filter: FILTER }));
  expectBatch('instances behind others', behind.items);
  return found;
}

/** Each waits for an activity that this process has locked. */
async function instancesThatWait(bench: PlansBench): Promise<void> {
  const each = `from generate_series(0, ${BATCH - 1}) n`;
  const statements = [
    `insert into instances (instance_id, orchestration_name, orchestration_version, created_at, updated_at)
      select 'direct-' || n, 'TestOrch', '1.0.0', now(), now() ${each}`,
    `insert into executions (instance_id, execution_id, status, started_at) select 'direct-' || n, 1, 'Running', now() ${each}`,
    `insert into history (instance_id, execution_id, event_id, event_type, event_data, created_at)
      select 'direct-' || n, 1, 1, 'Event', '{}', now() ${each}`,
    `insert into worker_queue (work_item, visible_at, created_at, lock_token, locked_until, instance_id, execution_id, activity_id)
      select '{}', now(), now(), 'direct-work-' || n, ${bench.context().clock.nowMs() + 600_000}, 'direct-' || n, 1, 2 ${each}`,
  ];
  for (const statement of statements) await bench.sql(statement);
}

function expectBatch(what: string, items: readonly unknown[]): void {
  if (items.length !== BATCH) throw new Error(`fetched ${items.length} ${what}, expected ${BATCH}`);
}

function expectDone(results: readonly Result<unknown>[]): void {
  for (const result of results) if (!result.ok) throw result.error;
}
