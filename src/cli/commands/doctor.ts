import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import type { DoctorFinding } from '../doctor/finding.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { withoutControls } from '../output/text.js';
import { targetOf } from '../target.js';

export const doctorCommand: DefineCommand = (program, act) => {
  program
    .command('doctor')
    .description('look for what is wrong with database and schema; exits with 7 when there is a problem')
    .option('--deep', 'also check what the store promises, row by row: reads whole tables')
    .option('--module <file>', 'with --deep: ES module that exports the orchestrations; their histories are replayed')
    .action(act(doctor));
};

interface DoctorOptions {
  readonly deep?: boolean;
  readonly module?: string;
}

async function doctor(ctx: CliContext, { deep, module }: DoctorOptions): Promise<ExitCode> {
  if (module !== undefined && !deep) {
    throw new CliError(ExitCode.usage, '--module was given without --deep; expected both');
  }
  const { openDatabase } = await import('../store.js');
  const { examine } = await import('../doctor/examine.js');
  const database = await openDatabase(targetOf(ctx.options, ctx.io));
  try {
    const findings = await examine(database.driver, ctx.options, () => Date.now());
    const canRead = !findings.some(({ check, level }) => check === 'schema' && level === 'problem');
    if (deep && canRead) {
      const { examineDeeply } = await import('../doctor/deep.js');
      findings.push(...(await examineDeeply(ctx, database.db, module)));
    }
    ctx.print.answer({ ok: isWell(findings), findings }, () => findings.forEach((finding) => print(ctx, finding)));
    return isWell(findings) ? ExitCode.ok : ExitCode.negative;
  } finally {
    await database.close();
  }
}

function isWell(findings: readonly DoctorFinding[]): boolean {
  return !findings.some(({ level }) => level === 'problem');
}

function print({ print: printer }: CliContext, { check, level, text, advice }: DoctorFinding): void {
  const { colors } = printer;
  const mark = {
    ok: colors.green('ok     '),
    info: colors.cyan('info   '),
    warning: colors.yellow('warning'),
    problem: colors.red('problem'),
  }[level];
  printer.line(`${mark}  ${check}: ${withoutControls(text)}`);
  if (advice !== undefined) printer.line(`         ${colors.dim(`→ ${advice}`)}`);
}
