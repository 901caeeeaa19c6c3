import { setImmediate } from 'node:timers/promises';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';
import { CliError, ExitCode } from '../exit-codes.js';
import { withoutControls } from '../output/text.js';
import { withProgress } from '../progress.js';
import { fileText } from '../values.js';
import type { ReplayMismatchError } from '../../testing/replay/replay-mismatch-error.js';
import type { RecordedHistory } from '../../testing/replay/recorded-history.js';
import { readEncodedPayload } from '../../wire/encoded-payload.js';
import type { HistoryEvent } from '../../wire/event.js';

interface ReplayCommandOptions {
  readonly module: string;
  readonly orchestration?: string;
  readonly allowNewDecisions?: boolean;
}

export const replayCommand: DefineCommand = (program, act) => {
  program
    .command('replay')
    .description("check exported histories against today's code, without a database; exits with 7 where they differ")
    .argument('<files...>', 'what `export` wrote')
    .requiredOption('--module <file>', 'ES module that exports the orchestrations, by name or as default')
    .option('--orchestration <export>', 'name of the export (default: by the name in the history)')
    .option('--allow-new-decisions', 'the histories were cut: the code may go on behind them')
    .action(act(replayFiles));
};

/** How one execution of one file came out. */
type Verdict =
  | {
      readonly file: string;
      readonly execution: number;
      readonly ok: true;
      readonly orchestration: string;
      readonly events: number;
      readonly state: string;
    }
  | {
      readonly file: string;
      readonly execution: number;
      readonly ok: false;
      readonly orchestration: string;
      readonly position: number;
      readonly expected: string;
      readonly actual: string;
    };

async function replayFiles(
  ctx: CliContext,
  files: readonly string[],
  options: ReplayCommandOptions,
): Promise<ExitCode> {
  const { loadOrchestrations } = await import('../load-orchestrations.js');
  const orchestrationOf = await loadOrchestrations(options.module, options.orchestration, ctx.io);
  const { replay } = await import('../../testing/replay/replay.js');
  const { eventsOf } = await import('../../testing/replay/recorded-history.js');
  const check = async (file: string, history: RecordedHistory): Promise<Verdict> => {
    const of = { file, execution: history.executionId };
    try {
      refuseEncoded(file, eventsOf(history).events[0]);
      const report = await replay(orchestrationOf(history), history, { allowNewDecisions: options.allowNewDecisions });
      const { orchestration, events, state } = report;
      return { ...of, ok: true, orchestration, events, state };
    } catch (error) {
      if (error instanceof TypeError) throw new CliError(ExitCode.usage, `${file}: ${error.message}`);
      if (!isMismatch(error)) throw error;
      const { orchestration, position, expected, actual } = error;
      return { ...of, ok: false, orchestration, position, expected, actual };
    }
  };
  const verdicts = await withProgress(ctx, { what: 'replaying files', total: files.length }, async (progress) => {
    const all: Verdict[] = [];
    for (const [index, file] of files.entries()) {
      const histories = recordedIn(file, fileText(file, ctx.io));
      for (const [position, history] of histories.entries()) {
        // Replays hold the event loop: what draws the bar and hears Ctrl-C has its turn between them.
        await setImmediate();
        ctx.io.signal.throwIfAborted();
        all.push(await check(file, history));
        progress.to(index + (position + 1) / histories.length);
      }
    }
    return all;
  });
  ctx.print.answer(verdicts, () => verdicts.forEach((verdict) => printVerdict(ctx, verdict)));
  return verdicts.every(({ ok }) => ok) ? ExitCode.ok : ExitCode.negative;
}

/** What a codec made of a payload says nothing to the code. @throws CliError naming the codec */
function refuseEncoded(file: string, start: HistoryEvent | undefined): void {
  const encoded = start?.kind === 'OrchestrationStarted' ? readEncodedPayload(start.input) : undefined;
  if (encoded === undefined) return;
  throw new CliError(
    ExitCode.usage,
    `the payloads of ${file} are encoded by ${JSON.stringify(encoded.codec)}; expected payloads that the code can read`,
    'export it once more with --codec FILE',
  );
}

function isMismatch(error: unknown): error is ReplayMismatchError {
  return error instanceof Error && error.name === 'ReplayMismatchError';
}

/** The executions of a file: one, or several as `export --all-executions` writes them. */
function recordedIn(file: string, text: string): RecordedHistory[] {
  const wrong = (what: string) =>
    new CliError(ExitCode.usage, `${file} is ${what}; expected what \`duroxide-drizzle export\` writes`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrong('no JSON');
  }
  if (typeof parsed !== 'object' || parsed === null) throw wrong('no history');
  if ('executions' in parsed && Array.isArray(parsed.executions)) return parsed.executions as RecordedHistory[];
  if ('events' in parsed && Array.isArray(parsed.events)) return [parsed as unknown as RecordedHistory];
  throw wrong('no history');
}

function printVerdict({ print }: CliContext, verdict: Verdict): void {
  const { green, red } = print.colors;
  const which = `${verdict.file}, execution ${verdict.execution}: ${withoutControls(verdict.orchestration)}`;
  if (verdict.ok) {
    print.line(`${green('same')}    ${which}, ${verdict.events} events, ${verdict.state}`);
    return;
  }
  print.line(`${red('differs')} ${which} at event ${verdict.position}`);
  print.line(`  expected: ${withoutControls(verdict.expected)}`);
  print.line(`  actual:   ${withoutControls(verdict.actual)}`);
}
