import type { CliContext } from './context.js';
import { CliError, ExitCode } from './exit-codes.js';
import { withoutControls } from './output/text.js';

/**
 * Asks before something is changed that cannot be taken back.
 * @throws CliError unless the answer is yes; without a terminal to ask at, unless `--yes` was given
 */
export async function confirm(
  ctx: CliContext,
  question: string,
  yes: boolean | undefined,
  { hasDryRun = true }: { readonly hasDryRun?: boolean } = {},
): Promise<void> {
  if (yes) return;
  if (!ctx.print.isInteractive) {
    throw new CliError(
      ExitCode.refused,
      `${question} Nobody can be asked here, and nothing was changed`,
      `pass --yes to answer with yes${hasDryRun ? ', or --dry-run to look only' : ''}`,
    );
  }
  const { confirm: ask, isCancel } = await import('@clack/prompts');
  const answer = await ask({ message: withoutControls(question), initialValue: false, signal: ctx.io.signal });
  if (isCancel(answer) || !answer) throw new CliError(ExitCode.refused, 'not confirmed; nothing was changed');
}
