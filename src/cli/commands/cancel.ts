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
  const { requireReachable } = await import('../instances.js');
  const known = await requireReachable(store, id);
  const orchestration = 'info' in known ? known.info.orchestrationName : known.pending.orchestration;
  await confirm(ctx, `Cancel ${JSON.stringify(id)} (${orchestration}) and its children?`, options.yes, {
    hasDryRun: false,
  });
  await store.client.cancelInstance(id, options.reason);
  if (options.wait) {
    const { waitForEnd } = await import('../wait-for-end.js');
    await waitForEnd(ctx, store, id, options.timeout);
  }
  ctx.print.answer({ instanceId: id, cancelled: options.wait === true, requested: true }, () => {
    ctx.print.line(options.wait ? 'it has ended' : 'asked it to end');
    if ('pending' in known && !options.wait) {
      ctx.print.note(ctx.print.colors.dim('it has not begun: it ends as cancelled as soon as a worker takes it'));
    }
  });
  return undefined;
}
