import type { CliContext } from './context.js';

/** Work that is shorter is shown without a bar. */
const SHOWN_AFTER_MS = 1_000;

/** A bar needs room. */
const MIN_COLUMNS = 40;

/** A bar that moves. */
export interface Progress {
  /** So much of the whole is done. */
  to(done: number): void;
}

/** Shows a bar on a terminal when the work takes more than a second. */
export async function withProgress<T>(
  ctx: CliContext,
  { what, total }: { readonly what: string; readonly total: number },
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const mayShow = ctx.print.isInteractive && (ctx.print.columns ?? 0) >= MIN_COLUMNS;
  if (!mayShow) return work({ to: () => undefined });
  const { progress } = await import('@clack/prompts');
  let bar: ReturnType<typeof progress> | undefined;
  let done = 0;
  let shown = 0;
  const timer = setTimeout(() => {
    bar = progress({ max: Math.max(1, total), output: process.stderr, signal: ctx.io.signal });
    bar.start(what);
    bar.advance(done);
    shown = done;
  }, SHOWN_AFTER_MS);
  try {
    const result = await work({
      to: (count) => {
        done = count;
        if (!bar || done <= shown) return;
        bar.advance(done - shown, `${what}: ${done} of ${total}`);
        shown = done;
      },
    });
    bar?.stop(`${what}: ${done} of ${total}`);
    return result;
  } catch (error) {
    bar?.error(`${what}: stopped after ${done} of ${total}`);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Says on a terminal that something is being done, when it takes more than a second and
 * nobody knows how much of it there is.
 */
export async function withSpinner<T>(
  ctx: CliContext,
  { doing, done, failed }: { readonly doing: string; readonly done: string; readonly failed: string },
  work: (say: (text: string) => void) => Promise<T>,
): Promise<T> {
  if (!ctx.print.isInteractive) return work(() => undefined);
  const { spinner } = await import('@clack/prompts');
  let shown: ReturnType<typeof spinner> | undefined;
  const timer = setTimeout(() => {
    shown = spinner({ output: process.stderr, signal: ctx.io.signal });
    shown.start(doing);
  }, SHOWN_AFTER_MS);
  try {
    const result = await work((text) => shown?.message(`${doing}: ${text}`));
    shown?.stop(done);
    return result;
  } catch (error) {
    shown?.error(failed);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
