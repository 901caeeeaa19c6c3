import type { CliContext } from './context.js';
import { StatusLine } from './output/status-line.js';
import { countText } from './output/text.js';

/** Work that is shorter is shown without a bar. */
const SHOWN_AFTER_MS = 1_000;

/** A bar has so many characters, where there is room for it. */
const BAR_LENGTH = 30;
const MIN_BAR_LENGTH = 10;

/** A terminal that does not say how wide it is. */
const DEFAULT_COLUMNS = 80;

/** A bar that moves. */
export interface Progress {
  /** So much of the whole is done; a fraction is part of what is at hand. */
  to(done: number): void;
}

/** Shows a bar on a terminal when the work takes more than a second. Elsewhere nothing is written. */
export async function withProgress<T>(
  ctx: CliContext,
  { what, total }: { readonly what: string; readonly total: number },
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  let done = 0;
  const count = () => `${what}: ${countText(Math.floor(done))} of ${countText(total)}`;
  return withStatusLine(ctx, (columns) => barText(total === 0 ? 1 : done / total, count(), columns), {
    done: count,
    failed: () => `${what}: stopped after ${countText(Math.floor(done))} of ${countText(total)}`,
    work: () => work({ to: (reached) => (done = reached) }),
  });
}

/** Says what is being done, where nobody knows how much of it there is. */
export interface Spinner {
  /** How far it is. */
  readonly say: (text: string) => void;
  /** Lets something be printed above what is said. */
  readonly above: (write: () => void) => void;
}

/**
 * Says on a terminal that something is being done, when it takes more than a second and
 * nobody knows how much of it there is. Elsewhere nothing is written.
 */
export async function withSpinner<T>(
  ctx: CliContext,
  { doing, done, failed }: { readonly doing: string; readonly done: string; readonly failed: string },
  work: (spinner: Spinner) => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  let how = '';
  const text = () =>
    `${doing}${how === '' ? '' : `: ${how}`} (${Math.floor((performance.now() - startedAt) / 1_000)} s)`;
  return withStatusLine(ctx, text, {
    done: () => (how === '' ? done : `${done}: ${how}`),
    failed: () => failed,
    work: (line) => work({ say: (said) => (how = said), above: (write) => (line ? line.above(write) : write()) }),
  });
}

interface Shown<T> {
  /** What stays on the terminal. */
  readonly done: () => string;
  readonly failed: () => string;
  readonly work: (line: StatusLine | undefined) => Promise<T>;
}

async function withStatusLine<T>(
  { print, io }: CliContext,
  text: (columns: number) => string,
  { done, failed, work }: Shown<T>,
): Promise<T> {
  if (!print.isInteractive) return work(undefined);
  const line = new StatusLine({ stream: io.stderr, columns: () => print.columns ?? DEFAULT_COLUMNS }, text);
  let isShown = false;
  const timer = setTimeout(() => {
    isShown = true;
    line.start();
  }, SHOWN_AFTER_MS);
  const end = (last: () => string) => {
    clearTimeout(timer);
    line.clear();
    if (isShown) print.note(last());
    isShown = false;
  };
  const fail = () => end(() => `${print.colors.red('✗')} ${failed()}`);
  // Work that is left behind must not go on drawing over the shell's prompt.
  io.signal.addEventListener('abort', fail, { once: true });
  try {
    const result = await work(line);
    end(() => `${print.colors.green('✓')} ${done()}`);
    return result;
  } catch (error) {
    fail();
    throw error;
  } finally {
    io.signal.removeEventListener('abort', fail);
  }
}

function barText(share: number, text: string, columns: number): string {
  const length = Math.min(BAR_LENGTH, columns - text.length - 2);
  if (length < MIN_BAR_LENGTH) return text;
  const full = Math.floor(Math.min(1, share) * length);
  return `${'━'.repeat(full)}${'─'.repeat(length - full)}  ${text}`;
}
