import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { payload } from '../values.js';

export const raiseCommand: DefineCommand = (program, act) => {
  program
    .command('raise')
    .description('raise an event for an instance that waits for it now')
    .argument('<id>', 'the instance')
    .argument('<event>', 'name of the event')
    .argument('[data]', 'JSON; @FILE reads a file, - reads stdin')
    .action(act(raise));
};

async function raise(ctx: CliContext, id: string, event: string, dataText: string | undefined): Promise<void> {
  const data = await payload('the data', dataText, ctx.io);
  const store = await ctx.open();
  const { noteIfNotBegun, requireReachable } = await import('../instances.js');
  const known = await requireReachable(store, id);
  await store.client.raiseEvent(id, event, data);
  ctx.print.answer({ instanceId: id, raised: event }, () => {
    ctx.print.line(`raised ${event}`);
    noteIfNotBegun(ctx.print, known);
  });
}
