import type { CliContext } from '../context.js';
import { confirm } from '../confirm.js';
import type { DefineCommand } from '../define.js';
import type { ExitCode } from '../exit-codes.js';
import { duration } from '../values.js';

interface CancelOptions {
  readonly reason: string;
  readonly yes?: boolean;
  readonly wait?: boolean;
  readonly timeout?: number;
}

export const cancelCommand: DefineCommand = (program, act) => {
  program
    .command('cancel')
    .description('ask an instance, and its children, to end')
    .argument('<id>', 'the instance')
    .option('--reason <text>', 'what its failure says', '')
    .option('--wait', 'wait until it has ended')
    .option('--timeout <duration>', 'with --wait: give up after', duration)
    .option('-y, --yes', 'do not ask')
    .action(act(cancel));
};

async function cancel(ctx: CliContext, id: string, options: CancelOptions): Promise<ExitCode | undefined> {
  const store = await ctx.open();
  const { requireRunning } = await import('../instances.js');
  const info = await requireRunning(store, id);
  await confirm(ctx, `Cancel ${JSON.stringify(id)} (${info.orchestrationName}) and its children?`, options.yes, {
    hasDryRun: false,
  });
  await store.client.cancelInstance(id, options.reason);
  if (options.wait) {
    const { waitForEnd } = await import('../wait-for-end.js');
    await waitForEnd(ctx, store, id, options.timeout);
  }
  ctx.print.answer({ instanceId: id, cancelled: options.wait === true, requested: true }, () =>
    ctx.print.line(options.wait ? 'it has ended' : 'asked it to end'),
  );
  return undefined;
}
