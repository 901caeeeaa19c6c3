import type { CliContext } from './context.js';
import { withProgress } from './progress.js';

/**
 * Does something to each item, with a progress bar. An interruption lets the one at hand
 * be finished, and leaves the rest.
 * @returns how many were done: fewer than all of them after an interruption
 */
export async function oneByOne<T>(
  ctx: CliContext,
  { what, items }: { readonly what: string; readonly items: readonly T[] },
  work: (item: T) => Promise<void>,
): Promise<number> {
  ctx.handlesInterrupt();
  return withProgress(ctx, { what, total: items.length }, async (progress) => {
    let done = 0;
    for (const item of items) {
      if (ctx.io.signal.aborted) break;
      await work(item);
      progress.to(++done);
    }
    return done;
  });
}
