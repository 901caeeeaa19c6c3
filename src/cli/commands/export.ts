import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
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
  const { recordHistory } = await import('../../testing/replay/recorded-history.js');
  const record = (executionId: number) => recordHistory(store.provider, id, executionId);
  let document: unknown;
  if (options.allExecutions) {
    const executions: unknown[] = [];
    for (const executionId of await store.admin.listExecutions(id)) executions.push(await record(executionId));
    document = { instance: id, executions };
  } else document = await record(options.execution ?? currentExecutionId);

  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (options.out === undefined) {
    ctx.io.stdout.write(text);
    return;
  }
  write(path.resolve(ctx.io.cwd, options.out), text);
  ctx.print.answer({ instanceId: id, file: options.out }, () => ctx.print.line(`wrote ${options.out}`));
}

function write(file: string, text: string): void {
  try {
    // Histories hold payloads: for the user alone, and never over another file.
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new CliError(ExitCode.refused, `${file} exists already; expected a new file`);
    throw new CliError(
      ExitCode.notFound,
      `cannot write ${file} (${code ?? 'unknown error'}); expected a folder that can be written to`,
    );
  }
}
