import type { InvariantReport } from '../../doctor/index.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import type { DoctorFinding } from '../doctor/finding.js';
import { ExitCode } from '../exit-codes.js';
import { countText, withoutControls } from '../output/text.js';
import { targetOf } from '../target.js';

export const doctorCommand: DefineCommand = (program, act) => {
  program
    .command('doctor')
    .description('look for what is wrong with database and schema; exits with 7 when there is a problem')
    .option('--deep', 'also check what the store promises, row by row: reads whole tables')
    .action(act(doctor));
};

async function doctor(ctx: CliContext, { deep }: { readonly deep?: boolean }): Promise<ExitCode> {
  const { openDatabase } = await import('../store.js');
  const { examine } = await import('../doctor/examine.js');
  const database = await openDatabase(targetOf(ctx.options, ctx.io));
  try {
    const findings = await examine(database.driver, ctx.options, () => Date.now());
    const canRead = !findings.some(({ check, level }) => check === 'schema' && level === 'problem');
    if (deep && canRead) {
      const { checkInvariants } = await import('../../doctor/index.js');
      const report = await checkInvariants(database.db, { schema: ctx.options.schema, signal: ctx.io.signal });
      findings.push(...deepFindings(report));
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

function deepFindings({ violations, violationCounts, checked }: InvariantReport): DoctorFinding[] {
  const total = Object.values(violationCounts).reduce((sum, count) => sum + count, 0);
  const found = violations.map(
    ({ invariant, instance, executionId, eventId, table, rowId, problem }): DoctorFinding => {
      const where = [
        instance === undefined ? undefined : `instance ${JSON.stringify(instance)}`,
        executionId === undefined ? undefined : `execution ${executionId}`,
        eventId === undefined ? undefined : `event ${eventId}`,
        table === undefined ? undefined : table,
        rowId === undefined ? undefined : `row ${rowId}`,
      ].filter((part) => part !== undefined);
      return { check: invariant, level: 'problem', text: `${where.join(', ')}: ${problem}` };
    },
  );
  const seen = `${countText(checked.instances)} instances, ${countText(checked.events)} events`;
  if (total === 0) return [{ check: 'deep', level: 'ok', text: `nothing is lost, doubled or stuck (${seen})` }];
  return [...found, { check: 'deep', level: 'problem', text: `${countText(total)} violations (${seen})` }];
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
