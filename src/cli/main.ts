import { type Command, CommanderError } from 'commander';
import type { CliContext, GlobalOptions } from './context.js';
import { CliError, ExitCode } from './exit-codes.js';
import { failureOf } from './failure.js';
import { type CliIo, Interrupted } from './io.js';
import { Printer } from './output/printer.js';
import { buildProgram } from './program.js';
import type { Store } from './store.js';
import { targetOf } from './target.js';

/**
 * Runs one command line, and answers with its exit code. Nothing of the process is touched
 * but what `io` gives, so that it can be called from another program or a test.
 * @param argv the arguments, without the program's own name
 */
export async function main(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  let options: GlobalOptions | undefined;
  let exitCode: ExitCode = ExitCode.ok;
  const program = buildProgram(
    io,
    (run) =>
      async (...args) => {
        const command = args.at(-1) as Command;
        options = globalOptions(command.optsWithGlobals());
        const work = commandContext(io, options);
        try {
          exitCode =
            (await untilInterrupted(io, run(work.ctx, ...(args.slice(0, -1) as never)), work.isLeft)) ?? ExitCode.ok;
        } finally {
          await work.close();
        }
      },
    argv.includes('--json'),
  );
  try {
    await program.parseAsync(withKnownHelp(program, argv), { from: 'user' });
    // A write to a file fails a moment after it was made.
    await new Promise((resolve) => setImmediate(resolve));
    if (io.signal.reason instanceof CliError) throw io.signal.reason;
    return exitCode;
  } catch (error) {
    // Help and version are no errors; what is wrong with a command line commander has said already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    return report(error, io, options ?? argvOptions(argv));
  }
}

/** Help on a command that does not exist is an error that names those that do, and not all of the help. */
function withKnownHelp(program: Command, argv: readonly string[]): string[] {
  const [first, name] = argv;
  const isUnknown = first === 'help' && name !== undefined && !name.startsWith('-') && name !== 'help';
  return isUnknown && !program.commands.some((command) => command.name() === name) ? [name] : [...argv];
}

function globalOptions(given: Readonly<Record<string, unknown>>): GlobalOptions {
  return {
    url: given['url'] as string | undefined,
    pglite: given['pglite'] as string | undefined,
    schema: given['schema'] as string,
    codec: given['codec'] as string | undefined,
    json: given['json'] === true,
    color: given['color'] === false ? false : undefined,
    allowNewer: given['allowNewer'] === true,
  };
}

/** What can be said of the options when the command line was not understood. */
function argvOptions(argv: readonly string[]): GlobalOptions {
  return { schema: 'public', json: argv.includes('--json'), allowNewer: false };
}

function commandContext(io: CliIo, options: GlobalOptions) {
  let store: Promise<Store> | undefined;
  let handled = false;
  const ctx: CliContext = {
    io,
    options,
    print: new Printer(io, options.json, options.color),
    open: () => (store ??= openedStore(io, options)),
    handlesInterrupt: () => (handled = true),
  };
  return {
    ctx,
    isLeft: () => !handled,
    close: async () => {
      // Its failure was reported by whoever asked for it.
      const opened = await store?.catch(() => undefined);
      await opened?.database.close();
    },
  };
}

async function openedStore(io: CliIo, options: GlobalOptions): Promise<Store> {
  const target = targetOf(options, io);
  const { loadCodec } = await import('./load-codec.js');
  const codec = await loadCodec(options, io);
  const { openStore } = await import('./store.js');
  return openStore(target, options, codec);
}

/** An interruption ends the command; what it waits for is left behind, and its store is closed. */
async function untilInterrupted<T>(io: CliIo, work: Promise<T>, isLeft: () => boolean): Promise<T> {
  const { signal } = io;
  let stop: (() => void) | undefined;
  const interrupted = new Promise<never>((_resolve, reject) => {
    stop = () => {
      if (isLeft()) reject(signal.reason instanceof Error ? signal.reason : new Interrupted('user'));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, interrupted]);
  } finally {
    if (stop) signal.removeEventListener('abort', stop);
    work.catch(() => undefined);
  }
}

function report(error: unknown, io: CliIo, options: GlobalOptions): ExitCode {
  const { exitCode, code, message, advice } = failureOf(error, io, options);
  // Nobody is there to be told.
  if (error instanceof Interrupted && exitCode === ExitCode.outputClosed) return exitCode;
  if (options.json) {
    io.stderr.write(
      `${JSON.stringify({ error: { code, exitCode, message, ...(advice === undefined ? {} : { advice }) } })}\n`,
    );
    return exitCode;
  }
  const { colors } = new Printer({ ...io, stdout: io.stderr }, false, options.color);
  io.stderr.write(`${colors.red('error:')} ${message}\n`);
  if (advice !== undefined) io.stderr.write(`${advice}\n`);
  return exitCode;
}
