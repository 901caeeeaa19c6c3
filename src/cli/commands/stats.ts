import type { SystemMetrics } from '../../provider/admin.js';
import type { StatusCount } from '../../provider/instance-pages.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { countText, durationText } from '../output/text.js';
import { withSpinner } from '../progress.js';
import type { Store } from '../store.js';

export const statsCommand: DefineCommand = (program, act) => {
  program
    .command('stats')
    .description('instances by status, queues and workers')
    .option('--exact', 'count everything, which reads whole tables')
    .action(act(stats));
};

async function stats(ctx: CliContext, { exact }: { readonly exact?: boolean }): Promise<void> {
  const store = await ctx.open();
  const { admin, status } = store;
  const counting = { doing: 'counting', done: 'counted', failed: 'not counted' };
  const { totals, instances, queues } = await withSpinner(ctx, counting, async () => {
    const totals = exact ? await admin.getSystemMetrics() : undefined;
    const instances = (await admin.countByStatus()).map((count) => (totals ? withTotals(count, totals) : count));
    return { totals, instances, queues: await queuesOf(store, exact === true) };
  });
  const workers = await admin.workers().catch((error: unknown) => {
    // A schema that native made has no list of workers; the rest is worth being told.
    if (error instanceof Error && error.name === 'UnsupportedError') return undefined;
    throw error;
  });
  const running = workers?.filter(({ state }) => state === 'running').length ?? null;
  ctx.print.answer(
    { schema: status.schema, origin: status.origin, instances, queues, runningWorkers: running, totals },
    () => {
      const { print } = ctx;
      print.line(print.colors.bold('Instances'));
      for (const { status: name, count, isEstimate } of instances)
        print.line(
          `  ${print.status(name)}${' '.repeat(Math.max(1, 16 - name.length))}${countText(count, isEstimate)}`,
        );
      if (instances.length === 0) print.line('  none');
      print.line(print.colors.bold('Queues (due now)'));
      for (const [name, queue] of [
        ['orchestrator', 'orchestratorQueue'],
        ['worker', 'workerQueue'],
      ] as const) {
        const oldestAtMs = queues.oldestAtMs[queue];
        const age = oldestAtMs === null ? '' : `, the oldest for ${durationText(store.provider.nowMs() - oldestAtMs)}`;
        const most = queues.isAtLeast[queue] ? ' or more' : '';
        print.line(`  ${name.padEnd(16)}${countText(queues[queue])}${most}${age}`);
      }
      print.line(print.colors.bold('Workers'));
      print.line(`  ${running === null ? 'unknown: the schema has no table ddz_workers' : `${running} running`}`);
      if (!totals) return;
      print.line(print.colors.bold('Totals'));
      print.line(`  ${'instances'.padEnd(16)}${countText(totals.totalInstances)}`);
      print.line(`  ${'executions'.padEnd(16)}${countText(totals.totalExecutions)}`);
      print.line(`  ${'events'.padEnd(16)}${countText(totals.totalEvents)}`);
    },
  );
}

/** What was counted in place of what was estimated. */
function withTotals(count: StatusCount, totals: SystemMetrics): StatusCount {
  const counted: Readonly<Record<string, number>> = {
    Running: totals.runningInstances,
    Completed: totals.completedInstances,
    Failed: totals.failedInstances,
  };
  const exact = counted[count.status];
  return count.isEstimate && exact !== undefined ? { ...count, count: exact, isEstimate: false } : count;
}

type PerQueue<T> = Readonly<Record<'orchestratorQueue' | 'workerQueue', T>>;

interface Queues extends PerQueue<number> {
  /** There are more: counting stopped, so that a large backlog can be looked at. */
  readonly isAtLeast: PerQueue<boolean>;
  readonly oldestAtMs: PerQueue<number | null>;
}

/** What is due. Counts of everything read whole tables: they are made when they are asked for. */
async function queuesOf({ admin }: Store, exact: boolean): Promise<Queues> {
  const backlogs = new Map((await admin.getQueueBacklogs()).map((backlog) => [backlog.queue, backlog]));
  const [orchestrator, worker] = [backlogs.get('orchestrator'), backlogs.get('worker')];
  const oldestAtMs = {
    orchestratorQueue: orchestrator?.oldestAtMs ?? null,
    workerQueue: worker?.oldestAtMs ?? null,
  };
  if (exact) {
    const { orchestratorQueue, workerQueue } = await admin.getQueueDepths();
    return { orchestratorQueue, workerQueue, isAtLeast: { orchestratorQueue: false, workerQueue: false }, oldestAtMs };
  }
  return {
    orchestratorQueue: orchestrator?.ready ?? 0,
    workerQueue: worker?.ready ?? 0,
    isAtLeast: {
      orchestratorQueue: orchestrator?.isAtLeast ?? false,
      workerQueue: worker?.isAtLeast ?? false,
    },
    oldestAtMs,
  };
}
