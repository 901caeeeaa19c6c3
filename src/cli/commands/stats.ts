import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { countText } from '../output/text.js';

export const statsCommand: DefineCommand = (program, act) => {
  program
    .command('stats')
    .description('instances by status, queues and workers')
    .option('--exact', 'count everything, which reads whole tables')
    .action(act(stats));
};

async function stats(ctx: CliContext, { exact }: { readonly exact?: boolean }): Promise<void> {
  const { admin, status } = await ctx.open();
  const instances = await admin.countByStatus();
  const queues = await admin.getQueueDepths();
  const totals = exact ? await admin.getSystemMetrics() : undefined;
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
      print.line(`  ${'orchestrator'.padEnd(16)}${countText(queues.orchestratorQueue)}`);
      print.line(`  ${'worker'.padEnd(16)}${countText(queues.workerQueue)}`);
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
