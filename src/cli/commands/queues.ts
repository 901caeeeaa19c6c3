import type { StartQueueInfo } from '../../client/start-queues.js';
import type { StartRate } from '../../provider/start-queues.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { listedByDefault } from '../listed-by-default.js';
import { nextCommand } from '../output/command-line.js';
import { durationText, withoutControls } from '../output/text.js';
import type { Store } from '../store.js';

export const queuesCommand: DefineCommand = (program, act) => {
  const queues = program
    .command('queues')
    .description('start queues: limits on how orchestrations are started, and what waits for them');
  queues
    .command('list')
    .description('all start queues with their counts; the default')
    .argument('[prefix]', 'only ids that begin so')
    .action(act(list));
  listedByDefault(queues, act(list));
  queues
    .command('pause')
    .description('admit nothing; what runs goes on, and starts wait')
    .argument('<id>', 'the queue')
    .action(act(pause));
  queues.command('resume').description('admit again').argument('<id>', 'the queue').action(act(resume));
};

const HEADINGS = ['QUEUE', 'CONCURRENCY', 'PER KEY', 'RATE', 'RATE PER KEY', 'WAITING', 'OLDEST', 'RUNNING', 'STATE'];

async function list(ctx: CliContext, prefix = ''): Promise<void> {
  const { client, provider, schema } = await ctx.open();
  const queues = (await client.startQueues.list()).filter(({ id }) => id.startsWith(prefix));
  if (queues.length === 0 && prefix !== '') throw noQueue(prefix, schema);
  const nowMs = provider.nowMs();
  ctx.print.answer({ queues: queues.map(queueDocument) }, () => {
    if (queues.length === 0) ctx.print.note('no start queues');
    else
      ctx.print.table(
        HEADINGS,
        queues.map((queue) => cells(queue, nowMs)),
      );
  });
}

async function pause(ctx: CliContext, id: string): Promise<void> {
  const store = await ctx.open();
  const { isPaused } = await requireQueue(store, id);
  await store.client.startQueues.pause(id);
  ctx.print.answer(queueDocument(await requireQueue(store, id)), () => {
    ctx.print.line(isPaused ? 'it was paused already' : 'paused');
    ctx.print.note(ctx.print.colors.dim(`let it admit again with: ${nextCommand(ctx, 'queues resume', id)}`));
  });
}

async function resume(ctx: CliContext, id: string): Promise<void> {
  const store = await ctx.open();
  const { isPaused } = await requireQueue(store, id);
  await store.client.startQueues.resume(id);
  ctx.print.answer(queueDocument(await requireQueue(store, id)), () => {
    ctx.print.line(isPaused ? 'resumed' : 'it was not paused');
  });
}

async function requireQueue({ client, schema }: Store, id: string): Promise<StartQueueInfo> {
  const found = (await client.startQueues.list()).find((queue) => queue.id === id);
  if (found) return found;
  throw noQueue(id, schema);
}

function noQueue(id: string, schema: string): CliError {
  return new CliError(ExitCode.notFound, `there is no start queue ${JSON.stringify(id)} in schema "${schema}"`);
}

/** A queue in JSON: moments in Unix ms, as everywhere in the answers of the command line. */
function queueDocument({ oldestWaitingAt, createdAt, updatedAt, ...rest }: StartQueueInfo) {
  return {
    ...rest,
    oldestWaitingAtMs: oldestWaitingAt?.getTime() ?? null,
    createdAtMs: createdAt.getTime(),
    updatedAtMs: updatedAt.getTime(),
  };
}

function cells(queue: StartQueueInfo, nowMs: number): string[] {
  const { id, concurrency, concurrencyPerKey, rate, ratePerKey, waiting, running, oldestWaitingAt, isPaused } = queue;
  return [
    withoutControls(id),
    countText(concurrency),
    countText(concurrencyPerKey),
    rateText(rate),
    rateText(ratePerKey),
    String(waiting),
    oldestWaitingAt === null ? '-' : durationText(Math.max(0, nowMs - oldestWaitingAt.getTime())),
    String(running),
    isPaused ? 'paused' : 'active',
  ];
}

function countText(count: number | null): string {
  return count === null ? '-' : String(count);
}

function rateText(rate: StartRate | null): string {
  return rate === null ? '-' : `${rate.limit} in ${durationText(rate.periodMs)}`;
}
