import { errorText } from '../../base/error-text.js';
import {
  checkInvariants,
  type InvariantReport,
  type InvariantViolation,
  type QuarantinedRow,
} from '../../doctor/index.js';
import { silentLogger } from '../../base/logger.js';
import type { DrizzleDatabase } from '../../provider/drizzle/drivers/index.js';
import { DrizzleProvider } from '../../provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../runtime/runtime.js';
import type { CliContext } from '../context.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { exportedOrchestrations } from '../load-orchestrations.js';
import { counted, countText } from '../output/text.js';
import { withSpinner } from '../progress.js';
import type { DoctorFinding } from './finding.js';

/**
 * Looks at a schema row by row, and changes nothing.
 * @param module a file that exports the orchestrations whose histories are to be replayed
 */
export async function examineDeeply(
  ctx: CliContext,
  db: DrizzleDatabase,
  module: string | undefined,
): Promise<DoctorFinding[]> {
  const { schema, allowNewer } = ctx.options;
  const check = (orchestrations: Runtime | undefined) =>
    withSpinner(ctx, { doing: 'checking', done: 'checked', failed: 'not checked' }, ({ say }) =>
      checkInvariants(db, {
        schema,
        orchestrations,
        signal: ctx.io.signal,
        onProgress: ({ instances, events, replayed }) => say(seenText(instances, events, replayed)),
      }),
    );
  if (module === undefined) return findingsOf(await check(undefined), false);

  const exported = await exportedOrchestrations(module, ctx.io);
  const provider = await DrizzleProvider.fromDrizzle(db, {
    schema,
    allowNewer,
    migrate: false,
    notifications: false,
    logger: silentLogger,
  });
  try {
    // It is never started: it only knows the code.
    const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
    for (const { name, orchestration } of exported) register(runtime, name, orchestration, module);
    return findingsOf(await check(runtime), true);
  } finally {
    await provider.close();
  }
}

function register(
  runtime: Runtime,
  name: string,
  orchestration: Awaited<ReturnType<typeof exportedOrchestrations>>[number]['orchestration'],
  module: string,
): void {
  try {
    if (typeof orchestration === 'function') runtime.registerOrchestration(name, orchestration);
    else runtime.register(orchestration);
  } catch (error) {
    const reason = errorText(error);
    throw new CliError(ExitCode.usage, `${module}: ${reason}`);
  }
}

function findingsOf(report: InvariantReport, replays: boolean): DoctorFinding[] {
  const { violations, violationCounts, quarantined, quarantinedCount, checked } = report;
  const total = Object.values(violationCounts).reduce((sum, count) => sum + count, 0);
  const findings = [...violations.map(aboutViolation), ...quarantined.map(aboutQuarantined)];
  if (quarantinedCount > quarantined.length) {
    const text = `${countText(quarantinedCount - quarantined.length)} more rows were set aside`;
    findings.push({ check: 'quarantined', level: 'problem', text });
  }
  if (replays && checked.notReplayed > 0) {
    findings.push({
      check: 'replays',
      level: 'info',
      text: `${counted(checked.notReplayed, 'execution was', 'executions were')} not replayed`,
      advice:
        'the module has no such orchestration or version, its payloads went through a codec, its beginning was pruned, or its end was no decision of code',
    });
  }
  const seen = seenText(checked.instances, checked.events, replays ? checked.replayed : undefined);
  findings.push(
    total === 0
      ? { check: 'deep', level: 'ok', text: `nothing is lost, doubled or stuck (${seen})` }
      : { check: 'deep', level: 'problem', text: `${countText(total)} violations (${seen})` },
  );
  return findings;
}

function seenText(instances: number, events: number, replayed?: number): string {
  const looked = `${countText(instances)} instances, ${countText(events)} events`;
  return replayed === undefined ? looked : `${looked}, ${countText(replayed)} replayed`;
}

function aboutViolation(violation: InvariantViolation): DoctorFinding {
  const { invariant, instance, executionId, eventId, table, rowId, problem } = violation;
  const where = [
    instance === undefined ? undefined : `instance ${JSON.stringify(instance)}`,
    executionId === undefined ? undefined : `execution ${executionId}`,
    eventId === undefined ? undefined : `event ${eventId}`,
    table === undefined ? undefined : table,
    rowId === undefined ? undefined : `row ${rowId}`,
  ].filter((part) => part !== undefined);
  return { check: invariant, level: 'problem', text: `${where.join(', ')}: ${problem}` };
}

function aboutQuarantined({ table, rowId, instance, attemptCount }: QuarantinedRow): DoctorFinding {
  const of = instance === null ? '' : ` of instance ${JSON.stringify(instance)}`;
  return {
    check: 'quarantined',
    level: 'problem',
    text: `${table}, row ${rowId}${of}: set aside after ${counted(attemptCount, 'attempt')}`,
  };
}
