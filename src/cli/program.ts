import { Command, Option } from 'commander';
import { PACKAGE_VERSION } from '../base/package-version.js';
import { cancelCommand } from './commands/cancel.js';
import { completionCommand } from './commands/completion.js';
import { dashboardCommand } from './commands/dashboard.js';
import { deleteCommand } from './commands/delete.js';
import { demoCommand } from './commands/demo.js';
import { doctorCommand } from './commands/doctor.js';
import { enqueueCommand } from './commands/enqueue.js';
import { exportCommand } from './commands/export.js';
import { listCommand } from './commands/list.js';
import { migrateCommand } from './commands/migrate.js';
import { pruneCommand } from './commands/prune.js';
import { queuesCommand } from './commands/queues.js';
import { raiseCommand } from './commands/raise.js';
import { replayCommand } from './commands/replay.js';
import { retryCommand } from './commands/retry.js';
import { schedulesCommand } from './commands/schedules.js';
import { showCommand } from './commands/show.js';
import { startCommand } from './commands/start.js';
import { statsCommand } from './commands/stats.js';
import { watchCommand } from './commands/watch.js';
import { workersCommand } from './commands/workers.js';
import type { Act, DefineCommand } from './define.js';
import { ExitCode } from './exit-codes.js';
import type { CliIo } from './io.js';
import { withoutSecrets } from './target.js';

const SETTING_UP: readonly DefineCommand[] = [migrateCommand, doctorCommand];
const LOOKING: readonly DefineCommand[] = [
  listCommand,
  showCommand,
  watchCommand,
  statsCommand,
  workersCommand,
  dashboardCommand,
];
const STEERING: readonly DefineCommand[] = [
  startCommand,
  raiseCommand,
  enqueueCommand,
  cancelCommand,
  retryCommand,
  schedulesCommand,
  queuesCommand,
  pruneCommand,
  deleteCommand,
];
const MORE: readonly DefineCommand[] = [exportCommand, replayCommand, demoCommand, completionCommand];

const HELP_AFTER = `
Every command takes the options above, before or behind its name. Ids that begin with - come behind --.
Exit codes: 0 done, 1 a fault of this program, 2 command line, 3 not found, 4 refused, 5 database,
6 schema, 7 done but with a bad result, 8 timed out, 130 interrupted, 141 output closed.`;

/** The whole command line. Errors are thrown, and everything is written to `io`. */
export function buildProgram(io: CliIo, act: Act, json: boolean): Command {
  const program = new Command('duroxide-drizzle');
  program
    .description('See and steer durable executions on PostgreSQL')
    .version(PACKAGE_VERSION)
    .addOption(new Option('--url <url>', 'PostgreSQL to work on (default: DATABASE_URL)'))
    .addOption(new Option('--pglite <directory>', 'a directory of PGlite instead of a server'))
    .addOption(new Option('--schema <name>', 'schema of the tables').default('public'))
    .addOption(new Option('--allow-newer', 'use a schema that a newer native duroxide migrated'))
    .addOption(
      new Option('--codec <file>', 'ES module that exports the codec of the payloads (default: DUROXIDE_CODEC)'),
    )
    .addOption(new Option('--json', 'answer in JSON'))
    .addOption(new Option('--no-color', 'no colors (as NO_COLOR does)'))
    .addHelpText('after', HELP_AFTER)
    .showHelpAfterError(json ? false : '(--help shows what there is)');
  for (const [heading, commands] of [
    ['Setting up:', SETTING_UP],
    ['Looking:', LOOKING],
    ['Steering:', STEERING],
    ['More:', MORE],
  ] as const) {
    program.commandsGroup(heading);
    for (const define of commands) define(program, act);
  }
  for (const command of withSubcommands(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: (text, write) => write(json ? usageError(text) : withoutSecrets(text) + dashHint(text)),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      getOutHelpWidth: () => Math.max(60, io.stdout.columns || 100),
      getErrHelpWidth: () => 100,
    });
  }
  return program;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

/** An id that begins with a dash looks like an option. */
function dashHint(text: string): string {
  return /unknown option '-[^-]/.test(text) ? '(an id that begins with - comes behind --)\n' : '';
}

/** What is wrong with a command line, as every other error is told with `--json`. */
function usageError(text: string): string {
  const message = withoutSecrets(text.replace(/^error: /, '').trim());
  return `${JSON.stringify({ error: { code: 'usage', exitCode: ExitCode.usage, message } })}\n`;
}
