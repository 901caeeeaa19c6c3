import type { WorkerInfo } from '../../provider/workers.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { durationText, momentText } from '../output/text.js';

export const workersCommand: DefineCommand = (program, act) => {
  program
    .command('workers')
    .description('runtimes that work on the schema, as they tell of themselves')
    .option('--running', 'only those that run')
    .action(act(workers));
};

async function workers(ctx: CliContext, { running }: { readonly running?: boolean }): Promise<void> {
  const { admin, provider } = await ctx.open();
  const found = (await admin.workers()).filter(({ state }) => !running || state === 'running');
  const nowMs = provider.nowMs();
  ctx.print.answer(found, () => {
    if (found.length === 0) ctx.print.note('no workers');
    else
      ctx.print.table(
        HEADINGS,
        found.map((worker) => cells(worker, nowMs)),
        { canMiss: ['STARTED', 'VERSION', 'PID'] },
      );
  });
}

const HEADINGS = ['RUNTIME', 'HOST', 'PID', 'VERSION', 'STATE', 'TURNS', 'ACTIVITIES', 'STARTED', 'LAST SEEN'];

function cells(worker: WorkerInfo, nowMs: number): string[] {
  return [
    worker.runtimeId,
    worker.host,
    String(worker.pid),
    worker.packageVersion,
    worker.state,
    `${worker.orchestrationSlots.inUse}/${worker.orchestrationSlots.total}`,
    `${worker.activitySlots.inUse}/${worker.activitySlots.total}`,
    momentText(worker.startedAtMs),
    `${durationText(nowMs - worker.lastSeenMs)} ago`,
  ];
}
