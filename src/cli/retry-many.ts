import type { ResetResult } from '../provider/admin.js';
import { candidates, type Selection } from './candidates.js';
import { cannot, pointOf, printResult } from './commands/retry.js';
import { confirm } from './confirm.js';
import type { CliContext } from './context.js';
import { ExitCode } from './exit-codes.js';
import { oneByOne } from './one-by-one.js';
import { counted, countText, withoutControls } from './output/text.js';
import { withProgress } from './progress.js';
import type { Store } from './store.js';

/** Instances that are named before the question. */
const LISTED = 20;

interface Planned {
  readonly instanceId: string;
  readonly toEventId: number;
  readonly step: string;
}

interface Skipped {
  readonly instanceId: string;
  readonly reason: string;
}

interface Plan {
  readonly planned: readonly Planned[];
  /** What fits the filter, but cannot go on. */
  readonly skipped: readonly Skipped[];
}

/**
 * Retries each of several instances. Of those that are named each must be one that can go on,
 * before anything is changed; those of a filter that cannot are told, and left alone.
 * @returns `negative` when one that was planned could not be retried after all
 */
export async function retryMany(
  ctx: CliContext,
  selection: Selection,
  { dryRun, yes }: { readonly dryRun?: boolean; readonly yes?: boolean },
): Promise<ExitCode> {
  const store = await ctx.open();
  const plan = await planOf(ctx, store, selection);
  const { planned, skipped } = plan;
  if (dryRun || planned.length === 0) {
    ctx.print.answer({ dryRun: dryRun === true, ...plan }, () => {
      preview(ctx, plan);
      ctx.print.line(planned.length === 0 ? 'nothing to retry' : `would retry ${counted(planned.length, 'instance')}`);
    });
    return ExitCode.ok;
  }
  if (!ctx.print.json) preview(ctx, plan);
  await confirm(ctx, `Retry ${counted(planned.length, 'instance')}?`, yes);

  const retried: ResetResult[] = [];
  const failed: Skipped[] = [];
  const done = await oneByOne(ctx, { what: 'retrying', items: planned }, async ({ instanceId, toEventId }) => {
    try {
      retried.push(await store.admin.resetInstance(instanceId, toEventId));
    } catch (error) {
      // One that somebody else has retried, or deleted, meanwhile does not keep the others from it.
      if (!isRefusal(error)) throw error;
      failed.push({ instanceId, reason: error.reason });
    }
  });
  ctx.print.answer({ retried, skipped, failed }, () => {
    if (retried.length <= LISTED) for (const result of retried) printResult(ctx, result);
    for (const one of failed) ctx.print.line(ctx.print.colors.red(`  ${skippedText(one)}`));
    ctx.print.line(`retried ${counted(retried.length, 'instance')}`);
  });
  if (done < planned.length) ctx.io.signal.throwIfAborted();
  return failed.length > 0 ? ExitCode.negative : ExitCode.ok;
}

async function planOf(ctx: CliContext, store: Store, selection: Selection): Promise<Plan> {
  const isFilter = selection.ids.length === 0;
  // What failed as a child is retried with its parent.
  const found = await candidates(ctx, store, isFilter ? { ...selection, status: 'Failed' } : selection, (candidate) => {
    return candidate.parentInstanceId === null;
  });
  return withProgress(ctx, { what: 'reading histories', total: found.length }, async (progress) => {
    const planned: Planned[] = [];
    const skipped: Skipped[] = [];
    for (const [index, { instanceId, status }] of found.entries()) {
      ctx.io.signal.throwIfAborted();
      const point =
        status === 'Failed'
          ? await pointOf(await store.admin.readHistory(instanceId))
          : { reason: `it is ${status}; only a failed instance can be retried` };
      if (!('reason' in point)) planned.push({ instanceId, ...point });
      else if (isFilter) skipped.push({ instanceId, reason: point.reason });
      else throw cannot(instanceId, `${point.reason}; nothing was changed`);
      progress.to(index + 1);
    }
    return { planned, skipped };
  });
}

function preview({ print }: CliContext, { planned, skipped }: Plan): void {
  for (const { instanceId, toEventId, step } of planned.slice(0, LISTED)) {
    print.line(`  ${withoutControls(instanceId)}  behind event ${toEventId}: ${step}`);
  }
  if (planned.length > LISTED) print.line(`  … and ${countText(planned.length - LISTED)} more`);
  for (const one of skipped.slice(0, LISTED)) print.line(print.colors.dim(`  ${skippedText(one)}`));
  if (skipped.length > LISTED) print.line(`  … and ${countText(skipped.length - LISTED)} more that cannot be retried`);
}

function skippedText({ instanceId, reason }: Skipped): string {
  return `${withoutControls(instanceId)}  cannot be retried: ${withoutControls(reason)}`;
}

/** The store's own no to this instance: neither the database's nor that of a connection, which end the whole. */
function isRefusal(error: unknown): error is Error & { readonly reason: string } {
  const { name, reason, sqlState } = error as { name?: unknown; reason?: unknown; sqlState?: unknown };
  if (name !== 'ProviderError' || typeof reason !== 'string' || sqlState !== undefined) return false;
  return !/^(I\/O error|Connection pool error)/.test(reason);
}
