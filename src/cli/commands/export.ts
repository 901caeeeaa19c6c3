import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { withoutControls } from '../output/text.js';
import { withProgress } from '../progress.js';
import type { Store } from '../store.js';
import { wholeNumber } from '../values.js';

interface ExportOptions {
  readonly execution?: number;
  readonly allExecutions?: boolean;
  readonly out?: string;
}

export const exportCommand: DefineCommand = (program, act) => {
  program
    .command('export')
    .description('the history of an instance as JSON, for `replay` and for tests')
    .argument('<id>', 'the instance')
    .option('--execution <number>', 'this execution (default: the current one)', wholeNumber(1))
    .option('--all-executions', 'all of them')
    .option('--out <file>', 'write to a file that does not exist yet')
    .action(act(exportHistory));
};

async function exportHistory(ctx: CliContext, id: string, options: ExportOptions): Promise<void> {
  if (options.allExecutions && options.execution !== undefined) {
    throw new CliError(ExitCode.usage, 'both --execution and --all-executions were given; expected one of them');
  }
  const store = await ctx.open();
  const { requireInstance, requireExecution } = await import('../instances.js');
  const { currentExecutionId } = await requireInstance(store, id);
  if (options.execution !== undefined) await requireExecution(store, id, options.execution);
  const wanted = options.allExecutions ? undefined : (options.execution ?? currentExecutionId);
  const executions = (await store.admin.listExecutions(id)).filter((one) => one <= (wanted ?? one));

  const { out } = options;
  if (out === undefined) {
    await writeDocument(ctx, store, { id, wanted, executions }, (text) => void ctx.io.stdout.write(text));
    return;
  }
  const file = path.resolve(ctx.io.cwd, out);
  const handle = open(file);
  ctx.handlesInterrupt();
  try {
    await writeDocument(ctx, store, { id, wanted, executions }, (text) => writeFileSync(handle, text));
  } catch (error) {
    // Half a history would be taken for a whole one.
    rmSync(file, { force: true });
    throw isOf(error, 'write') ? cannotWrite(file, error) : error;
  } finally {
    closeSync(handle);
  }
  ctx.print.answer({ instanceId: id, file: out }, () => ctx.print.line(`wrote ${withoutControls(out)}`));
}

interface Exported {
  readonly id: string;
  /** Absent: all executions. */
  readonly wanted: number | undefined;
  /** What has to be read: key-values come from the executions before. */
  readonly executions: readonly number[];
}

/** Writes execution by execution: all of them together need not fit into memory. */
async function writeDocument(
  ctx: CliContext,
  store: Store,
  { id, wanted, executions }: Exported,
  write: (text: string) => void,
): Promise<void> {
  const { recordHistories } = await import('../../testing/replay/recorded-history.js');
  await withProgress(ctx, { what: 'exporting executions', total: executions.length }, async (progress) => {
    let done = 0;
    if (wanted === undefined) write(`{\n  "instance": ${JSON.stringify(id)},\n  "executions": [`);
    for await (const { executionId, history } of recordHistories(store.provider, id, executions)) {
      ctx.io.signal.throwIfAborted();
      if (wanted === undefined) write(`${done === 0 ? '' : ','}\n${indented(JSON.stringify(history(), null, 2))}`);
      else if (executionId === wanted) write(`${JSON.stringify(history(), null, 2)}\n`);
      progress.to(++done);
    }
    if (wanted === undefined) write('\n  ]\n}\n');
  });
}

function indented(text: string): string {
  return text.replace(/^/gm, '    ');
}

/** Histories hold payloads: for the user alone, and never over another file. */
function open(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new CliError(ExitCode.refused, `${file} exists already; expected a new file`);
    }
    throw cannotWrite(file, error);
  }
}

function isOf(error: unknown, syscall: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall === syscall;
}

function cannotWrite(file: string, error: unknown): CliError {
  const { code } = error as NodeJS.ErrnoException;
  return new CliError(
    ExitCode.notFound,
    `cannot write ${file} (${code ?? 'unknown error'}); expected a folder that can be written to`,
  );
}
