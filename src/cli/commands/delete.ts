import { Option } from 'commander';
import type { DeleteResult } from '../../provider/admin.js';
import { type Candidate, type Selection, WAITS_IN_QUEUE } from '../candidates.js';
import { confirm } from '../confirm.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { oneByOne } from '../one-by-one.js';
import { counted, countText, momentText, withoutControls } from '../output/text.js';
import { pastMoment, statusName, wholeNumber } from '../values.js';

interface DeleteOptions {
  readonly completedBefore?: number;
  readonly status?: string;
  readonly name?: string;
  readonly limit: number;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Instances that are named before the question. */
const LISTED = 20;

export const deleteCommand: DefineCommand = (program, act) => {
  program
    .command('delete')
    .description('delete instances that have ended, each with all its children')
    .argument('[ids...]', 'root instances')
    .option('--completed-before <moment>', 'that ended before, e.g. 30d', pastMoment)
    .addOption(new Option('--status <status>', 'of this status').choices(['Completed', 'Failed']).argParser(statusName))
    .option('--name <orchestration>', 'of this orchestration')
    .option('--limit <count>', 'at most so many, with a filter', wholeNumber(1, 1_000_000), 1_000)
    .option('--force', 'also instances that run; ids only')
    .option('--dry-run', 'say what would be deleted')
    .option('-y, --yes', 'do not ask')
    .action(act(remove));
};

async function remove(ctx: CliContext, ids: readonly string[], options: DeleteOptions): Promise<void> {
  const { candidates, requireSelection } = await import('../candidates.js');
  const selection: Selection = { ids, ...options, alsoQueued: true };
  requireSelection(selection);
  if (options.force && ids.length === 0) {
    throw new CliError(
      ExitCode.usage,
      '--force was given with a filter; expected ids: what runs is deleted by name only',
    );
  }
  if (options.status === 'Running' || options.status === 'ContinuedAsNew') {
    throw new CliError(ExitCode.usage, `--status ${options.status} was given; expected Completed or Failed`);
  }
  const store = await ctx.open();
  const found = await candidates(ctx, store, selection, ({ status, parentInstanceId }) => {
    return parentInstanceId === null && (status === 'Completed' || status === 'Failed');
  });
  refuse(found, options.force === true);
  const instances = found.map(({ instanceId }) => instanceId);
  if (options.dryRun || found.length === 0) {
    ctx.print.answer({ dryRun: options.dryRun === true, roots: instances }, () => {
      preview(ctx, found);
      const what = `would delete ${counted(found.length, 'instance')} with all children`;
      ctx.print.line(found.length === 0 ? 'nothing to delete' : what);
    });
    return;
  }
  if (!ctx.print.json) preview(ctx, found);
  await confirm(ctx, `Delete ${counted(found.length, 'instance')} with all children, for good?`, options.yes);

  const total = { instancesDeleted: 0, executionsDeleted: 0, eventsDeleted: 0, queueMessagesDeleted: 0 };
  const count = await oneByOne(ctx, { what: 'deleting', items: instances }, async (instance) => {
    const done = await store.admin.deleteInstance(instance, options.force === true);
    for (const key of Object.keys(total) as (keyof DeleteResult)[]) total[key] += done[key];
  });
  ctx.print.answer(total, () => {
    ctx.print.line(
      `deleted ${counted(total.instancesDeleted, 'instance')}, ${counted(total.executionsDeleted, 'execution')}, ` +
        `${counted(total.eventsDeleted, 'event')}, ${counted(total.queueMessagesDeleted, 'message')}`,
    );
  });
  if (count < instances.length) ctx.io.signal.throwIfAborted();
}

function isDeletable(status: string): boolean {
  return status === 'Completed' || status === 'Failed' || status.startsWith(WAITS_IN_QUEUE);
}

/** Everything that is named must be deletable, before anything is deleted. */
function refuse(found: readonly Candidate[], force: boolean): void {
  const child = found.find(({ parentInstanceId }) => parentInstanceId !== null);
  if (child) {
    throw new CliError(
      ExitCode.refused,
      `${JSON.stringify(child.instanceId)} is a child of ${JSON.stringify(child.parentInstanceId)}; expected root instances; nothing was deleted`,
    );
  }
  const running = found.find(({ status }) => !isDeletable(status));
  if (running && !force) {
    throw new CliError(
      ExitCode.refused,
      `${JSON.stringify(running.instanceId)} is ${running.status}; expected instances that have ended; nothing was deleted`,
      'cancel it first, or pass --force',
    );
  }
}

function preview({ print }: CliContext, found: readonly Candidate[]): void {
  for (const { instanceId, orchestrationName, status, completedAtMs } of found.slice(0, LISTED)) {
    const ended = completedAtMs === null ? '' : `  ${momentText(completedAtMs)}`;
    print.line(
      `  ${withoutControls(instanceId)}  ${withoutControls(orchestrationName)}  ${print.status(status)}${ended}`,
    );
  }
  if (found.length > LISTED) print.line(`  … and ${countText(found.length - LISTED)} more`);
}
