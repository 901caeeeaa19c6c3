import type { PruneOptions } from '../../provider/admin.js';
import type { Candidate, Selection } from '../candidates.js';
import { confirm } from '../confirm.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { oneByOne } from '../one-by-one.js';
import { counted, countText, withoutControls } from '../output/text.js';
import { withProgress } from '../progress.js';
import type { Store } from '../store.js';
import { pastMoment, wholeNumber } from '../values.js';

interface PruneCommandOptions {
  readonly all?: boolean;
  readonly name?: string;
  readonly keepLast?: number;
  readonly completedBefore?: number;
  readonly limit: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export const pruneCommand: DefineCommand = (program, act) => {
  program
    .command('prune')
    .description('delete old executions of instances that continued as new; the current one always stays')
    .argument('[ids...]', 'instances')
    .option('--all', 'of all instances')
    .option('--name <orchestration>', 'of all instances of this orchestration')
    .option('--keep-last <count>', 'keep so many executions, the latest', wholeNumber(1))
    .option('--completed-before <moment>', 'only executions that ended before, e.g. 30d', pastMoment)
    .option('--limit <count>', 'of so many instances at most', wholeNumber(1, 1_000_000), 1_000)
    .option('--dry-run', 'say what would be deleted')
    .option('-y, --yes', 'do not ask')
    .action(act(prune));
};

/** Instances that are named before the question. */
const LISTED = 20;

/** Instances whose executions are asked for together. */
const ASKED_TOGETHER = 100;

interface Planned {
  readonly instanceId: string;
  readonly executions: readonly number[];
}

async function prune(ctx: CliContext, ids: readonly string[], options: PruneCommandOptions): Promise<void> {
  const { candidates, requireSelection } = await import('../candidates.js');
  // What ended when is a matter of executions here, not of instances.
  const selection: Selection = { ids, name: options.name, limit: options.limit };
  requireSelection(selection, options.all);
  if (options.keepLast === undefined && options.completedBefore === undefined) {
    throw new CliError(ExitCode.usage, 'nothing says which executions go; expected --keep-last or --completed-before');
  }
  const what: PruneOptions = { keepLast: options.keepLast, completedBeforeMs: options.completedBefore };
  const store = await ctx.open();
  const found = await candidates(ctx, store, selection, ({ currentExecutionId }) => currentExecutionId > 1);
  const plan = await planned(ctx, store, found, what);
  const count = plan.reduce((sum, { executions }) => sum + executions.length, 0);
  if (options.dryRun || count === 0) {
    ctx.print.answer({ dryRun: options.dryRun === true, instances: plan }, () => {
      preview(ctx, plan);
      ctx.print.line(count === 0 ? 'nothing to prune' : `would delete ${counted(count, 'execution')}`);
    });
    return;
  }
  if (!ctx.print.json) preview(ctx, plan.slice(0, LISTED));
  if (!ctx.print.json && plan.length > LISTED) ctx.print.line(`  … and ${countText(plan.length - LISTED)} more`);
  await confirm(
    ctx,
    `Delete ${counted(count, 'execution')} of ${counted(plan.length, 'instance')}, for good?`,
    options.yes,
  );
  const total = { instancesProcessed: 0, executionsDeleted: 0, eventsDeleted: 0 };
  const pruned = await oneByOne(ctx, { what: 'pruning', items: plan }, async ({ instanceId }) => {
    const done = await store.admin.pruneExecutions(instanceId, what);
    total.instancesProcessed += done.instancesProcessed;
    total.executionsDeleted += done.executionsDeleted;
    total.eventsDeleted += done.eventsDeleted;
  });
  ctx.print.answer(total, () => {
    ctx.print.line(
      `deleted ${counted(total.executionsDeleted, 'execution')} with ${counted(total.eventsDeleted, 'event')}`,
    );
  });
  if (pruned < plan.length) ctx.io.signal.throwIfAborted();
}

function preview({ print }: CliContext, plan: readonly Planned[]): void {
  for (const { instanceId, executions } of plan) {
    const which = `(${executions[0]} to ${executions.at(-1)})`;
    print.line(`  ${withoutControls(instanceId)}  ${counted(executions.length, 'execution')} ${which}`);
  }
}

/** What pruning would delete, by the very rule of the store. */
async function planned(
  ctx: CliContext,
  store: Store,
  found: readonly Candidate[],
  options: PruneOptions,
): Promise<Planned[]> {
  const { prunable } = await import('../../provider/drizzle/admin/prune-executions.js');
  const { storedExecutions } = await import('../stored-executions.js');
  return withProgress(ctx, { what: 'looking at executions', total: found.length }, async (progress) => {
    const plan: Planned[] = [];
    for (let from = 0; from < found.length; from += ASKED_TOGETHER) {
      ctx.io.signal.throwIfAborted();
      const instances = found.slice(from, from + ASKED_TOGETHER).map(({ instanceId }) => instanceId);
      const stored = await storedExecutions(store, instances);
      for (const instanceId of instances) {
        const executions = prunable(stored.get(instanceId) ?? [], options);
        if (executions.length > 0) plan.push({ instanceId, executions });
      }
      progress.to(from + instances.length);
    }
    return plan;
  });
}
