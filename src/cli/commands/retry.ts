import type { ResetResult } from '../../provider/admin.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { Selection } from '../candidates.js';
import type { CliContext } from '../context.js';
import { confirm } from '../confirm.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { counted, withoutControls } from '../output/text.js';
import { duration, pastMoment, wholeNumber } from '../values.js';

interface RetryOptions {
  readonly all?: boolean;
  readonly name?: string;
  readonly failedSince?: number;
  readonly limit: number;
  readonly toEvent?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly wait?: boolean;
  readonly timeout?: number;
}

export const retryCommand: DefineCommand = (program, act) => {
  program
    .command('retry')
    .description('let failed instances go on from the step that failed')
    .argument('[ids...]', 'instances')
    .option('--all', 'all root instances that have failed')
    .option('--name <orchestration>', 'root instances of this orchestration that have failed')
    .option('--failed-since <moment>', 'root instances that failed at or after, e.g. 2h', pastMoment)
    .option('--limit <count>', 'at most so many, with a filter', wholeNumber(1, 1_000_000), 1_000)
    .option('--to-event <number>', 'go on behind this event instead; one instance only', wholeNumber(1))
    .option('--dry-run', 'say what would be done')
    .option('--wait', 'watch it until it has ended; one instance only')
    .option('--timeout <duration>', 'with --wait: give up after', duration)
    .option('-y, --yes', 'do not ask')
    .action(act(retry));
};

async function retry(ctx: CliContext, ids: readonly string[], options: RetryOptions): Promise<ExitCode> {
  const { requireSelection } = await import('../candidates.js');
  const selection: Selection = {
    ids,
    name: options.name,
    completedSince: options.failedSince,
    limit: options.limit,
  };
  requireSelection(selection, options.all);
  if (options.timeout !== undefined && !options.wait) {
    throw new CliError(ExitCode.usage, '--timeout was given without --wait; expected both');
  }
  const [id] = ids;
  if (ids.length === 1 && id !== undefined) return retryOne(ctx, id, options);
  for (const [flag, given] of [
    ['--to-event', options.toEvent !== undefined],
    ['--wait', options.wait === true],
  ] as const) {
    if (given) throw new CliError(ExitCode.usage, `${flag} was given for many instances; expected the id of one`);
  }
  const { retryMany } = await import('../retry-many.js');
  return retryMany(ctx, selection, options);
}

async function retryOne(ctx: CliContext, id: string, options: RetryOptions): Promise<ExitCode> {
  const store = await ctx.open();
  const { requireInstance } = await import('../instances.js');
  const info = await requireInstance(store, id);
  if (info.status !== 'Failed') throw cannot(id, `it is ${info.status}; only a failed instance can be retried`);
  const history = await store.admin.readHistory(id);
  const point = await pointOf(history, options.toEvent);
  if ('reason' in point) throw cannot(id, point.reason);
  const { toEventId, step } = point;
  const later = history.filter(({ eventId }) => eventId > toEventId).length;
  if (options.dryRun) {
    ctx.print.answer({ instanceId: id, toEventId, step, eventsArchived: later, dryRun: true }, () => {
      ctx.print.line(
        `would go on behind event ${toEventId}: ${step}; ${counted(later, 'later event')} would be archived`,
      );
    });
    return ExitCode.ok;
  }
  await confirm(ctx, `Retry ${JSON.stringify(id)} behind event ${toEventId} (${step})?`, options.yes);
  const result = await store.admin.resetInstance(id, toEventId);
  ctx.print.answer(result, () => printResult(ctx, result));
  if (!options.wait) return ExitCode.ok;
  const { follow } = await import('./watch.js');
  return follow(ctx, store, id, {
    ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
    interval: 200,
    history: true,
  });
}

/** Where an instance goes on, in words; or why it cannot. */
export async function pointOf(
  history: readonly HistoryEvent[],
  toEvent?: number,
): Promise<{ readonly toEventId: number; readonly step: string } | { readonly reason: string }> {
  if (toEvent !== undefined) return { toEventId: toEvent, step: 'as asked for' };
  const { findRetryPoint } = await import('../../provider/retry-point.js');
  const point = findRetryPoint(history);
  if (point.kind === 'none') return { reason: point.reason };
  if (point.kind === 'turn') {
    return {
      toEventId: point.toEventId,
      step: 'no step failed but the code of the orchestration: its last turn runs again',
    };
  }
  const kind = point.step.kind === 'ActivityScheduled' ? 'activity' : 'child';
  return {
    toEventId: point.toEventId,
    step: `${kind} ${withoutControls(point.step.name)}, scheduled by event ${point.step.eventId}, runs again`,
  };
}

/** That an instance cannot be retried, and why. */
export function cannot(id: string, reason: string): CliError {
  return new CliError(ExitCode.refused, `${JSON.stringify(id)} cannot be retried: ${reason}`);
}

/** What was done to one instance, and to its children. */
export function printResult(ctx: CliContext, result: ResetResult): void {
  const parts = [
    [result.activities, 'activity', 'activities'],
    [result.timers, 'timer', 'timers'],
    [result.children, 'child', 'children'],
    [result.messages, 'message', 'messages'],
  ] as const;
  const enqueued = parts.filter(([count]) => count > 0).map(([count, one, many]) => counted(count, one, many));
  ctx.print.line(
    `${withoutControls(result.instanceId)} runs again: ${counted(result.eventsArchived, 'event')} archived` +
      (enqueued.length > 0 ? `, enqueued again: ${enqueued.join(', ')}` : ''),
  );
  for (const child of result.resetChildren) printResult(ctx, child);
}
