import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { payload } from '../values.js';

export const enqueueCommand: DefineCommand = (program, act) => {
  program
    .command('enqueue')
    .description('put a message into a queue of an instance, where it waits until it is taken')
    .argument('<id>', 'the instance')
    .argument('<queue>', 'name of the queue')
    .argument('[message]', 'JSON; @FILE reads a file, - reads stdin')
    .action(act(enqueue));
};

async function enqueue(ctx: CliContext, id: string, queue: string, messageText: string | undefined): Promise<void> {
  const message = await payload('the message', messageText, ctx.io);
  const store = await ctx.open();
  const { noteIfNotBegun, requireReachable } = await import('../instances.js');
  const known = await requireReachable(store, id);
  await store.client.enqueueEvent(id, queue, message);
  ctx.print.answer({ instanceId: id, enqueued: queue }, () => {
    ctx.print.line(`enqueued into ${queue}`);
    noteIfNotBegun(ctx.print, known);
  });
}
